// RFC 8291 on the browser's side: opens the body of a push with the subscription's keys. Written
// without looking at the sender's code, so that each can prove the other wrong. It accepts nothing
// that a browser would reject.
import { createDecipheriv, createECDH, createHmac } from 'node:crypto';

/** The keys that a browser keeps for its subscription. */
export interface ReceiverKeys {
  /** P-256 private scalar, 32 octets. */
  readonly privateKey: Buffer;
  /** Uncompressed point, 65 octets: the subscription's `p256dh`. */
  readonly publicKey: Buffer;
  /** The subscription's `auth`, 16 octets. */
  readonly auth: Buffer;
}

/** The header block in front of the ciphertext (RFC 8188 section 2.1). */
export interface CodingHeader {
  readonly salt: Buffer;
  readonly recordSize: number;
  readonly keyId: Buffer;
  readonly ciphertext: Buffer;
}

/** The body does not follow RFC 8291. The message names the broken rule. */
export class DecryptError extends Error {
  override readonly name = 'DecryptError';
}

const saltBytes = 16;
const tagBytes = 16;
const fixedHeaderBytes = saltBytes + 4 + 1;

/**
 * Splits a body into header and ciphertext. Throws DecryptError when it is too short to hold them.
 */
export function parseCodingHeader(body: Buffer): CodingHeader {
  if (body.length < fixedHeaderBytes) throw new DecryptError('the body is shorter than the aes128gcm header');
  const keyIdBytes = body.readUInt8(saltBytes + 4);
  if (body.length < fixedHeaderBytes + keyIdBytes) throw new DecryptError('the body ends inside the key id');
  return {
    salt: body.subarray(0, saltBytes),
    recordSize: body.readUInt32BE(saltBytes),
    keyId: body.subarray(fixedHeaderBytes, fixedHeaderBytes + keyIdBytes),
    ciphertext: body.subarray(fixedHeaderBytes + keyIdBytes),
  };
}

/** The plaintext of a push body. Throws DecryptError when a browser would drop the message. */
export function decryptPush(body: Buffer, keys: ReceiverKeys): Buffer {
  const { salt, recordSize, keyId, ciphertext } = parseCodingHeader(body);
  if (keyId.length !== 65 || keyId[0] !== 0x04) {
    throw new DecryptError(`the key id must be an uncompressed P-256 point of 65 octets, it has ${keyId.length}`);
  }
  // RFC 8291 section 4: one record, and the record size must be greater than its content.
  if (recordSize <= ciphertext.length) {
    throw new DecryptError(
      `the record size ${recordSize} must be greater than the ${ciphertext.length} octets it holds`,
    );
  }
  if (ciphertext.length < tagBytes + 1) throw new DecryptError('the record has no room for delimiter and tag');

  const { key, nonce } = deriveContentKeys(salt, inputKeyMaterial(keyId, keys));
  const decipher = createDecipheriv('aes-128-gcm', key, nonce, { authTagLength: tagBytes });
  decipher.setAuthTag(ciphertext.subarray(-tagBytes));
  let padded: Buffer;
  try {
    padded = Buffer.concat([decipher.update(ciphertext.subarray(0, -tagBytes)), decipher.final()]);
  } catch {
    throw new DecryptError('the tag does not fit: other keys, another auth secret, or the octets were changed');
  }
  return withoutPadding(padded);
}

/** Shared by all pushes: making an object costs a seventh of computing a secret with it. */
const receiver = createECDH('prime256v1');

/**
 * RFC 8291 section 3.4, first half: the shared secret of the two parties, bound to both keys and to
 * the auth secret.
 */
function inputKeyMaterial(senderKey: Buffer, keys: ReceiverKeys): Buffer {
  receiver.setPrivateKey(keys.privateKey);
  let secret: Buffer;
  try {
    secret = receiver.computeSecret(senderKey);
  } catch {
    throw new DecryptError("the sender's key is not a point on P-256");
  }
  const info = Buffer.concat([Buffer.from('WebPush: info\0', 'ascii'), keys.publicKey, senderKey]);
  return expand(hmac(keys.auth, secret), info, 32);
}

/**
 * RFC 8188 sections 2.2 and 2.3. The only record has sequence number 0, so its nonce needs no XOR.
 */
function deriveContentKeys(salt: Buffer, material: Buffer): { key: Buffer; nonce: Buffer } {
  const pseudoRandomKey = hmac(salt, material);
  return {
    key: expand(pseudoRandomKey, Buffer.from('Content-Encoding: aes128gcm\0', 'ascii'), 16),
    nonce: expand(pseudoRandomKey, Buffer.from('Content-Encoding: nonce\0', 'ascii'), 12),
  };
}

/** RFC 8188 section 2: the last record ends in 0x02 and then any number of zeros. */
function withoutPadding(padded: Buffer): Buffer {
  let end = padded.length - 1;
  while (end >= 0 && padded[end] === 0) end -= 1;
  if (end < 0) throw new DecryptError('the record is nothing but padding');
  if (padded[end] !== 0x02) throw new DecryptError('the delimiter of the last record must be 0x02');
  return padded.subarray(0, end);
}

function hmac(key: Buffer, data: Buffer): Buffer {
  return createHmac('sha256', key).update(data).digest();
}

/** HKDF-Expand for one block (RFC 5869 section 2.3). */
function expand(key: Buffer, info: Buffer, length: number): Buffer {
  return hmac(key, Buffer.concat([info, Buffer.from([1])])).subarray(0, length);
}
