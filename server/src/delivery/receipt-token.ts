// The signed token that a notification carries (contract 14): it names message, device and batch, and authorises marks on
// that one delivery and nothing else. Pure.
import { timingSafeEqual } from 'node:crypto';
import { hmacSha256, hmacsSha256 } from '../platform/hmac-sha256.ts';
import { type Uuid, uuidFromBytes, uuidToBytes, writeUuid } from '../platform/ids.ts';

const label = Buffer.from('carillon-receipt', 'ascii');
const version = 0x01;
const signedBytes = 49;
const macBytes = 16;
const tokenLength = 87;

export interface ReceiptSubject {
  readonly messageId: Uuid;
  readonly deviceId: Uuid;
  readonly batchId: Uuid;
}

/** Mints tokens of one batch: what does not change from device to device is prepared once. */
export function receiptTokensOf(key: Buffer, messageId: Uuid, batchId: Uuid): (deviceId: Uuid) => string {
  const head = Buffer.concat([label, Buffer.from([version]), uuidToBytes(messageId)]);
  const blank = Buffer.alloc(16);
  const all = Buffer.concat([head, blank, uuidToBytes(batchId), Buffer.alloc(macBytes)]);
  const macFrom = label.length + signedBytes;
  const labelled = all.subarray(0, macFrom);
  const token = all.subarray(label.length);
  const macOfOne = hmacsSha256(key, labelled.length);
  return (deviceId) => {
    writeUuid(deviceId, all, head.length);
    // As much of it as there is room for, which is its first half.
    all.write(macOfOne(labelled), macFrom, 'latin1');
    return token.toString('base64url');
  };
}

/** Opens a token made with any of the keys; undefined for everything else, without telling why. */
export function openReceiptToken(keys: readonly Buffer[], token: string): ReceiptSubject | undefined {
  if (token.length !== tokenLength || !/^[A-Za-z0-9_-]+$/.test(token)) return undefined;
  const bytes = Buffer.from(token, 'base64url');
  // 65 bytes leave two spare bits in the last character: only the canonical spelling is the token.
  if (bytes.length !== signedBytes + macBytes || bytes.toString('base64url') !== token || bytes[0] !== version)
    return undefined;
  const signed = bytes.subarray(0, signedBytes);
  const mac = bytes.subarray(signedBytes);
  if (!keys.some((key) => timingSafeEqual(macOf(key, signed), mac))) return undefined;
  return {
    messageId: uuidFromBytes(signed.subarray(1, 17)),
    deviceId: uuidFromBytes(signed.subarray(17, 33)),
    batchId: uuidFromBytes(signed.subarray(33, 49)),
  };
}

function macOf(key: Buffer, signed: Buffer): Buffer {
  return hmacSha256(key, Buffer.concat([label, signed])).subarray(0, macBytes);
}
