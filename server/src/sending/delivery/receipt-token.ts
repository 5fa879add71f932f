// The signed token of a notification (contract 14). It names a batch and a place in it, and
// authorizes marks on that one delivery and nothing else. It holds no device id, because tokens are
// readable in payloads, addresses and the logs of proxies. Pure.

import { isSignedBy, receiptSigner, signingKey } from '../../ground/secrets/signed-text.ts';
import { type Uuid, uuidFromBytes, uuidToBytes } from '../../ground/values/ids.ts';

const macBytes = 16;
const placeMax = 0xffff;

const version = 0x02;
const signedBytes = 19;
const placeFrom = 17;

/** The version of tokens from earlier releases: message, device and batch. */
const formerVersion = 0x01;
const formerSignedBytes = 49;

/** The number of characters of a token of the present version. */
export const receiptTokenLength = base64UrlLength(signedBytes + macBytes);
const formerTokenLength = base64UrlLength(formerSignedBytes + macBytes);

/**
 * The delivery of a token, by its place in the batch from 0. A token of an earlier release names
 * the device.
 */
export type ReceiptSubject =
  | { readonly batchId: Uuid; readonly place: number }
  | { readonly batchId: Uuid; readonly deviceId: Uuid };

/** Mints the tokens of one batch by place. The parts that all devices share are prepared once. */
export function receiptTokensOf(key: Buffer, batchId: Uuid): (place: number) => string {
  const token = Buffer.concat([Buffer.from([version]), uuidToBytes(batchId), Buffer.alloc(2 + macBytes)]);
  const parts = token.subarray(1, signedBytes);
  const signParts = receiptSigner(signingKey('receipt', key));
  return (place) => {
    if (!(place >= 0 && place <= placeMax)) throw new RangeError('there is no such place in a batch');
    token.writeUInt16BE(place, placeFrom);
    // The HMAC is longer than the rest of the buffer, so its first half is kept.
    token.write(signParts(parts), signedBytes, 'latin1');
    return token.toString('base64url');
  };
}

/**
 * Opens a token made with one of the keys, also a token of an earlier release. Undefined for
 * anything else, without a reason.
 */
export function openReceiptToken(keys: readonly Buffer[], token: string): ReceiptSubject | undefined {
  const signed = readSigned(keys, token);
  if (!signed) return undefined;
  if (signed[0] === version)
    return { batchId: uuidFromBytes(signed.subarray(1, placeFrom)), place: signed.readUInt16BE(placeFrom) };
  return { deviceId: uuidFromBytes(signed.subarray(17, 33)), batchId: uuidFromBytes(signed.subarray(33, 49)) };
}

function readSigned(keys: readonly Buffer[], token: string): Buffer | undefined {
  const isFormer = token.length === formerTokenLength;
  if ((!isFormer && token.length !== receiptTokenLength) || !/^[A-Za-z0-9_-]+$/.test(token)) return undefined;
  const bytes = Buffer.from(token, 'base64url');
  // The last character has spare bits. Only the canonical spelling is a token.
  if (bytes.toString('base64url') !== token || bytes[0] !== (isFormer ? formerVersion : version)) return undefined;
  const signed = bytes.subarray(0, isFormer ? formerSignedBytes : signedBytes);
  const mac = bytes.toString('latin1', signed.length);
  return (isFormer ? isFormerBy(keys, mac, signed) : isPresentBy(keys, mac, signed)) ? signed : undefined;
}

function isPresentBy(keys: readonly Buffer[], mac: string, signed: Buffer): boolean {
  const [batch, place] = [signed.subarray(1, placeFrom), signed.subarray(placeFrom)];
  return isSignedBy(
    keys.map((key) => signingKey('receipt', key)),
    mac,
    batch,
    place,
  );
}

function isFormerBy(keys: readonly Buffer[], mac: string, signed: Buffer): boolean {
  const [message, device, batch] = [signed.subarray(1, 17), signed.subarray(17, 33), signed.subarray(33)];
  return isSignedBy(
    keys.map((key) => signingKey('receiptOfVersion1', key)),
    mac,
    message,
    device,
    batch,
  );
}

function base64UrlLength(bytes: number): number {
  return Math.ceil((bytes * 4) / 3);
}
