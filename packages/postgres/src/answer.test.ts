import { expect, it } from 'vitest';
import { findRow, findValue, getRow, getValue, listValues } from './answer.ts';

const none = Promise.resolve([]);
const two = Promise.resolve([
  { id: 1, name: null },
  { id: 2, name: 'b' },
]);

it('An answer is its first row, the first value of that row, or the first value of every row', async () => {
  expect(await findRow(two)).toEqual({ id: 1, name: null });
  expect(await getRow(two)).toEqual({ id: 1, name: null });
  expect(await findValue(two)).toBe(1);
  expect(await getValue(two)).toBe(1);
  expect(await listValues(two)).toEqual([1, 2]);
  expect(await getValue(Promise.resolve([{ at: null }]))).toBeNull();
});

it('Without a row, "find" answers undefined, "list" nothing, and "get" throws', async () => {
  expect(await findRow(none)).toBeUndefined();
  expect(await findValue(none)).toBeUndefined();
  expect(await listValues(none)).toEqual([]);
  await expect(getRow(none)).rejects.toThrow(/returned none/);
  await expect(getValue(none)).rejects.toThrow(/returned none/);
});
