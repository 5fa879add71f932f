// Identifiers: UUIDv7 inside, `<prefix>_` and 22 base62 characters outside (contract 1). Knows no
// table. Only new ids need a clock.
import { randomFillSync } from 'node:crypto';

/** A UUID in canonical lower-case text, as the database driver reads and writes it. */
export type Uuid = string;

/** Sorts before every id: the beginning of a walk over all of them. */
export const nilUuid: Uuid = '00000000-0000-0000-0000-000000000000';

export const idPrefixes = [
  'msg',
  'dev',
  'usr',
  'seg',
  'app',
  'key',
  'whk',
  'whe',
  'req',
  'org',
  'acc',
  'ses',
  'inv',
  'tok',
  'drf',
  'tpl',
] as const;
export type IdPrefix = (typeof idPrefixes)[number];

const uuidBytes = 16;
const dash = 0x2d;
const underscore = 0x5f;
const noDigit = 255;
const hexValues = new Uint8Array(128).fill(noDigit);
for (let digit = 0; digit < 16; digit++) {
  const written = digit.toString(16);
  hexValues[written.charCodeAt(0)] = digit;
  hexValues[written.toUpperCase().charCodeAt(0)] = digit;
}
const hexValue = (charCode: number): number => hexValues[charCode] ?? noDigit;

const base62Alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const digitOfCharCode = new Int8Array(128).fill(-1);
for (let digit = 0; digit < 62; digit++) digitOfCharCode[base62Alphabet.charCodeAt(digit)] = digit;

// Random bytes are drawn in blocks: one call of the system's CSPRNG for 256 ids.
const entropy = Buffer.alloc(10 * 256);
let entropyUsed = entropy.length;
const minted = Buffer.alloc(16);

/**
 * Mints a UUIDv7 (RFC 9562 section 5.7): 48 bits of milliseconds, then 74 random bits without a
 * counter.
 */
export function mintUuid(nowMs: number = Date.now()): Uuid {
  if (entropyUsed === entropy.length) {
    randomFillSync(entropy);
    entropyUsed = 0;
  }
  minted.writeUIntBE(nowMs, 0, 6);
  entropy.copy(minted, 6, entropyUsed, entropyUsed + 10);
  entropyUsed += 10;
  minted[6] = 0x70 | ((minted[6] ?? 0) & 0x0f);
  minted[8] = 0x80 | ((minted[8] ?? 0) & 0x3f);
  return uuidFromBytes(minted);
}

let lastOrderedMs = 0;
let orderInMs = 0;
/** `rand_a` of RFC 9562 has 12 bits. */
const ordersInMs = 4096;
/**
 * Milliseconds. A clock that is set back by more starts a new order. Smaller steps back come from
 * two comparisons with the database.
 */
const setBackMs = 1000;

/**
 * Mints a UUIDv7 that sorts after the former one of this process: `rand_a` counts within a
 * millisecond (RFC 9562 section 6.2, method 1), and 62 bits are random. Only for ids that give no
 * right to act, such as those of a log, because they are easier to guess.
 */
export function mintOrderedUuid(nowMs: number): Uuid {
  if (nowMs > lastOrderedMs || nowMs < lastOrderedMs - setBackMs) {
    lastOrderedMs = nowMs;
    orderInMs = 0;
  } else if (++orderInMs === ordersInMs) {
    lastOrderedMs++;
    orderInMs = 0;
  }
  const uuid = mintUuid(lastOrderedMs);
  return `${uuid.slice(0, 15)}${orderInMs.toString(16).padStart(3, '0')}${uuid.slice(18)}`;
}

/** Returns whether a text contains only hexadecimal digits. */
export function isHex(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (hexValue(text.charCodeAt(i)) === noDigit) return false;
  return true;
}

/** The smallest UUIDv7 of an instant: a bound for ranges of ids, which sort by time. */
export function uuidFloorOf(instant: Date): Uuid {
  const time = instant.getTime().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}

/** The instant at which a UUIDv7 was minted, in milliseconds since the epoch. */
export function mintedAtMs(uuid: Uuid): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

const hexDigits = Buffer.from('0123456789abcdef');
const uuidText = Buffer.from('00000000-0000-0000-0000-000000000000');

/** The 16 bytes of a canonical UUID. */
export function uuidToBytes(uuid: Uuid): Buffer {
  const bytes = Buffer.alloc(uuidBytes);
  writeUuid(uuid, bytes, 0);
  return bytes;
}

/**
 * Writes the 16 bytes of a UUID in canonical form, in either case. It reads digit by digit, because
 * removing the dashes first would create a text that is thrown away.
 */
