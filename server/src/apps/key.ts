// API keys: minting, reading and hashing (contract 3, R-40). Pure. A key is a text that a secret
// scanner can recognise offline. Only its SHA-256, its first 12 and its last 4 characters are
// stored.
import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { base62Encode } from '../ground/ids.ts';
import type { KeyScope } from './caller.ts';

export const keyPrefixes: Readonly<Record<KeyScope, string>> = { server: 'sk_live_', client: 'ck_live_' };

const bodyLength = 43;
const checksumLength = 6;
const keyLength = 8 + bodyLength + checksumLength;

export interface MintedKey {
  /** The complete key, shown once and stored nowhere. */
  readonly text: string;
  readonly hash: Buffer;
  readonly start: string;
  readonly last4: string;
}

/** Mints a key of 256 random bits. Only test vectors pass `bytes`. */
export function mintKey(scope: KeyScope, bytes: Buffer = randomBytes(32)): MintedKey {
  const head = keyPrefixes[scope] + base62Encode(bytes, bodyLength);
  const text = head + checksumOf(head);
  return { text, hash: hashKey(text), start: text.slice(0, 12), last4: text.slice(-4) };
}

/**
 * Returns the scope that a well-formed key claims; undefined for a text that cannot be a key, which
 * then costs no query.
 */
export function scopeOfKey(text: string): KeyScope | undefined {
  if (text.length !== keyLength || !/^[0-9A-Za-z_]+$/.test(text)) return undefined;
  const scope = (['server', 'client'] as const).find((candidate) => text.startsWith(keyPrefixes[candidate]));
  if (!scope || !/^[0-9A-Za-z]+$/.test(text.slice(8))) return undefined;
  return checksumOf(text.slice(0, -checksumLength)) === text.slice(-checksumLength) ? scope : undefined;
}

export function hashKey(text: string): Buffer {
  return createHash('sha256').update(text, 'ascii').digest();
}

function checksumOf(head: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(Buffer.from(head, 'ascii')));
  return base62Encode(bytes, checksumLength);
}
