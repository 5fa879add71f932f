// at most five pushes per device, in any order of kills and retries. A kill is a claim whose
// pushes went out and whose outcomes were never written.

import type { Sql } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { mintUuid } from '../../src/ground/values/ids.ts';
import { claimsMax, leaseMs } from '../../src/sending/delivery/batch.ts';
import type { FlushPace } from '../../src/sending/delivery/flush-pace.ts';
import { claimNextBatch } from '../../src/sending/delivery/queries.ts';
import { runBatch } from '../../src/sending/delivery/run-batch.ts';
import type { Script } from '../push-service.ts';
import { setup } from '../setup.ts';

const firstApp = '00000000-0000-0000-0000-000000000000';
const devices = 51;

const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
await t.registerMany(devices);

const comeBack: Script = (_request, response) => {
  response.writeHead(503, { 'retry-after': '1' });
  response.end();
};

/** The service's database, in which no transaction can begin. */
function readOnly(sql: Sql): Sql {
  return new Proxy(sql, {
    get: (target, name) => (name === 'begin' ? () => Promise.reject(new Error('killed')) : Reflect.get(target, name)),
  });
}

/** Outcomes are first written when every push was made, however slow the machine is. */
const atTheEnd: FlushPace = { waitMs: 600_000, unwrittenMsMax: 600_000, note: () => undefined };

/**
 * One claim of the due batch, ended by a kill or with its outcomes recorded. False: no delivery is
 * open any more.
 */
async function turn(isKilled: boolean): Promise<boolean> {
  t.clock.advance(leaseMs + 1);
  const { run } = t.service;
  const batch = await claimNextBatch(t.sql, t.clock, firstApp, mintUuid());
  if (!batch) return false;
  const sql = isKilled ? readOnly(run.sql) : run.sql;
  await runBatch({ ...run, sql, flushPace: atTheEnd, random: () => 0 }, batch, t.clock.steadyMs(), () => false);
  return true;
}

describe('R-02 a device is pushed to five times at most, and then fails with the last known error', () => {
  it.each([
    ['five kills', 'KKKKK', 'timeout'],
    ['five retries', 'rrrrr', 'provider_unavailable'],
    ['four retries and kills from then on', 'rrrrKKKKK', 'provider_unavailable'],
    ['a kill after each retry', 'rKrKrKrKrK', 'provider_unavailable'],
    ['a kill before each retry', 'KrKrKrKrKr', 'provider_unavailable'],
    ['kills and then retries', 'KKrrrrr', 'provider_unavailable'],
    ['retries and then kills', 'rrKKKKK', 'provider_unavailable'],
    ['four kills and then retries', 'KKKKrrrrr', 'provider_unavailable'],
  ])('after %s', async (_what, order, code) => {
    t.push.scriptAll(comeBack);
    const before = t.push.requests.length;
    const { body } = await t.server.post('/v1/messages', { audience: { all: true }, content: { title: 'Sale' } });
    for (const step of order) await turn(step === 'K');
    while (await turn(false));
    const counts = new Map<string, number>();
    for (const { token } of t.push.requests.slice(before)) counts.set(token, (counts.get(token) ?? 0) + 1);
    expect(counts.size).toBe(devices);
    expect(Math.max(...counts.values())).toBe(5);
    const message = (await t.server.get(`/v1/messages/${body.id}`)).body;
    expect(message).toMatchObject({ status: 'failed', report: { failed: devices }, error_counts: { [code]: devices } });
  });

  it('and a device that accepts the fifth push is sent', async () => {
    t.push.scriptAll(undefined);
    const { body } = await t.server.post('/v1/messages', { audience: { all: true }, content: { title: 'Sale' } });
    for (let kill = 1; kill < claimsMax; kill++) await turn(true);
    while (await turn(false));
    expect((await t.server.get(`/v1/messages/${body.id}`)).body.report).toMatchObject({ sent: devices, failed: 0 });
  });

  it('and every push of a message carries the same Topic', async () => {
    const { body } = await t.server.post('/v1/messages', { audience: { all: true }, content: { title: 'Sale' } });
    const before = t.push.requests.length;
    for (let kill = 1; kill < claimsMax; kill++) await turn(true);
    while (await turn(false));
    const topics = new Set(t.push.requests.slice(before).map(({ headers }) => headers['topic']));
    expect(topics).toEqual(new Set([body.id]));
  });
});
