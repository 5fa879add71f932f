import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packRef, unpackRef } from './packed-ref.ts';

const hex = (letters: string, length: number) =>
  fc.array(fc.constantFrom(...letters), { minLength: length, maxLength: length }).map((parts) => parts.join(''));
const upper = '0123456789ABCDEF';
const lower = '0123456789abcdef';
const uuid = fc
  .tuple(hex(upper, 8), hex(upper, 4), hex(upper, 4), hex(upper, 4), hex(upper, 12))
  .map((parts) => parts.join('-'));
const timed = fc.tuple(hex('0123456789', 16), hex(lower, 16)).map(([time, bits]) => `0:${time}%${bits}`);
/** Texts that look like such a reference or like a packed one, and are neither. */
const near = fc
  .tuple(fc.constantFrom('', '!', '#', '~', '0:'), fc.oneof(uuid, timed, fc.string({ unit: 'binary' })))
  .map(([mark, text]) => mark + text);

describe("a provider's reference, packed", () => {
  it('comes back byte for byte, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          uuid,
          timed,
          near,
          uuid.map((text) => text.toLowerCase()),
        ),
        (ref) => {
          expect(unpackRef(packRef(ref))).toBe(ref);
        },
      ),
      { numRuns: 5000 },
    );
  });

  it("takes two thirds of the room, where it is Apple's or Google's", () => {
    fc.assert(
      fc.property(fc.oneof(uuid, timed), (ref) => {
        expect(packRef(ref).length).toBeLessThanOrEqual((ref.length * 2) / 3);
      }),
    );
  });
});
