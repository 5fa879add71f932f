// API keys: minting, reading and hashing (contract 3, R-40). Pure. A key is text a scanner can recognise offline; what is
// stored of it is its SHA-256, its first 12 and its last 4 characters.
import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { base62Encode } from '../platform/ids.ts';
import type { KeyScope } from './caller.ts';

export const keyPrefixes: Readonly<Record<KeyScope, string>> = { server: 'sk_live_', client: 'ck_live_' };

const bodyLength = 43;
const checksumLength = 6;
const keyLength = 8 + bodyLength + checksumLength;

export interface MintedKey {
  /** The whole key: shown once, stored nowhere. */
  readonly text: string;
  readonly hash: Buffer;
  readonly start: string;
  readonly last4: string;
}

/** Mints a key of 256 random bits. `bytes` is for test vectors. */
export function mintKey(scope: KeyScope, bytes: Buffer = randomBytes(32)): MintedKey {
  const head = keyPrefixes[scope] + base62Encode(bytes, bodyLength);
  const text = head + checksumOf(head);
  return { text, hash: hashKey(text), start: text.slice(0, 12), last4: text.slice(-4) };
}

/** The scope that a well-formed key claims; undefined for anything that cannot be a key, which costs no query. */
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
