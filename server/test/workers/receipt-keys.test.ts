// Keys of receipt tokens: a new key takes over without a refused receipt, and a former key verifies
// as long as deliveries of its time exist (contract 14).
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../../packages/postgres/test/database.ts';
import { createClock } from '../../src/ground/database/clock.ts';
import { loadInstance } from '../../src/ground/database/instance.ts';
import { resealReceiptKeys } from '../../src/ground/database/receipt-keys.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { mintUuid } from '../../src/ground/values/ids.ts';
import {
  forgetReceiptKeys,
  receiptKeysMax,
  rotateReceiptKey,
  watchReceiptKeys,
} from '../../src/sending/delivery/receipt-keys.ts';
import { openReceiptToken, receiptTokensOf } from '../../src/sending/delivery/receipt-token.ts';
import { setup } from '../setup.ts';
import { tester } from '../tester.ts';
import { until } from './held.ts';

const masterKey = randomBytes(32);
const seal = createSeal(masterKey);

async function newInstance() {
  const { sql } = await createTestDatabase();
  const clock = await createClock(sql);
  await loadInstance(sql, seal);
  const deps = { sql, clock, seal, by: tester };
  const watch = () => watchReceiptKeys(deps);
  const age = (days: number) =>
    sql`UPDATE instance SET receipt_keys_made_at[1] = receipt_keys_made_at[1] - ${days} * interval '1 day'`;
  return { sql, clock, deps, watch, age };
}

const tokenBy = (key: Buffer): string => receiptTokensOf(key, mintUuid())(7);

describe('R-48 a new receipt key', () => {
  it('signs a minute after its creation, when every process knows it, and the former one still verifies', async () => {
    const { clock, deps, watch } = await newInstance();
    const [one, other] = [await watch(), await watch()];
    const former = one.signing;
    const before = tokenBy(former);

    const rotated = await rotateReceiptKey(deps);
    expect(rotated).toMatchObject({ former: 1 });
    // A process that has not looked yet must not receive a token of an unknown key.
    expect(one.signing).toEqual(former);
    await one.look();
    expect(one.signing).toEqual(former);
    await other.look();

    clock.advance(60_001);
    expect(one.signing).not.toEqual(former);
    expect(other.signing).toEqual(one.signing);
    const after = tokenBy(one.signing);
    for (const token of [before, after]) expect(openReceiptToken(other.verifying, token)).toBeDefined();
    expect(openReceiptToken([former], after)).toBeUndefined();
  });

  it('R-99 is heard of by a process at rest with what falls due, and costs no look of its own', async () => {
    const t = await setup({ workers: false });
    const { receiptKeys } = t.service.run;
    const former = receiptKeys.signing;
    await rotateReceiptKey({ sql: t.sql, clock: t.clock, seal: createSeal(t.masterKey), by: tester });
    t.clock.advance(60_001);
    await until(async () => !receiptKeys.signing.equals(former));
  });

  it('signs at once in a process that starts and has known no other', async () => {
    const { clock, deps, watch } = await newInstance();
    await rotateReceiptKey(deps);
    clock.advance(60_001);
    const keys = await watch();
    expect(keys.verifying).toHaveLength(2);
    expect(keys.signing).toEqual(keys.verifying[0]);
  });

  it('is sealed, and opens under a new master key', async () => {
    const { sql, deps } = await newInstance();
    await rotateReceiptKey(deps);
    const keys = (await loadInstance(sql, seal)).receiptKeys;
    const [row] = await sql`SELECT receipt_keys::text AS text FROM instance`;
    for (const key of keys) expect(row?.['text']).not.toContain(key.toString('base64').slice(0, 20));
    const newKey = randomBytes(32);
    const rotation = { sql, seal: createSeal(newKey, masterKey) };
    expect(await resealReceiptKeys(rotation)).toEqual({ count: 1, unreadable: [] });
    expect((await loadInstance(sql, createSeal(newKey))).receiptKeys).toEqual(keys);
    await expect(loadInstance(sql, seal)).rejects.toThrow(/neither MASTER_KEY nor/);
  });
});

describe('a former receipt key', () => {
  it('is kept while deliveries of its time exist, and then deleted', async () => {
    const { sql, deps, watch, age } = await newInstance();
    await rotateReceiptKey(deps);
    await age(5);
    await forgetReceiptKeys(sql);
    expect((await watch()).verifying).toHaveLength(2);

    await rotateReceiptKey(deps);
    await age(60);
    const [newest] = (await watch()).verifying;
    await forgetReceiptKeys(sql);
    expect((await watch()).verifying).toEqual([newest]);
    // A key keeps its number: it still opens, another key comes before it, and both are sealed
    // again.
    await rotateReceiptKey(deps);
    const keys = await watch();
    expect(keys.verifying).toHaveLength(2);
    expect(keys.verifying[1]).toEqual(newest);
    const [row] = await sql`SELECT receipt_keys_forgotten AS forgotten FROM instance`;
    expect(row).toEqual({ forgotten: 2 });
  });

  it('is never deleted to make room: with the maximum number of keys a rotation is refused', async () => {
    const { deps, watch } = await newInstance();
    for (let i = 1; i < receiptKeysMax; i++) await rotateReceiptKey(deps);
    expect(await rotateReceiptKey(deps)).toBe('full');
    expect((await watch()).verifying).toHaveLength(receiptKeysMax);
  });

  it('two concurrent rotations make two keys', async () => {
    const { deps, watch } = await newInstance();
    await Promise.all([rotateReceiptKey(deps), rotateReceiptKey(deps)]);
    const { verifying } = await watch();
    expect(new Set(verifying.map((key) => key.toString('hex'))).size).toBe(3);
  });
});
