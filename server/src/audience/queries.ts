// SQL: the one row per device that filters read, and audiences over it.
import { bareArray } from '../platform/array-text.ts';
import { type Clock, nowOf } from '../platform/clock.ts';
import type { Fragment, Sql, Tx } from '../platform/db.ts';
import { decodeId, type Uuid } from '../platform/ids.ts';
import type { Audience } from './audience.ts';
import type { CheckedFilter } from './check-filter.ts';
import type { DeviceFacts } from './device-facts.ts';
import { filterToSql } from './filter-to-sql.ts';
import { webDevicesBits } from './platform-units.ts';
import type { Profile, ProfileCopy } from './profile-copy.ts';
import type { SqlContext } from './test-to-sql.ts';

/** A device's row without the properties on it. */
export interface AudienceRow extends DeviceFacts {
  readonly deviceId: Uuid;
  readonly userId: Uuid | null;
  readonly externalId: string | null;
  readonly active: boolean;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
}

const rowColumns = (tx: Tx): Fragment => tx`
  a.device_id, a.user_id, a.external_id, a.active, a.created_at, a.last_seen_at,
  a.locale, a.timezone, a.app_version, a.sdk, a.os, a.os_version, a.model`;

/** Adds the row of a new device, which belongs to nobody yet. */
export async function insertAudienceRow(
  tx: Tx,
  clock: Clock,
  device: { appId: Uuid; deviceId: Uuid; platform: string; facts: DeviceFacts },
): Promise<AudienceRow> {
  const { appId, deviceId, platform, facts } = device;
  const [row] = await tx<AudienceRow[]>`
    INSERT INTO audience AS a (app_id, device_id, platform, active, created_at, last_seen_at, user_bit,
      locale, timezone, app_version, sdk, os, os_version, model)
    VALUES (${appId}, ${deviceId}, ${platform}, true, ${nowOf(tx, clock)}, ${nowOf(tx, clock)}, NULL,
      ${facts.locale}, ${facts.timezone}, ${facts.appVersion}, ${facts.sdk}, ${facts.os}, ${facts.osVersion}, ${facts.model})
    RETURNING ${rowColumns(tx)}`;
  return found(row, deviceId);
}

/** A registration: the device is active, was seen now, and says this about itself. */
export async function updateSeenDevice(
  tx: Tx,
  clock: Clock,
  device: { appId: Uuid; deviceId: Uuid; facts: DeviceFacts },
): Promise<AudienceRow> {
  const { appId, deviceId, facts } = device;
  const [row] = await tx<AudienceRow[]>`
    UPDATE audience AS a SET active = true, last_seen_at = ${nowOf(tx, clock)},
      locale = ${facts.locale}, timezone = ${facts.timezone}, app_version = ${facts.appVersion}, sdk = ${facts.sdk},
      os = ${facts.os}, os_version = ${facts.osVersion}, model = ${facts.model}
    WHERE a.app_id = ${appId} AND a.device_id = ${deviceId}
    RETURNING ${rowColumns(tx)}`;
  return found(row, deviceId);
}

/** What is known of a device is put right, which is no sign of life from it: it stays as active as it was. */
export async function updateKnownDevice(
  tx: Tx,
  appId: Uuid,
  { deviceId, facts, lastSeenAt }: { deviceId: Uuid; facts: DeviceFacts; lastSeenAt: Date },
): Promise<void> {
  await tx`
    UPDATE audience SET last_seen_at = greatest(last_seen_at, ${lastSeenAt}),
      locale = ${facts.locale}, timezone = ${facts.timezone}, app_version = ${facts.appVersion}, sdk = ${facts.sdk},
      os = ${facts.os}, os_version = ${facts.osVersion}, model = ${facts.model}
    WHERE app_id = ${appId} AND device_id = ${deviceId}`;
}

/** One device's row. */
export async function getAudienceRow(tx: Tx, appId: Uuid, deviceId: Uuid): Promise<AudienceRow> {
  const [row] = await tx<AudienceRow[]>`
    SELECT ${rowColumns(tx)} FROM audience a WHERE a.app_id = ${appId} AND a.device_id = ${deviceId}`;
  return found(row, deviceId);
}

/** The rows of these devices. */
export async function listAudienceRows(tx: Tx, appId: Uuid, deviceIds: readonly Uuid[]): Promise<AudienceRow[]> {
  return tx<AudienceRow[]>`
    SELECT ${rowColumns(tx)} FROM audience a
    WHERE a.app_id = ${appId} AND a.device_id = ANY(${deviceIds as Uuid[]}::uuid[])`;
}

