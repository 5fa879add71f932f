// an app that fills an empty database reads few rows for each device and user. The rows are
// counted by the database, so a plan that reads a whole table shows without a clock.

import { analyzeGrown, openPool, type Sql } from '@carillon/postgres';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../packages/postgres/test/database.ts';
import { createClock } from '../../src/ground/database/clock.ts';
import { mintUuid, type Uuid, uuidFloorOf } from '../../src/ground/values/ids.ts';
import { createTrack } from '../../src/insight/events/track-events.ts';
import { attributedNames } from '../../src/insight/reports/attribution.ts';
import { classAhead } from '../../src/insight/reports/class-ahead.ts';
import { type Databases, openDatabases } from '../../src/operation/process/databases.ts';
import { listDeviceOwners } from '../../src/people/audience/queries.ts';
import type { RegisterDevice } from '../../src/people/devices/register-device.ts';
import { createRegister } from '../../src/people/devices/register-together.ts';
import { tokenOf } from '../../src/people/devices/token.ts';
import { identifyDevice } from '../../src/people/users/identify-device.ts';
import type { UpsertUser } from '../../src/people/users/merge-profile.ts';
import { upsertUsers } from '../../src/people/users/upsert-users.ts';
import { clientEventsDefault } from '../../src/teams/apps/caller.ts';

/** One connection, which plans each statement once and keeps the plan. */
async function openApp() {
  const { url, sql } = await createTestDatabase();
  const one = openPool({ url, connectionsMax: 1, name: 'first minutes', statementTimeoutMs: 60_000 });
  onTestFinished(() => one.end());
  const appId = mintUuid();
  await sql`INSERT INTO apps (id, name, plan) VALUES (${appId}, 'First minutes', 'unlimited')`;
  const clock = await createClock(sql);
  return { sql, one, appId, deps: { sql: one, clock } };
}
type App = Awaited<ReturnType<typeof openApp>>;

/** Users between two looks at the growth of tables. */
const perLook = 250;
const together = 25;

