// Writes the few ASN.1 DER shapes that one X.509 certificate needs. It only encodes and never
// parses foreign input.

const universal = { boolean: 0x01, integer: 0x02, bitString: 0x03, octetString: 0x04, oid: 0x06, utf8: 0x0c } as const;

/** One tag-length-value, definite length (X.690 section 8.1.3). */
export function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOctets(content.length), content]);
}

function lengthOctets(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const octets: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) octets.unshift(rest % 256);
  return Buffer.from([0x80 | octets.length, ...octets]);
}

export const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
export const setOf = (...parts: readonly Buffer[]): Buffer => der(0x31, ...parts);
export const octetString = (bytes: Buffer): Buffer => der(universal.octetString, bytes);
export const utf8String = (text: string): Buffer => der(universal.utf8, Buffer.from(text, 'utf8'));
export const derTrue = (): Buffer => der(universal.boolean, Buffer.from([0xff]));

/** `[number]` around a whole value. */
export const explicit = (number: number, content: Buffer): Buffer => der(0xa0 | number, content);

/** `[number]` instead of the primitive tag that the value would have. */
export const implicit = (number: number, content: Buffer): Buffer => der(0x80 | number, content);

/**
 * A non-negative integer from its big-endian octets: the shortest form that is not read as
 * negative.
 */
export function integer(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  const shortest = bytes.subarray(start);
  const isHighBitSet = ((shortest[0] ?? 0) & 0x80) !== 0;
  return der(universal.integer, isHighBitSet ? Buffer.concat([Buffer.from([0]), shortest]) : shortest);
}

export function bitString(bytes: Buffer, unusedBits = 0): Buffer {
  return der(universal.bitString, Buffer.from([unusedBits]), bytes);
}

/**
 * An object identifier from its dotted form; the first two arcs share an octet (X.690 section
 * 8.19).
 */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const octets = [first * 40 + second];
  for (const arc of rest) {
    const group = [arc & 0x7f];
    for (let left = arc >>> 7; left > 0; left >>>= 7) group.unshift(0x80 | (left & 0x7f));
    octets.push(...group);
  }
  return der(universal.oid, Buffer.from(octets));
}

/** UTCTime until 2049, GeneralizedTime from 2050 on (RFC 5280 section 4.1.2.5). */
export function time(at: Date): Buffer {
  const digits = at.toISOString().replace(/[-:T]/g, '').slice(0, 14);
  return at.getUTCFullYear() < 2050
    ? der(0x17, Buffer.from(`${digits.slice(2)}Z`, 'ascii'))
    : der(0x18, Buffer.from(`${digits}Z`, 'ascii'));
}