export function writeUuid(uuid: Uuid, into: Uint8Array, at: number): void {
  let from = 0;
  for (let i = 0; i < uuidBytes; i++) {
    if (uuid.charCodeAt(from) === dash) from++;
    into[at + i] = (hexValue(uuid.charCodeAt(from)) << 4) | hexValue(uuid.charCodeAt(from + 1));
    from += 2;
  }
}

export function uuidFromBytes(bytes: Uint8Array): Uuid {
  // Written as one flat text, because a text concatenated from pieces costs several objects where
  // many ids are kept.
  let at = 0;
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) at++;
    const byte = bytes[i] ?? 0;
    uuidText[at++] = hexDigits[byte >> 4] ?? 0;
    uuidText[at++] = hexDigits[byte & 15] ?? 0;
  }
  return uuidText.toString('latin1', 0, 36);
}

/** Base62 of bytes read as one big-endian integer, left-padded with `0` to `length` characters. */
export function base62Encode(bytes: Uint8Array, length: number): string {
  const limbs: number[] = [];
  for (let i = 0; i < bytes.length; i += 2) limbs.push(((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0));
  const text = Buffer.alloc(length);
  writeBase62(limbs, text, 0);
  return text.toString('latin1');
}

// Fills `into` from `start` to its end. `limbs`, of 16 bits each, are overwritten.
function writeBase62(limbs: number[], into: Buffer, start: number): void {
  let first = 0;
  for (let at = into.length; at > start; ) {
    // Five digits at a time: 62^5 × 2^16 is far below 2^53, so plain numbers are exact.
    while (limbs[first] === 0) first++;
    let remainder = 0;
    for (let i = first; i < limbs.length; i++) {
      const dividend = remainder * 65536 + (limbs[i] ?? 0);
      const quotient = Math.floor(dividend / 916_132_832);
      limbs[i] = quotient;
      remainder = dividend - quotient * 916_132_832;
    }
    for (let digit = 0; digit < 5 && at > start; digit++) {
      at--;
      into[at] = base62Alphabet.charCodeAt(remainder % 62);
      remainder = Math.floor(remainder / 62);
    }
  }
}

const digitsAtOnce = 5;
const powersOf62 = [1, 62, 62 ** 2, 62 ** 3, 62 ** 4, 62 ** digitsAtOnce];

/**
 * The inverse of `base62Encode`; undefined for a foreign character or a value that does not fit
 * into the bytes.
 */
export function base62Decode(text: string, byteLength: number): Buffer | undefined {
  const limbs = new Array<number>(byteLength / 2).fill(0);
  for (let from = 0; from < text.length; from += digitsAtOnce) {
    const to = Math.min(text.length, from + digitsAtOnce);
    let carry = 0;
    for (let i = from; i < to; i++) {
      const digit = digitOfCharCode[text.charCodeAt(i)] ?? -1;
      if (digit < 0) return undefined;
      carry = carry * 62 + digit;
    }
    // As in encoding, no value comes near 2^53.
    const power = powersOf62[to - from] ?? 0;
    for (let limb = limbs.length - 1; limb >= 0; limb--) {
      const value = (limbs[limb] ?? 0) * power + carry;
      carry = Math.floor(value / 65536);
      limbs[limb] = value - carry * 65536;
    }
    if (carry !== 0) return undefined;
  }
  const bytes = Buffer.allocUnsafe(byteLength);
  for (let i = 0; i < limbs.length; i++) bytes.writeUInt16BE(limbs[i] ?? 0, i * 2);
  return bytes;
}

// Shared buffers, used only within a call.
const publicId = Buffer.alloc(26);
const limbsOfId: number[] = new Array(8).fill(0);

/** The public form of an id, such as `msg_02y9GVDsTuJUi2BOoCH5G3`. */
export function encodeId(prefix: IdPrefix, uuid: Uuid): string {
  publicId.write(prefix, 0, 'latin1');
  publicId[prefix.length] = underscore;
  let from = 0;
  for (let i = 0; i < limbsOfId.length; i++) {
    if (uuid.charCodeAt(from) === dash) from++;
    limbsOfId[i] =
      (hexValue(uuid.charCodeAt(from)) << 12) |
      (hexValue(uuid.charCodeAt(from + 1)) << 8) |
      (hexValue(uuid.charCodeAt(from + 2)) << 4) |
      hexValue(uuid.charCodeAt(from + 3));
    from += 4;
  }
  writeBase62(limbsOfId, publicId, prefix.length + 1);
  return publicId.toString('latin1');
}

/**
 * The UUID of a public id; undefined for a malformed id, which callers treat exactly like an
 * unknown one. Version bits are not checked (contract 1).
 */
export function decodeId(prefix: IdPrefix, text: string): Uuid | undefined {
  if (text.length !== 26 || !text.startsWith(`${prefix}_`)) return undefined;
  const bytes = base62Decode(text.slice(4), 16);
  return bytes && uuidFromBytes(bytes);
}