/** Whose a device is, and when it was last seen. */
export type DeviceOwner = Pick<AudienceRow, 'deviceId' | 'userId' | 'externalId' | 'lastSeenAt'>;

/** Whose are these devices? */
export async function listDeviceOwners(tx: Tx, appId: Uuid, deviceIds: readonly Uuid[]): Promise<DeviceOwner[]> {
  return tx<DeviceOwner[]>`
    SELECT device_id, user_id, external_id, last_seen_at FROM audience
    WHERE app_id = ${appId} AND device_id = ANY(${bareArray(deviceIds)}::uuid[])`;
}

/**
 * Locked devices were seen at these instants, in milliseconds since the epoch: none of them is seen earlier than before. The place
 * in the arrays stands for a join, which a distributed database could not make with a list.
 */
export async function raiseLastSeen(tx: Tx, appId: Uuid, seen: ReadonlyMap<Uuid, number>): Promise<void> {
  const ids = [...seen.keys()];
  const instants = [...seen.values()];
  await tx`
    UPDATE audience SET last_seen_at = to_timestamp((${instants}::float8[])[array_position(${ids}::uuid[], device_id)] / 1000)
    WHERE app_id = ${appId} AND device_id = ANY(${ids}::uuid[])
      AND last_seen_at < to_timestamp((${instants}::float8[])[array_position(${ids}::uuid[], device_id)] / 1000)`;
}

/** Which devices belong to a user now? In the order in which they are locked. */
export async function listDeviceIdsOfUser(tx: Tx, appId: Uuid, externalId: string): Promise<Uuid[]> {
  const rows = await tx<{ deviceId: Uuid }[]>`
    SELECT device_id FROM audience WHERE app_id = ${appId} AND external_id = ${externalId} ORDER BY device_id`;
  return rows.map((row) => row.deviceId);
}

/** Which of these devices belong to somebody now? */
export async function listLinkedIds(tx: Tx, appId: Uuid, deviceIds: readonly Uuid[]): Promise<Uuid[]> {
  const rows = await tx<{ deviceId: Uuid }[]>`
    SELECT device_id FROM audience
    WHERE app_id = ${appId} AND device_id = ANY(${deviceIds as Uuid[]}::uuid[]) AND user_id IS NOT NULL`;
  return rows.map((row) => row.deviceId);
}

/** Removes the rows of devices that are deleted in this transaction. */
export async function deleteAudienceRows(tx: Tx, appId: Uuid, deviceIds: readonly Uuid[]): Promise<void> {
  await tx`DELETE FROM audience WHERE app_id = ${appId} AND device_id = ANY(${deviceIds as Uuid[]}::uuid[])`;
}

/** Which devices belong to any of these users now? */
export async function listDeviceIdsOfUsers(tx: Tx, appId: Uuid, externalIds: readonly string[]): Promise<Uuid[]> {
  const rows = await tx<{ deviceId: Uuid }[]>`
    SELECT device_id FROM audience
    WHERE app_id = ${appId} AND external_id IS NOT NULL AND external_id = ANY(${externalIds as string[]}::text[])`;
  return rows.map((row) => row.deviceId);
}

/** The active devices of a user, newest first. */
export async function listActiveDeviceIdsOfUser(
  tx: Tx,
  appId: Uuid,
  externalId: string,
  limit: number,
): Promise<Uuid[]> {
  const rows = await tx<{ deviceId: Uuid }[]>`
    SELECT device_id FROM audience WHERE app_id = ${appId} AND external_id = ${externalId} AND active
    ORDER BY created_at DESC, device_id DESC LIMIT ${limit}`;
  return rows.map((row) => row.deviceId);
}

/** The profile behind an external id, for the rows of its devices. */
export async function findProfile(tx: Tx, appId: Uuid, externalId: string): Promise<Profile | undefined> {
  const [profile] = await tx<Profile[]>`
    SELECT id AS user_id, number, external_id, created_at, first_name, country, language, timezone, properties
    FROM users WHERE app_id = ${appId} AND external_id = ${externalId}`;
  return profile;
}

