// The pace of a credential with its provider, over all processes: one bucket of tokens in one row.
import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../../packages/postgres/test/database.ts';
import { createClock } from '../../src/ground/database/clock.ts';
import type { Rate } from '../../src/sending/channels/channel.ts';
import { createPace } from '../../src/sending/delivery/pace.ts';
import { askForAccount, deletePastPaces } from '../../src/sending/delivery/pace-queries.ts';
import { setup } from '../setup.ts';

const { sql } = await createTestDatabase();
const steady: Rate = { perSecondLeast: 1_000, perSecondMost: 1_000, rampMs: 60_000, savedMost: 1_000, usableMs: 1_000 };
const minuteMs = 60_000;

async function newClock() {
  const clock = await createClock(sql);
  clock.hold(clock.date());
  return clock;
}

describe('R-62 the tokens of a credential', () => {
  it('are one bucket for all processes: what a rest saved comes first, then one grant after the other', async () => {
    const clock = await newClock();
    const ask = () => askForAccount(sql, clock, 'shop', steady, null);
    const grants = await Promise.all(Array.from({ length: 99 }, ask));
    const given = grants.filter(({ count }) => count > 0);
    expect(new Set(given.map(({ count, apartMs }) => `${count} ${apartMs}`))).toEqual(new Set(['100 1']));
    const starts = given.map(({ inMs }) => Math.round(inMs) + 0).sort((one, other) => one - other);
    // A second's worth is at hand, and 200 ms may be taken ahead.
    expect(starts).toEqual(Array.from({ length: 13 }, (_, nth) => nth * 100 - 1_000));
    for (const { inMs } of grants.filter(({ count }) => count === 0)) expect(inMs).toBeCloseTo(100, 3);
  });

  it('grow from the least rate to the most within the ramp, and begin again after an equally long rest', async () => {
    const clock = await newClock();
    const ramped: Rate = { ...steady, perSecondMost: 5_000, perSecondLeast: 500, savedMost: 500 };
    const ask = async () => (await askForAccount(sql, clock, 'ramped', ramped, null)).count;
    const askFor = async (ms: number) => {
      let count = 0;
      for (const endMs = clock.steadyMs() + ms; clock.steadyMs() < endMs; clock.advance(500)) count = await ask();
      return count;
    };
    expect(await ask()).toBe(50);
    expect(await askFor(minuteMs / 2)).toBeGreaterThanOrEqual(265);
    expect(await askFor(minuteMs)).toBe(500);
    clock.advance(minuteMs);
    expect(await askForAccount(sql, clock, 'ramped', ramped, null)).toMatchObject({ count: 50, inMs: -1_000 });
  });

  it('for ten thousand pushes are asked for about a hundred times', async () => {
    const clock = await newClock();
    const asked: ReturnType<typeof askForAccount>[] = [];
    const pace = createPace(clock, steady.usableMs, (sinceMs) => {
      const grant = askForAccount(sql, clock, 'counted', steady, sinceMs);
      asked.push(grant);
      return grant;
    });
    let taken = 0;
    for (let lookAtMs = 0; taken < 10_000; ) {
      if (pace.take() !== undefined) taken++;
      else lookAtMs = await pace.ask();
      if (lookAtMs > clock.steadyMs()) clock.advance(lookAtMs - clock.steadyMs());
    }
    const grants = await Promise.all(asked);
    expect(grants.filter(({ count }) => count > 0).length).toBeLessThanOrEqual(102);
    // A question without an answer comes at most once for each grant.
    expect(grants.length).toBeLessThanOrEqual(204);
  });

  it('are forgotten an hour after the last question', async () => {
    const clock = await createClock(sql);
    clock.advance(65 * minuteMs);
    await deletePastPaces(sql, clock);
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
