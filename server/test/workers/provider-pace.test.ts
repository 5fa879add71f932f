// The pace of a credential with its provider, over all processes: places are taken in slices from
// one row.
import { describe, expect, it } from 'vitest';
import { createPace, type PaceOptions } from '../../src/channels/fcm/pace.ts';
import { createClock } from '../../src/database/clock.ts';
import { deletePastPaces, takeProviderSlice } from '../../src/delivery/pace-queries.ts';
import { createTestDatabase } from '../database.ts';
import { setup } from '../setup.ts';

const { sql } = await createTestDatabase();
const steady: PaceOptions = { perSecondMax: 1_000, perSecondLeast: 1_000, rampMs: 60_000 };

async function nextAtMs(name: string): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`
    SELECT (extract(epoch FROM next_at) * 1000)::float8 AS ms FROM provider_paces WHERE name = ${name}`;
  return row?.ms ?? Number.NaN;
}

describe('R-62 the places of a credential', () => {
  it('are one row for all processes: concurrent slices follow each other', async () => {
    const first = await takeProviderSlice(sql, 'shop', steady);
    expect(first).toMatchObject({ count: 100, apartMs: 1 });
    expect(first.startInMs).toBeCloseTo(-1_000, 3);
    const before = await nextAtMs('shop');
    const slices = await Promise.all(Array.from({ length: 99 }, () => takeProviderSlice(sql, 'shop', steady)));
    expect((await nextAtMs('shop')) - before).toBeGreaterThanOrEqual(99 * 100 - 0.001);
    expect(new Set(slices.map(({ count }) => count))).toEqual(new Set([100]));
  });

  it('grow from the least rate to the most within the ramp, and begin again after an equally long rest', async () => {
    const ramped: PaceOptions = { perSecondMax: 5_000, perSecondLeast: 500, rampMs: 60_000 };
    expect((await takeProviderSlice(sql, 'ramped', ramped)).count).toBe(50);
    await sql`UPDATE provider_paces SET started_at = now() - interval '30 seconds' WHERE name = 'ramped'`;
    expect((await takeProviderSlice(sql, 'ramped', ramped)).count).toBeGreaterThanOrEqual(275);
    await sql`UPDATE provider_paces SET started_at = now() - interval '1 hour' WHERE name = 'ramped'`;
    expect((await takeProviderSlice(sql, 'ramped', ramped)).count).toBe(500);
    await sql`UPDATE provider_paces SET next_at = now() - interval '61 seconds' WHERE name = 'ramped'`;
    const rested = await takeProviderSlice(sql, 'ramped', ramped);
    expect(rested.count).toBe(50);
    expect(rested.startInMs).toBeCloseTo(-1_000, 3);
  });

  it('for ten thousand pushes are requested a hundred times', async () => {
    const asked: ReturnType<typeof takeProviderSlice>[] = [];
    const take = () => {
      const slice = takeProviderSlice(sql, 'counted', steady);
      asked.push(slice);
      return slice;
    };
    const pace = createPace(
      take,
      () => Number.NaN,
      () => performance.now(),
    );
    let longestMs = 0;
    for (let push = 0; push < 10_000; push++) longestMs = Math.max(longestMs, await pace.waitMs());
    expect(asked.length).toBeLessThanOrEqual(102);
    expect(longestMs).toBeGreaterThan(1_000);
    // The last slice is taken ahead. Its row must not change in the next test.
    await Promise.all(asked);
  });

  it('are deleted when they are long past', async () => {
    await sql`UPDATE provider_paces SET next_at = now() - interval '2 hours'`;
    await deletePastPaces(sql, await createClock(sql));
    expect(await sql`SELECT 1 FROM provider_paces`).toEqual([]);
  });
});

it('a 429 without a time stops other pushes to the same host with the same credential, after one request', async () => {
  const t = await setup({ environment: { SEND_WAIT_MS: '0' } });
  t.push.scriptAll((_request, response) => void response.writeHead(429).end());
  const first = await t.registerDevice();
  await t.server.post('/v1/messages', { audience: { device_ids: [first] }, content: { title: 'Sale' } });
  await t.push.waitForCount(1);
  await t.workers.idle();
  const others = [await t.registerDevice(), await t.registerDevice()];
  await t.server.post('/v1/messages', { audience: { device_ids: others }, content: { title: 'Sale' } });
  await t.workers.idle();
  expect(t.push.requests).toHaveLength(1);
  t.push.scriptAll(undefined);
  t.clock.advance(61_000);
  await t.workers.idle();
  expect(t.push.requests).toHaveLength(4);
});