const deviceOf = (appId: Uuid, i: number): RegisterDevice => ({
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

/** Registers devices with their users, and then changes each user. Returns the rows read, per user, between looks. */
async function fill({ appId, deps, one }: App, users: number, look: () => Promise<void>): Promise<number[]> {
  const reads: number[] = [];
  const register = createRegister({ ...deps, waitMs: 60_000 });
  const registerMany = (from: number) =>
    Promise.all(Array.from({ length: together }, (_, at) => register(deviceOf(appId, from + at))));
  const upsertMany = async (requests: readonly UpsertUser[]): Promise<void> => {
    for (const { status } of await upsertUsers(deps, requests)) expect(status).toBe('fulfilled');
  };
  const count = async (work: (from: number) => Promise<void>): Promise<void> => {
    for (let from = 0; from < users; from += perLook) {
      const before = await countRead(one);
      for (let i = from; i < from + perLook; i += together) await work(i);
      reads.push(((await countRead(one)) - before) / perLook);
      await look();
    }
  };
  await count(async (from) => {
    const ids = (await registerMany(from)).map(({ row }) => row.deviceId);
    // Every second device is linked by the upsert, and one more of the group by a log-in.
    await upsertMany(ids.map((id, at) => upsertOf(appId, from + at, 0, at % 2 === 0 ? id : null)));
    await identifyDevice(deps, { appId, deviceId: ids[1] ?? '', externalId: `user-${from + 1}`, byClient: true });
  });
  await count(async (from) => {
    await registerMany(from);
    await upsertMany(Array.from({ length: together }, (_, at) => upsertOf(appId, from + at, 1, null)));
    await upsertMany([upsertOf(appId, from, 2, null)]);
  });
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

/** Rows that several statements together read for each user while no table has 8 pages. */
const smallTable = 2_000;

const largeTables = 'people, users, devices, device_tokens, device_changes, audience';

/** Adds an app with devices and users. */
async function addApp(sql: Sql, users: number): Promise<Uuid> {
  const appId = mintUuid();
  await sql`INSERT INTO apps (id, name, plan) VALUES (${appId}, 'Large', 'unlimited')`;
  await sql.unsafe(`
    CREATE TABLE made AS SELECT n, 'user-' || n AS external_id, gen_random_uuid() AS user_id, gen_random_uuid() AS device_id,
      sha256(n::text::bytea) AS token_hash FROM generate_series(1, ${users}) AS n;
    INSERT INTO people SELECT '${appId}', external_id, user_id FROM made;
    INSERT INTO users (app_id, external_id, id) SELECT '${appId}', external_id, user_id FROM made;
    INSERT INTO device_tokens SELECT '${appId}', 'android', token_hash, device_id FROM made;
    INSERT INTO devices (app_id, id, platform, token, token_hint, token_hash, status, registered_at)
      SELECT '${appId}', device_id, 'android', n::text, n::text, token_hash, 'active', now() FROM made;
    INSERT INTO device_changes (app_id, device_id, id, at, platform, status)
      SELECT '${appId}', device_id, gen_random_uuid(), now(), 'android', 'active' FROM made;
    INSERT INTO audience (app_id, device_id, created_at, last_seen_at, active, platform,
        user_id, external_id, user_created_at)
      SELECT '${appId}', device_id, now(), now(), true, 'android', user_id, external_id, now() FROM made;
    DROP TABLE made`);
  return appId;
}

/** Adds an app with many devices and users, which is then all that the statistics know. */
async function addLargeApp(sql: Sql): Promise<void> {
  await addApp(sql, 5_000);
  await sql`ANALYZE`;
}

describe('R-102 filling an empty database reads few rows for each device and user', () => {
  it.each([
    ['as the migrations leave it', 1_000, async () => undefined],
    ['whose tables were analyzed while they were empty', 2_500, async (sql: Sql) => sql`ANALYZE`],
    ['whose tables were truncated', 1_000, async (sql: Sql) => sql.unsafe(`TRUNCATE ${largeTables}`)],
    ['beside a large app', 1_000, addLargeApp],
  ])(
    '%s',
    async (_name, users, prepare) => {
      const app = await openApp();
      await prepare(app.sql);
      const reads = await fill(app, users, () => analyzeGrown(app.sql));
      // At first every table is small enough to be read completely.
      expect(Math.max(...reads)).toBeLessThan(smallTable);
      // The users are changed.
      expect(Math.max(...reads.slice(reads.length / 2))).toBeLessThan(100);
    },
    120_000,
  );
});

describe('R-102 few rows are read', () => {
  /** Rows that work on the connections of a process reads of all large tables. */
  async function rowsReadOn(
    { url, sql }: TestDatabase,
    work: (databases: Databases) => Promise<unknown>,
  ): Promise<number> {
    const before = await countRead(sql);
    const databases = openDatabases(url);
    await work(databases);
    await databases.close();
    // A connection has added its counts before it is gone.
    const listed = () =>
      sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'carillon %'`;
    await expect.poll(listed).toHaveLength(0);
    return (await countRead(sql)) - before;
  }

  const listIds = async (sql: Sql, appId: Uuid): Promise<Uuid[]> =>
    (await sql<{ id: Uuid }[]>`SELECT id FROM devices WHERE app_id = ${appId} LIMIT 20`).map(({ id }) => id);

  it('for a list of ids, also in a table of a few hundred rows', async () => {
    const database = await createTestDatabase();
    const appId = await addApp(database.sql, 700);
    await database.sql`ANALYZE`;
    const ids = await listIds(database.sql, appId);
    const rows = await rowsReadOn(database, async ({ txSql }) => {
      for (const id of ids) await listDeviceOwners(txSql, appId, [id]);
    });
    expect(rows).toBeLessThan(100);
  });

  it('for events of devices whose app the statistics do not know', async () => {
    const database = await createTestDatabase();
    await addLargeApp(database.sql);
    const appId = await addApp(database.sql, 700);
    const ids = await listIds(database.sql, appId);
    const event = {
      name: 'a',
      properties: {},
      propertiesText: '{}',
      externalId: null,
      id: null,
      occurredAtMs: null,
      purchase: null,
    };
    const rows = await rowsReadOn(database, async ({ sql, txSql }) => {
      const track = createTrack({ sql, txSql, clock: await createClock(sql), waitMs: 60_000 });
      const request = { appId, isServer: true, clientEvents: clientEventsDefault, pathOf: () => [] };
      for (const id of ids) await track({ ...request, events: [{ ...event, deviceId: id }] });
    });
    expect(rows).toBeLessThan(200);
  });

  it('for changed people whose app the statistics do not know', async () => {
    const database = await createTestDatabase();
    const { sql } = database;
    await addLargeApp(sql);
    const appId = await addApp(sql, 700);
    for (const name of attributedNames) {
      await sql`
        INSERT INTO attribution_progress (app_id, name, settled_at, settled_id, received_to)
        VALUES (${appId}, ${name}, now() - interval '1 hour', ${uuidFloorOf(new Date())}, ${uuidFloorOf(new Date())})`;
    }
    await sql`
      INSERT INTO people_changes (app_id, id, ids)
      SELECT app_id, gen_random_uuid(), ARRAY[device_id, user_id] FROM audience WHERE app_id = ${appId} LIMIT 10`;
    const rows = await rowsReadOn(database, async ({ workSql }) => {
      await classAhead({ sql: workSql, clock: await createClock(sql) });
    });
    expect(await sql`SELECT FROM people_changes`).toHaveLength(0);
    expect(rows).toBeLessThan(200);
  });
});

it('R-102 a table that cannot be analyzed keeps no other table from it', async () => {
  const { sql } = await createTestDatabase();
  await sql.unsafe(`
    CREATE FUNCTION same(n int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN n; END';
    CREATE TABLE aa_first (n int);
    CREATE INDEX ON aa_first (same(n));
    CREATE TABLE zz_last (n int);
    INSERT INTO aa_first SELECT generate_series(1, 10000);
    INSERT INTO zz_last SELECT generate_series(1, 10000);
    CREATE OR REPLACE FUNCTION same(n int) RETURNS int IMMUTABLE LANGUAGE plpgsql
      AS 'BEGIN RAISE EXCEPTION ''not now''; END'`);
  await expect(analyzeGrown(sql)).rejects.toThrow('not now');
  expect(await sql`SELECT reltuples FROM pg_class WHERE relname = 'zz_last'`).toEqual([{ reltuples: 10_000 }]);
});
