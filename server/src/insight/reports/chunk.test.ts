import { expect, it } from 'vitest';
import { chunkEvents, nextChunk } from './chunk.ts';

it('grows where people get few deliveries, up to its maximum', () => {
  const sizes = [chunkEvents];
  for (let i = 0; i < 4; i++) sizes.push(nextChunk(sizes.at(-1) ?? 0, 100, 4_000));
  expect(sizes).toEqual([1_000, 2_000, 4_000, 4_000, 4_000]);
});

it('stays the same where many were read, and shrinks where more were, never below its start', () => {
  expect(nextChunk(4_000, 30_000, 16_000)).toBe(4_000);
  expect(nextChunk(4_000, 500_000, 16_000)).toBe(2_000);
  expect(nextChunk(chunkEvents, 500_000, 16_000)).toBe(chunkEvents);
});