/** Writes one copy of a profile onto the rows of devices that share it. */
export async function updateProfileCopy(
  tx: Tx,
  appId: Uuid,
  deviceIds: readonly Uuid[],
  copy: ProfileCopy,
): Promise<void> {
  // The column names are known words and slots (`slotColumn`), never a caller's text.
  await tx`
    UPDATE audience SET ${tx({ ...copy.columns, overflow: tx.json(copy.overflow) })}
    WHERE app_id = ${appId} AND device_id = ANY(${deviceIds as Uuid[]}::uuid[])`;
}

/** Devices become reachable or cease to be. */
export async function updateActive(tx: Tx, appId: Uuid, deviceIds: readonly Uuid[], isActive: boolean): Promise<void> {
  await tx`
    UPDATE audience SET active = ${isActive}
    WHERE app_id = ${appId} AND device_id = ANY(${deviceIds as Uuid[]}::uuid[])`;
}

/** An audience whose filters fit the catalog. */
export type ResolvedAudience = (
  | Exclude<Audience, { readonly segment_id: string } | { readonly filter: unknown }>
  | { readonly filter: CheckedFilter }
) & {
  /** Who leaves it. */
  readonly exclude: CheckedFilter | null;
};

/** What an audience is asked with. */
export interface AudienceContext {
  readonly tx: Tx;
  readonly clock: Clock;
  readonly appId: Uuid;
}

/**
 * Which active devices are in an audience: a condition over `audience` under the alias `a`. An id that is malformed, unknown
 * or another app's simply matches nothing.
 */
export function audiencePredicate({ tx, clock, appId }: AudienceContext, audience: ResolvedAudience): Fragment {
  const context = { tx, appId, now: clock.now };
  const exclusion = audience.exclude === null ? tx`` : tx`AND (${filterToSql(context, audience.exclude)}) IS NOT TRUE`;
  return tx`a.app_id = ${appId} AND a.active ${selection(context, audience)} ${exclusion}`;
}

function selection(context: SqlContext, audience: ResolvedAudience): Fragment {
  const { tx } = context;
  if ('filter' in audience) return tx`AND ${filterToSql(context, audience.filter)}`;
  if ('device_ids' in audience) return tx`AND a.device_id = ANY(${decodeDeviceIds(audience.device_ids)}::uuid[])`;
  if ('external_ids' in audience) {
    // Not null is said aloud: of a list that may be empty the planner would not conclude it, and the index is partial.
    return tx`AND a.external_id IS NOT NULL AND a.external_id = ANY(${[...new Set(audience.external_ids)]}::text[])`;
  }
  return tx``;
}

function decodeDeviceIds(ids: readonly string[]): Uuid[] {
  return [...new Set(ids)].flatMap((id) => decodeId('dev', id) ?? []);
}

export interface AudienceCount {
  readonly web: number;
  readonly ios: number;
  readonly android: number;
  /** Distinct users among the devices. */
  readonly users: number;
}

/**
 * How many devices and users would be reached now? Users are the bits that their numbers set, block by block: that takes one pass
 * over the devices, which processes of the server share, and tells nobody apart by sorting. Who has no number yet is counted by
 * id, and found by an index that holds nobody else; all devices of a user have the number or none has.
 */
export async function countAudience(context: AudienceContext, audience: ResolvedAudience): Promise<AudienceCount> {
  const { tx } = context;
  // A device is asked as little as will do: one sum says how many are of two platforms (`platformUnits`), and whatever is of neither is
  // of the third. And the blocks, which are many, are added up before they meet the other half.
  const [row] = await tx<AudienceCount[]>`
    SELECT sum(web)::bigint AS web, sum(ios)::bigint AS ios, sum(devices - web - ios)::bigint AS android,
      sum(users)::bigint AS users
    FROM (
      SELECT coalesce(sum(web), 0) AS web, coalesce(sum(ios), 0) AS ios, coalesce(sum(devices), 0) AS devices,
        coalesce(sum(users), 0) AS users
      FROM (
        SELECT (sum(a.platform_unit) & ${2 ** webDevicesBits - 1}::bigint)::int AS web,
          (sum(a.platform_unit) >> ${webDevicesBits}::int)::int AS ios,
          count(*)::int AS devices, bit_count(bit_or(a.user_bit)::bit(32))::int AS users
        FROM audience a WHERE ${audiencePredicate(context, audience)} GROUP BY a.user_block
      ) AS blocks
      UNION ALL
      SELECT 0, 0, 0, count(DISTINCT a.user_id)
      FROM audience a WHERE ${audiencePredicate(context, audience)} AND a.user_bit = 0
    ) AS counted`;
  return row ?? { web: 0, ios: 0, android: 0, users: 0 };
}

