// Fills an audience of any size: in the columns that the service reads, and again with all
// properties in one JSONB column. The database computes the rows from numbers, so every run gets
// the same data. Only the times differ: they lie before now.
import type { Sql } from '@carillon/postgres';
import type { Uuid } from '../../server/src/ground/values/ids.ts';
import { slotColumn } from '../../server/src/people/properties/slots.ts';

/** One value of each key. Upserting a user with these values adds the keys to the catalog. */
export const tenProperties = {
  campaign: 'c-1',
  plan: 'free',
  city: 'Hamburg',
  referrer: 'friend',
  topic: 'news',
  tier: 'a',
  score: 1,
  age: 30,
  orders: 2,
  newsletter: true,
};

/**
 * The value of a device under each key, as SQL over its number `i`. Null means that the device has
 * no value.
 */
const columnValues: Readonly<Record<keyof typeof tenProperties, string>> = {
  campaign: `'c-' || (h(1) % 1000)`,
  plan: `CASE WHEN h(2) % 100 < 80 THEN 'free' WHEN h(2) % 100 < 95 THEN 'pro' ELSE 'team' END`,
  city: `(ARRAY['Hamburg', 'Berlin', 'Freiburg', 'Paris', 'Lyon', 'Oslo', 'Madrid', 'Porto', 'Wien', 'Graz'])[1 + h(3) % 10]`,
  referrer: `CASE WHEN h(4) % 100 < 2 THEN 'friend-' || (h(5) % 50) END`,
  topic: `CASE WHEN h(6) % 100 < 30 THEN 'topic-' || (h(7) % 20) END`,
  tier: `'tier-' || (h(8) % 5)`,
  score: `(h(9) % 100)`,
  age: `CASE WHEN h(10) % 100 < 70 THEN 16 + h(11) % 60 END`,
  orders: `(h(12) % 12)`,
  newsletter: `CASE WHEN h(13) % 100 < 90 THEN h(14) % 100 < 45 END`,
};

/**
 * Replaces `h(3)` by a hash of the device's number and of the 3, so that each salt gives an
 * independent number.
 */
const withHashes = (text: string): string =>
  text.replaceAll(/h\((\d+)\)/g, (_call, salt) => `((hashint8extended(i, ${salt}) & 2147483647))`);

export interface Filled {
  readonly appId: Uuid;
  readonly devices: number;
}

const rowsAtOnce = 100_000;

/**
 * Adds devices to an app that has none. Three in four belong to a user, and a third of the users
 * have two.
 */
export async function fillAudience(sql: Sql, { appId, devices }: Filled): Promise<void> {
  const catalog = await sql<{ key: keyof typeof tenProperties; type: 'string' | 'number' | 'boolean'; slot: number }[]>`
    SELECT key, type, slot FROM properties WHERE app_id = ${appId} ORDER BY id`;
  const columns = catalog.map(({ type, slot }) => slotColumn(type, slot));
  const values = catalog.map(({ key }) => withHashes(columnValues[key]));
  for (let from = 0; from < devices; from += rowsAtOnce) {
    const upTo = Math.min(from + rowsAtOnce, devices) - 1;
    await sql.unsafe(`
      INSERT INTO audience (app_id, device_id, active, created_at, last_seen_at, platform, locale, timezone, app_version, sdk, os,
        user_id, external_id, user_created_at, first_name, country, language, user_timezone, ${columns.join(', ')})
      SELECT app_id, device_id, ${withHashes('h(20) % 100 < 95')}, seen.created_at, seen.last_seen_at,
        (ARRAY['web', 'ios', 'android'])[1 + i % 3], 'de-DE', 'Europe/Berlin', '4.2.0', 'carillon 1.0.0', 'iOS',
        person.user_id, person.external_id, seen.created_at + person.ago, person.first_name, person.country, person.language,
        person.timezone, ${values.join(', ')}
      FROM (
        SELECT i, '${appId}'::uuid AS app_id, i / 4 * 3 + greatest(i % 4 - 1, 0) AS person,
          (lpad(to_hex(1750000000000 + i), 12, '0') || '7' || substr(md5('device' || i || '${appId}'), 1, 19))::uuid AS device_id
        FROM generate_series(${from}::bigint, ${upTo}::bigint) AS i
      ) AS one
      CROSS JOIN LATERAL (
        SELECT now() - ${withHashes('h(21) % 400')} * interval '1 day' - interval '30 days' AS created_at,
          now() - ${withHashes('h(22) % 2592000')} * interval '1 second' AS last_seen_at
      ) AS seen
      LEFT JOIN LATERAL (
        SELECT (lpad(to_hex(1750000000000 + person), 12, '0') || '7' || substr(md5('user' || person || '${appId}'), 1, 19))::uuid
            AS user_id,
          'user-' || person AS external_id, interval '0' AS ago, 'Ada' AS first_name, 'de' AS language,
          (ARRAY['DE', 'FR', 'AT', 'ES', 'NO'])[1 + (hashint8extended(person, 30) & 1023) % 5] AS country,
          'Europe/Berlin' AS timezone
        WHERE (hashint8extended(person, 31) & 1023) % 100 < 78
      ) AS person ON true`);
  }
}

/**
 * Stores the first users with their profiles and devices, as if they had registered, so that
 * upserts find them.
 */
export async function fillUsers(sql: Sql, { appId }: Filled, users: number): Promise<string[]> {
  const rows = await sql<{ externalId: string }[]>`
    INSERT INTO people (app_id, external_id, user_id)
    SELECT DISTINCT app_id, external_id, user_id FROM (
      SELECT app_id, external_id, user_id FROM audience
      WHERE app_id = ${appId} AND external_id IS NOT NULL AND active ORDER BY device_id LIMIT ${users}) AS some_devices
    RETURNING external_id`;
  const names = rows.map(({ externalId }) => externalId);
  await sql`
    INSERT INTO users (app_id, external_id, id, first_name, country, language, timezone)
    SELECT DISTINCT ON (external_id) app_id, external_id, user_id, first_name, country, language, user_timezone FROM audience
    WHERE app_id = ${appId} AND external_id = ANY(${names}::text[]) ORDER BY external_id`;
  await sql`
    INSERT INTO devices (app_id, id, platform, token, token_hash, token_hint, status, registered_at, identified_at)
    SELECT app_id, device_id, platform, 'x', sha256(device_id::text::bytea), 'x', 'active', created_at, created_at FROM audience
    WHERE app_id = ${appId} AND external_id = ANY(${names}::text[])`;
  return names;
}

/** The table to compare with: the same rows with their properties in one JSONB column. */
export async function fillJsonb(sql: Sql, { appId }: Filled): Promise<void> {
  const catalog = await sql<{ key: string; type: 'string' | 'number' | 'boolean'; slot: number }[]>`
    SELECT key, type, slot FROM properties WHERE app_id = ${appId} ORDER BY id`;
  const pairs = catalog.map(({ key, type, slot }) => `'${key}', ${slotColumn(type, slot)}`);
  await sql.unsafe(`
    CREATE TABLE bench_jsonb AS
    SELECT app_id, device_id, user_id, created_at, user_created_at, last_seen_at, active, platform, locale, timezone, user_timezone,
      app_version, sdk, os, os_version, model, country, language, first_name, external_id,
      jsonb_strip_nulls(jsonb_build_object(${pairs.join(', ')})) AS properties
    FROM audience WHERE app_id = '${appId}'`);
  await sql`ALTER TABLE bench_jsonb ADD PRIMARY KEY (app_id, device_id)`;
  await sql`VACUUM (ANALYZE) bench_jsonb`;
}
