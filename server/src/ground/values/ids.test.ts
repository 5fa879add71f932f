import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeId,
  encodeId,
  mintedAtMs,
  mintOrderedUuid,
  mintUuid,
  uuidFloorOf,
  uuidFromBytes,
  uuidToBytes,
} from './ids.ts';

describe('an identifier', () => {
  it('is the vector of the contract', () => {
    expect(encodeId('msg', '0192f3a4-7b6c-4d5e-8f90-1a2b3c4d5e6f')).toBe('msg_02y9GVDsTuJUi2BOoCH5G3');
    expect(decodeId('msg', 'msg_02y9GVDsTuJUi2BOoCH5G3')).toBe('0192f3a4-7b6c-4d5e-8f90-1a2b3c4d5e6f');
    expect(encodeId('dev', '9f8e7d6c-5b4a-3928-1706-f5e4d3c2b1a0')).toBe('dev_4r4tgBwaHmRyQNukgzmqsi');
  });

  it('survives the way out and back for all 16 bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const uuid = uuidFromBytes(bytes);
        expect(decodeId('usr', encodeId('usr', uuid))).toBe(uuid);
        expect([...uuidToBytes(uuid)]).toEqual([...bytes]);
      }),
    );
  });

  it('sorts by creation, in text and in bytes alike', () => {
    const ids = [1, 2, 3, 4].map((ms) => encodeId('msg', mintUuid(1_800_000_000_000 + ms)));
    expect([...ids].sort()).toEqual(ids);
    expect(uuidFloorOf(new Date(1_800_000_000_002)) <= mintUuid(1_800_000_000_002)).toBe(true);
    expect(uuidFloorOf(new Date(1_800_000_000_003)) > mintUuid(1_800_000_000_002)).toBe(true);
  });

  it('minted in order sorts as it was minted: within a millisecond, past 4,096 of them, and when the clock steps back a little', () => {
    const at = 1_800_000_000_000;
    const ids = [...Array.from({ length: 5000 }, () => at), at - 3, at - 3, at + 1, at + 1].map(mintOrderedUuid);
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    // After a clock was an hour fast, ids follow the right time again.
    expect(mintedAtMs(mintOrderedUuid(at - 3_600_000))).toBe(at - 3_600_000);
  });

  it('R-47 carries 74 random bits: every one of them is seen as 0 and as 1, and none counts up', () => {
    const minted = Array.from({ length: 600 }, () => uuidToBytes(mintUuid(1_800_000_000_000)));
    const random = (bytes: Buffer) => BigInt(`0x${bytes.toString('hex')}`) & 0xfff_3fff_ffff_ffff_ffffn;
    let ones = 0n;
    let zeros = 0n;
    const mask = 0xfff_3fff_ffff_ffff_ffffn;
    for (const id of minted) {
      ones |= random(id);
      zeros |= ~random(id) & mask;
    }
    expect(ones).toBe(mask);
    expect(zeros).toBe(mask);
    const values = minted.map(random);
    expect([...values].sort((a, b) => (a < b ? -1 : 1))).not.toEqual(values);
    expect(new Set(values).size).toBe(values.length);
  });

  it.each([
    ['another prefix', 'dev_02y9GVDsTuJUi2BOoCH5G3'],
    ['too short', 'msg_02y9GVDsTuJUi2BOoCH5G'],
    ['too long', 'msg_02y9GVDsTuJUi2BOoCH5G33'],
    ['a foreign character', 'msg_02y9GVDsTuJUi2BOoCH5G-'],
    ['a character beyond ASCII', 'msg_02y9GVDsTuJUi2BOoCH5Gé'],
    ['more than 16 bytes', 'msg_zzzzzzzzzzzzzzzzzzzzzz'],
    ['nothing', ''],
  ])('is undefined when it has %s', (_why, text) => {
    expect(decodeId('msg', text)).toBeUndefined();
  });
});
