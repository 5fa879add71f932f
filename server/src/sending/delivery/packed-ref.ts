// A provider's reference as a delivery's row stores it. The two long forms, Apple's and Google's,
// take two thirds of their length, and any other text stays as it is. Unpacking gives the same
// text, byte for byte. Pure.

import { writeUuid } from '../../ground/values/ids.ts';

/** Apple's form: a UUID in upper case. */
const uuidForm = /^[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}$/;
/** Google's form: `0:`, microseconds, `%`, and 64 bits in hex. */
const timedForm = /^0:[0-9]{16}%[0-9a-f]{16}$/;
const timeAt = 2;
const timeDigits = 16;
const bitsAt = timeAt + timeDigits + 1;

/**
 * The first character says how the rest is packed. A plain text that begins with one of these marks
 * gets `plainMark` before it.
 */
const uuidMark = '!';
const timedMark = '#';
const plainMark = '~';
/** 10^16 microseconds need 54 bits. */
const timeBytes = 7;

// Shared buffers, used within one call only.
const uuid = Buffer.alloc(16);
const timed = Buffer.alloc(timeBytes + 8);

export function packRef(ref: string): string {
  if (uuidForm.test(ref)) {
    writeUuid(ref, uuid, 0);
    return uuidMark + uuid.toString('base64url');
  }
  if (timedForm.test(ref)) {
    writeTime(ref);
    timed.write(ref.slice(bitsAt), timeBytes, 'hex');
    return timedMark + timed.toString('base64url');
  }
  const isMarked = ref.startsWith(uuidMark) || ref.startsWith(timedMark) || ref.startsWith(plainMark);
  return isMarked ? plainMark + ref : ref;
}

// Writes the digits in two halves of eight: high × 10^8 + low equals (high × 390,625) × 256 + low.
// No part of this comes near 2^53.
function writeTime(ref: string): void {
  const high = Number(ref.slice(timeAt, timeAt + timeDigits / 2));
  const low = Number(ref.slice(timeAt + timeDigits / 2, timeAt + timeDigits));
  timed.writeUIntBE(high * 390_625 + Math.floor(low / 256), 0, timeBytes - 1);
  timed[timeBytes - 1] = low % 256;
}

/** The text that `packRef` was given. */
export function unpackRef(packed: string): string {
  const rest = packed.slice(1);
  if (packed.startsWith(uuidMark)) {
    const hex = Buffer.from(rest, 'base64url').toString('hex').toUpperCase();
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  }
  if (packed.startsWith(timedMark)) {
    const bytes = Buffer.from(rest, 'base64url');
    const time = String(BigInt(`0x${bytes.toString('hex', 0, timeBytes)}`)).padStart(16, '0');
    return `0:${time}%${bytes.toString('hex', timeBytes)}`;
  }
  return packed.startsWith(plainMark) ? rest : packed;
}
