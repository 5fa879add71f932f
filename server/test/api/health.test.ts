import { describe, expect, it } from 'vitest';
import { createDatabaseGate } from '../../../packages/postgres/test/database-gate.ts';
import { insertRow } from '../../../rig/src/insert-row.ts';
import { createReadiness } from '../../src/operation/process/health-routes.ts';
import { setup } from '../setup.ts';

const gate = createDatabaseGate();
const t = await setup({ reachDatabase: (url) => gate.reach(url) });

/** A probe's view: the status and the exact bytes of the body. */
async function probe(path: '/healthz' | '/readyz', service = t): Promise<string> {
  const response = await fetch(service.url + path);
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(response.headers.get('x-request-id')).toMatch(/^req_[0-9A-Za-z]{22}$/);
  return `${response.status} ${(await response.text()).trimEnd()}`;
}
const alive = '200 {"status":"ok"}';
const ready = '200 {"status":"ready"}';
const notReady = '503 {"status":"not ready"}';

/** The database is probed at most once in this time. */
const answerHoldsMs = 1000;

async function untilReady(): Promise<void> {
  t.clock.advance(answerHoldsMs);
  if ((await probe('/readyz')) !== ready) await untilReady();
}

describe('R-86 /healthz and /readyz', () => {
  it('return ok, and nothing about versions, hosts or secrets', async () => {
    expect(await probe('/healthz')).toBe(alive);
    expect(await probe('/readyz')).toBe(ready);
    const { headers } = await fetch(`${t.url}/readyz`);
    expect([headers.get('server'), headers.get('x-powered-by')]).toEqual([null, null]);
  });

  it('need no key, and accept any query', async () => {
    for (const query of ['?', '?cache=1', '?cache=1&cache=2', '?%ff']) {
      for (const path of ['/healthz', '/readyz']) expect((await fetch(t.url + path + query)).status).toBe(200);
    }
  });

  it('with the database down, the process is alive and not ready; both are ok when it is back', async () => {
    await gate.shut();
    t.clock.advance(answerHoldsMs);
    expect(await probe('/readyz')).toBe(notReady);
    expect(await probe('/healthz')).toBe(alive);
    await gate.open();
    await untilReady();
  });

  it('with a database that does not answer, readiness does not wait for it', async () => {
    gate.freeze();
    t.clock.advance(answerHoldsMs);
    expect(await probe('/readyz')).toBe(notReady);
    expect(await probe('/healthz')).toBe(alive);
    gate.thaw();
    await untilReady();
  });

  it('a schema that lacks a migration is not ready until it is migrated', async () => {
    const behind = await setup({ workers: false });
    const [last] = await behind.sql`
      DELETE FROM schema_migrations WHERE number = (SELECT max(number) FROM schema_migrations) RETURNING number, name, checksum`;
    expect(await probe('/readyz', behind)).toBe(notReady);
    expect(await probe('/healthz', behind)).toBe(alive);
    await insertRow(behind.sql, 'schema_migrations', last ?? {});
    behind.clock.advance(answerHoldsMs);
    expect(await probe('/readyz', behind)).toBe(ready);
  });

  it('however many probes come, the database is probed at most once a second', async () => {
    const { clock } = await setup({ workers: false });
    clock.hold(new Date());
    let asked = 0;
    const sql = new Proxy(t.sql, {
      apply(target, self, parameters) {
        asked++;
        return Reflect.apply(target, self, parameters);
      },
    });
    const deps = { sql, txSql: sql, clock, isLeaving: () => false, lastPollAgeMs: () => 0 };
    const isReady = createReadiness(deps);
    const probeMany = async () => {
      asked = 0;
      const probes = Array.from({ length: 50 }, isReady);
      expect(new Set(await Promise.all(probes))).toEqual(new Set([true]));
      return asked;
    };
    // The first probe also reads the schema's version.
    await probeMany();
    clock.advance(answerHoldsMs);
    // One statement on each pool that callers need.
    expect(await probeMany()).toBe(2);
    expect(await probeMany()).toBe(0);
    clock.advance(answerHoldsMs);
    expect(await probeMany()).toBe(2);
  });

  it('a send loop that has not looked for work for more than ten seconds is not ready', async () => {
    for (const [ageMs, isReady] of [
      [10_000, true],
      [10_001, false],
    ] as const) {
      const deps = { sql: t.sql, txSql: t.sql, clock: t.clock, isLeaving: () => false, lastPollAgeMs: () => ageMs };
      expect(await createReadiness(deps)()).toBe(isReady);
    }
  });

  it('R-87 a process that is about to stop is not ready, and still serves requests', async () => {
    const leaving = await setup({ workers: false });
    leaving.service.leave();
    expect(await probe('/readyz', leaving)).toBe(notReady);
    expect(await probe('/healthz', leaving)).toBe(alive);
    expect((await leaving.server.get('/v1/messages')).status).toBe(200);
  });
});
