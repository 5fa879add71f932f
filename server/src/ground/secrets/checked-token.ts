// Tokens that a secret scanner can recognise offline: a prefix of eight characters, 256 random bits
// and a checksum (contract 3.3, R-40). Pure. API keys and operator tokens have this form. Only the
// SHA-256, the first 12 and the last 4 characters are stored.
import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { base62Encode } from '../values/ids.ts';

const bodyLength = 43;
const checksumLength = 6;
const prefixLength = 8;
const tokenLength = prefixLength + bodyLength + checksumLength;

export interface MintedToken {
  /** The complete token. It is shown once and never stored. */
  readonly text: string;
  readonly hash: Buffer;
  readonly start: string;
  readonly last4: string;
}

/** Mints a token of 256 random bits. Only test vectors pass `bytes`. */
export function mintToken(prefix: string, bytes: Buffer = randomBytes(32)): MintedToken {
  const head = prefix + base62Encode(bytes, bodyLength);
  const text = head + checksumOf(head);
  return { text, hash: hashToken(text), start: text.slice(0, 12), last4: text.slice(-4) };
}

/** Returns whether a text is a well-formed token with this prefix. Asks no database. */
export function isTokenOf(prefix: string, text: string): boolean {
  if (text.length !== tokenLength || !text.startsWith(prefix)) return false;
  if (!/^[0-9A-Za-z]+$/.test(text.slice(prefixLength))) return false;
  return checksumOf(text.slice(0, -checksumLength)) === text.slice(-checksumLength);
}

export function hashToken(text: string): Buffer {
  return createHash('sha256').update(text, 'ascii').digest();
}

function checksumOf(head: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(Buffer.from(head, 'ascii')));
  return base62Encode(bytes, checksumLength);
}
