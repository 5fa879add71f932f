// an app that fills an empty database reads few rows for each device and user. The rows are
// counted by the database, so a plan that reads a whole table shows without a clock.
import { describe, expect, it, onTestFinished } from 'vitest';
import { analyzeGrown } from '../../src/database/analyze-grown.ts';
import { createClock } from '../../src/database/clock.ts';
import { openPool, type Sql } from '../../src/database/db.ts';
import { registerDevice } from '../../src/devices/register-device.ts';
import { tokenOf } from '../../src/devices/token.ts';
import { mintUuid, type Uuid } from '../../src/ground/ids.ts';
import { identifyDevice } from '../../src/users/identify-device.ts';
import type { UpsertUser } from '../../src/users/merge-profile.ts';
import { upsertUsers } from '../../src/users/upsert-users.ts';
import { createTestDatabase } from '../database.ts';

/** One connection, which plans each statement once and keeps the plan. */
async function openApp() {
  const { url, sql } = await createTestDatabase();
  const one = openPool({ url, connectionsMax: 1, name: 'first minutes', statementTimeoutMs: 60_000 });
  onTestFinished(() => one.end());
  const appId = mintUuid();
  await sql`INSERT INTO apps (id, name, plan) VALUES (${appId}, 'First minutes', 'unlimited')`;
  const clock = await createClock(sql);
  let number = 0;
  return { sql, one, appId, deps: { sql: one, clock, numbers: { next: () => ++number } } };
}
type App = Awaited<ReturnType<typeof openApp>>;

const userCount = 5_000;
/** Devices and users between two looks at the growth of tables: those of a second. */
const perLook = 500;
const together = 25;

const upsertOf = (appId: Uuid, i: number, turn: number, deviceId: Uuid | null): UpsertUser => ({
  appId,
  externalId: `user-${i}`,
  firstName: 'Ada',
  country: 'DE',
  language: undefined,
  timezone: undefined,
  properties: new Map(Array.from({ length: 10 }, (_, key) => [`key_${key}`, i * 10 + key + turn])),
  deviceId,
});

/** Registers devices with their users, then changes each user; calls `look` after each second's work. */
async function fill({ appId, deps, one }: App, look: () => Promise<void>): Promise<number[]> {
  const reads: number[] = [];
  const count = async (work: () => Promise<void>): Promise<void> => {
    const before = await countRead(one);
    await work();
    reads.push(((await countRead(one)) - before) / perLook);
    await look();
  };
  const register = (i: number) =>
    registerDevice(deps, {
      appId,
      platform: 'android',
      token: tokenOf(`token-${i}`, `token-${i}`),
      facts: { locale: 'de-DE' },
      environment: undefined,
      properties: undefined,
      byClient: true,
      refreshes: null,
      permit: null,
    });
  for (let from = 0; from < userCount; from += perLook) {
    await count(async () => {
      for (let i = from; i < from + perLook; i += together) {
        const ids: Uuid[] = [];
        for (let device = i; device < i + together; device++) ids.push((await register(device)).row.deviceId);
        await upsertUsers(
          deps,
          ids.map((id, at) => upsertOf(appId, i + at, 0, at % 2 === 0 ? id : null)),
        );
        for (const [at, deviceId] of ids.entries()) {
          if (at % 2 === 1)
            await identifyDevice(deps, { appId, deviceId, externalId: `user-${i + at}`, byClient: true });
        }
      }
    });
  }
  for (let from = 0; from < userCount; from += perLook) {
    await count(async () => {
      for (let i = from; i < from + perLook; i += together) {
        const group = Array.from({ length: together }, (_, at) => upsertOf(appId, i + at, 1, null));
        for (const { status } of await upsertUsers(deps, group)) expect(status).toBe('fulfilled');
      }
    });
  }
  return reads;
}

/** Rows that this connection has read of all large tables, whether or not they were wanted. */
async function countRead(one: Sql): Promise<number> {
  await one`SELECT pg_stat_force_next_flush()`;
  const [row] = await one<{ rows: number }[]>`
    SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 AS rows FROM pg_stat_user_tables
    WHERE relname IN ('people', 'users', 'devices', 'device_tokens', 'device_changes', 'audience')`;
  return row?.rows ?? Number.NaN;
}

describe('R-102 filling an empty database reads few rows for each device and user', () => {
  it.each([
    ['as the migrations leave it', async () => undefined],
    ['whose tables were analyzed while they were empty', async (sql: Sql) => void (await sql`ANALYZE`)],
    [
      'whose tables were truncated',
      async (sql: Sql) => void (await sql`TRUNCATE people, users, devices, device_tokens, device_changes, audience`),
    ],
  ])(
    '%s',
    async (_name, prepare) => {
      const app = await openApp();
      await prepare(app.sql);
      const reads = await fill(app, () => analyzeGrown(app.sql));
      console.log(reads.map((x) => Math.round(x)).join(' '));
      expect(Math.max(...reads)).toBeLessThan(100);
    },
    60_000,
  );
});