/** How many devices are in an audience? */
export async function countDevices(context: AudienceContext, audience: ResolvedAudience): Promise<number> {
  const { tx } = context;
  const [row] = await tx<{ devices: number }[]>`
    SELECT count(*) AS devices FROM audience a WHERE ${audiencePredicate(context, audience)}`;
  return row?.devices ?? 0;
}

/** How many devices of an audience are in which time zone: their own, else their user's, else null? */
export async function countAudienceByZone(
  context: AudienceContext,
  audience: ResolvedAudience,
): Promise<{ zone: string | null; devices: number }[]> {
  const { tx, appId, clock } = context;
  return tx<{ zone: string | null; devices: number }[]>`
    SELECT coalesce(a.timezone, a.user_timezone) AS zone, count(*) AS devices
    FROM audience a WHERE ${audiencePredicate({ tx, clock, appId }, audience)} GROUP BY 1`;
}

/**
 * How many of the ids asked for, each counted once, have no active device? Of other audiences nobody was asked for by name.
 * `devices`: how many the audience is.
 */
export async function countUnmatched(
  context: AudienceContext,
  audience: ResolvedAudience,
  devices: number,
): Promise<number> {
  if (!('device_ids' in audience || 'external_ids' in audience)) return 0;
  const asked = new Set('device_ids' in audience ? audience.device_ids : audience.external_ids).size;
  if ('device_ids' in audience && audience.exclude === null) return asked - devices;
  const { tx, clock, appId } = context;
  const id = 'device_ids' in audience ? tx`a.device_id` : tx`a.external_id`;
  // Whoever is left out by the exclusion was matched all the same.
  const [row] = await tx<{ matched: number }[]>`
    SELECT count(DISTINCT ${id}) AS matched FROM audience a
    WHERE ${audiencePredicate({ tx, clock, appId }, { ...audience, exclude: null })}`;
  return asked - (row?.matched ?? 0);
}

/**
 * What the planner expects an audience narrowed by each of these conditions alone to cost, in its own units: which of them
 * makes a count slow, without running any.
 */
export async function estimateCosts(
  { tx, clock, appId }: AudienceContext,
  filters: readonly CheckedFilter[],
): Promise<number[]> {
  const context = { tx, appId, now: clock.now };
  const costs: number[] = [];
  for (const filter of filters) {
    const [row] = await tx<{ 'QUERY PLAN': [{ Plan: { 'Total Cost': number } }] }[]>`
      EXPLAIN (FORMAT JSON) SELECT count(*) FROM audience a
      WHERE a.app_id = ${appId} AND a.active AND ${filterToSql(context, filter)}`;
    costs.push(Number(Object.values(row ?? {})[0]?.[0]?.Plan['Total Cost'] ?? 0));
  }
  return costs;
}

/**
 * Empties a retired slot, a few rows at a time; how many were emptied. Rows that somebody holds are left for the next time: an
 * upsert waits for nothing here.
 */
export async function clearSlot(sql: Sql, appId: Uuid, column: string, limit: number): Promise<number> {
  // A column's name is a known word (`slotColumn`), never a caller's text.
  const result = await sql`
    UPDATE audience SET ${sql(column)} = NULL
    WHERE app_id = ${appId} AND device_id = ANY(ARRAY(
      SELECT device_id FROM audience WHERE app_id = ${appId} AND ${sql(column)} IS NOT NULL
      LIMIT ${limit} FOR UPDATE SKIP LOCKED))`;
  return result.count;
}

/** The same for a key that stood past the slots. */
export async function clearOverflow(sql: Sql, appId: Uuid, id: number, limit: number): Promise<number> {
  const result = await sql`
    UPDATE audience SET overflow = overflow - ${String(id)}::text
    WHERE app_id = ${appId} AND device_id = ANY(ARRAY(
      SELECT device_id FROM audience WHERE app_id = ${appId} AND overflow ? ${String(id)}::text
      LIMIT ${limit} FOR UPDATE SKIP LOCKED))`;
  return result.count;
}

// Every device has its row here from the transaction that made it.
function found(row: AudienceRow | undefined, deviceId: Uuid): AudienceRow {
  if (!row) throw new Error(`device ${deviceId} has no audience row`);
  return row;
}
