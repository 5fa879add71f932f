// Encrypts one message for one subscriber: RFC 8291 over the aes128gcm coding of RFC 8188, in a
// single record. Every message gets a key pair and a salt of its own, and no secret is kept.
import { createCipheriv, createECDH, randomFillSync } from 'node:crypto';
import { hmacSha256 } from '../../../ground/secrets/hmac-sha256.ts';

/**
 * Larger messages do not fit the 4,096 bytes that a push service must accept (RFC 8030, section
 * 7.2).
 */
export const plaintextBytesMax = 3_993;

const recordSize = 4_096;
const saltLength = 16;
const keyLength = 65;
const headerLength = saltLength + 4 + 1 + keyLength;
const tagLength = 16;

// RFC 8291 section 3.4 and RFC 8188 sections 2.2 and 2.3. The last byte is HKDF's counter (RFC
// 5869), because one block is enough.
const keyInfoStart = Buffer.from('WebPush: info\0');
// Has room for both public keys, which change with each message.
const keyInfo = Buffer.concat([keyInfoStart, Buffer.alloc(2 * keyLength), Buffer.from([1])]);
const contentKeyInfo = Buffer.from('Content-Encoding: aes128gcm\0\x01');
const nonceInfo = Buffer.from('Content-Encoding: nonce\0\x01');
const lastRecordDelimiter = Buffer.from([2]);

// One object, which makes a fresh key pair for each message. A new object takes as long to make as
// a key pair.
const curve = createECDH('prime256v1');

/**
 * Values that a test fixes in order to meet published vectors. In production both are made for each
 * message.
 */
export interface FixedKeys {
  readonly privateKey: Buffer;
  readonly salt: Buffer;
}

/**
 * The request body for a message of at most `plaintextBytesMax` bytes. `p256dh` and `auth` are the
 * subscription's keys. Undefined when `p256dh` is not a point on P-256, because then no key could
 * decrypt it.
 */
export function encrypt(plaintext: Buffer, p256dh: Buffer, auth: Buffer, fixed?: FixedKeys): Buffer | undefined {
  const ecdh = fixed === undefined ? curve : createECDH('prime256v1');
  // `generateKeys` answers the public key. Asking for the key separately would serialize the point
  // a second time.
  let publicKey: Buffer;
  if (fixed === undefined) {
    publicKey = ecdh.generateKeys();
  } else {
    ecdh.setPrivateKey(fixed.privateKey);
    publicKey = ecdh.getPublicKey();
  }
  const salt = fixed?.salt ?? freshSalt();
  let secret: Buffer;
  try {
    secret = ecdh.computeSecret(p256dh);
  } catch {
    return undefined;
  }
  p256dh.copy(keyInfo, keyInfoStart.length);
  publicKey.copy(keyInfo, keyInfoStart.length + keyLength);
  const keyingMaterial = hmacSha256(hmacSha256(auth, secret), keyInfo);
  const pseudoRandomKey = hmacSha256(salt, keyingMaterial);
  const contentKey = hmacSha256(pseudoRandomKey, contentKeyInfo).subarray(0, 16);
  const nonce = hmacSha256(pseudoRandomKey, nonceInfo).subarray(0, 12);

  const body = Buffer.allocUnsafe(headerLength + plaintext.length + lastRecordDelimiter.length + tagLength);
  salt.copy(body, 0);
  body.writeUInt32BE(recordSize, saltLength);
  body.writeUInt8(keyLength, saltLength + 4);
  publicKey.copy(body, saltLength + 5);
  const cipher = createCipheriv('aes-128-gcm', contentKey, nonce, { authTagLength: tagLength });
  cipher.update(plaintext).copy(body, headerLength);
  cipher.update(lastRecordDelimiter).copy(body, headerLength + plaintext.length);
  cipher.final();
  cipher.getAuthTag().copy(body, body.length - tagLength);
  return body;
}

// Random bytes for 256 salts at a time: one call for 16 bytes costs as much as one for 4,096.
const saltPool = Buffer.alloc(256 * saltLength);
let saltsUsed = saltPool.length;

/**
 * 16 random bytes that no other call gets. The caller uses them before the next call, because they
 * lie in the pool.
 */
function freshSalt(): Buffer {
  if (saltsUsed === saltPool.length) {
    randomFillSync(saltPool);
    saltsUsed = 0;
  }
  saltsUsed += saltLength;
  return saltPool.subarray(saltsUsed - saltLength, saltsUsed);
}
