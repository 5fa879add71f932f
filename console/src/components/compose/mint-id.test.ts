import { expect, test } from 'vitest';
import { mintId } from './mint-id.ts';

test('every id has the form of the service, fits into 128 bits, and is another one', () => {
  const ids = Array.from({ length: 200 }, () => mintId('drf'));
  for (const id of ids) {
    expect(id).toMatch(/^drf_[0-9A-Za-z]{22}$/);
    // 2^128 - 1 in base 62.
    expect(id <= 'drf_7n42DGM5Tflk9n8mt7Fhc7').toBe(true);
  }
  expect(new Set(ids).size).toBe(ids.length);
});
