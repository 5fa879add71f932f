import { expect, it } from 'vitest';
import { createKeyLookups } from './key-lookups.ts';

/** Look-ups that end when the test says so, in the order in which they began. */
function setup({ waitMs = 60_000, overLimit = 'stranger' } = {}) {
  const lookups = createKeyLookups({ isOverLimit: (address) => address === overLimit, waitMs });
  const began: string[] = [];
  const ends: (() => void)[] = [];
  return {
    began,
    ask: (address: string, name = address) =>
      lookups.run(address, () => {
        began.push(name);
        return new Promise<string>((resolve) => ends.push(() => resolve(name)));
      }),
    async endOne() {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

it('twenty are under way at once, and each further one begins when one has ended', async () => {
  const t = setup();
  const asked = Array.from({ length: 25 }, (_, i) => t.ask('somebody', `${i}`));
  expect(t.began).toHaveLength(20);
  await t.endOne();
  expect(t.began.at(-1)).toBe('20');
  for (let i = 0; i < 24; i++) await t.endOne();
  expect(await Promise.all(asked)).toEqual(Array.from({ length: 25 }, (_, i) => `${i}`));
});

it('an address over its limit waits for all others, also for those that come later', async () => {
  const t = setup();
  for (let i = 0; i < 20; i++) void t.ask('stranger', 'first');
  void t.ask('stranger', 'flood');
  void t.ask('somebody');
  await t.endOne();
  expect(t.began.at(-1)).toBe('somebody');
  await t.endOne();
  expect(t.began.at(-1)).toBe('flood');
});

it('a look-up that fails gives its place to the next', async () => {
  const lookups = createKeyLookups({ isOverLimit: () => false, waitMs: 60_000 });
  const failing = Array.from({ length: 30 }, () => lookups.run('x', () => Promise.reject(new Error('no database'))));
  for (const each of failing) await expect(each).rejects.toThrow('no database');
  expect(await lookups.run('x', async () => 'found')).toBe('found');
});

it('a caller that waits too long gets 503, and so does one that finds a thousand in line', async () => {
  const late = setup({ waitMs: 1 });
  for (let i = 0; i < 20; i++) void late.ask('somebody');
  await expect(late.ask('late')).rejects.toMatchObject({ code: 'unavailable' });
  expect(late.began).not.toContain('late');

  const full = setup();
  for (let i = 0; i < 1020; i++) void full.ask('stranger');
  await expect(full.ask('stranger')).rejects.toMatchObject({ code: 'unavailable' });
  // The line of addresses above the limit is full; the line of all others is not.
  const other = full.ask('somebody');
  await full.endOne();
  expect(full.began.at(-1)).toBe('somebody');
  for (let i = 0; i < 20; i++) await full.endOne();
  expect(await other).toBe('somebody');
});
