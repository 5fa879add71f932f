// SQL: the audience row of each device, which filters read, and the selection of audiences.
import { bareArray, type Fragment, findRow, getValue, listValues, type Sql, type Tx } from '@carillon/postgres';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import { decodeId, type Uuid } from '../../ground/values/ids.ts';
import type { Audience } from './audience.ts';
import type { CheckedFilter } from './check-filter.ts';
import type { DeviceFacts } from './device-facts.ts';
import { filterToSql } from './filter-to-sql.ts';
import type { Profile, ProfileCopy } from './profile-copy.ts';
import type { SqlContext } from './test-to-sql.ts';

/** A device's audience row without its properties. */
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

/** Adds the row of a new device, which belongs to no user yet. */
export async function insertAudienceRow(
  tx: Tx,
  clock: Clock,
  device: { appId: Uuid; deviceId: Uuid; platform: string; facts: DeviceFacts },
): Promise<AudienceRow> {
  const { appId, deviceId, platform, facts } = device;
  const [row] = await tx<AudienceRow[]>`
    INSERT INTO audience AS a (app_id, device_id, platform, active, created_at, last_seen_at,
      locale, timezone, app_version, sdk, os, os_version, model)
    VALUES (${appId}, ${deviceId}, ${platform}, true, ${nowOf(tx, clock)}, ${nowOf(tx, clock)},
      ${facts.locale}, ${facts.timezone}, ${facts.appVersion}, ${facts.sdk}, ${facts.os}, ${facts.osVersion}, ${facts.model})
    RETURNING ${rowColumns(tx)}`;
  return found(row, deviceId);
}

/** Records a registration: the device is active, was seen now and reports these facts. */
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

/** Corrects the facts of a device that gave no sign of life: `active` stays unchanged. */
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

export async function getAudienceRow(tx: Tx, appId: Uuid, deviceId: Uuid): Promise<AudienceRow> {
  const [row] = await tx<AudienceRow[]>`
    SELECT ${rowColumns(tx)} FROM audience a WHERE a.app_id = ${appId} AND a.device_id = ${deviceId}`;
  return found(row, deviceId);
}

export async function listAudienceRows(tx: Tx, appId: Uuid, deviceIds: readonly Uuid[]): Promise<AudienceRow[]> {
  return tx`
    SELECT ${rowColumns(tx)} FROM audience a
    WHERE a.app_id = ${appId} AND a.device_id = ANY(${deviceIds}::uuid[])`;
}

/** A device's user, and when the device was last seen. */
export type DeviceOwner = Pick<AudienceRow, 'deviceId' | 'userId' | 'externalId' | 'lastSeenAt'>;

export async function listDeviceOwners(tx: Tx, appId: Uuid, deviceIds: readonly Uuid[]): Promise<DeviceOwner[]> {
  return tx`
    SELECT device_id, user_id, external_id, last_seen_at FROM audience
    WHERE app_id = ${appId} AND device_id = ANY(${bareArray(deviceIds)}::uuid[])`;
}

/**
 * Raises `last_seen_at` of locked devices to these instants, in milliseconds since the epoch; it
 * never lowers one. `array_position` replaces a join, because a distributed database cannot join
 * with a list.
 */
export async function raiseLastSeen(tx: Tx, appId: Uuid, seen: ReadonlyMap<Uuid, number>): Promise<void> {
  const ids = [...seen.keys()];
  const instants = [...seen.values()];
  await tx`
    UPDATE audience SET last_seen_at = to_timestamp((${instants}::float8[])[array_position(${ids}::uuid[], device_id)] / 1000)
    WHERE app_id = ${appId} AND device_id = ANY(${ids}::uuid[])
      AND last_seen_at < to_timestamp((${instants}::float8[])[array_position(${ids}::uuid[], device_id)] / 1000)`;
}

/**
 * Lists the devices of a user, in the order in which devices are locked. The rows are not sorted by
 * the database: without statistics, the planner would choose an index in that order, which contains
 * every device of the app.
 */
export async function listDeviceIdsOfUser(tx: Tx, appId: Uuid, externalId: string): Promise<Uuid[]> {
  const rows = await tx<{ deviceId: Uuid }[]>`
    SELECT device_id FROM audience WHERE app_id = ${appId} AND external_id = ${externalId}`;
  return rows.map((row) => row.deviceId).sort();
}

/** Selects from these devices the ones that belong to a user now. */
export async function listLinkedIds(tx: Tx, appId: Uuid, deviceIds: readonly Uuid[]): Promise<Uuid[]> {
  return listValues(tx`
    SELECT device_id FROM audience
    WHERE app_id = ${appId} AND device_id = ANY(${deviceIds}::uuid[]) AND user_id IS NOT NULL`);
}

/** Deletes the rows of devices that are deleted in this transaction. */
export async function deleteAudienceRows(tx: Tx, appId: Uuid, deviceIds: readonly Uuid[]): Promise<void> {
  await tx`DELETE FROM audience WHERE app_id = ${appId} AND device_id = ANY(${deviceIds}::uuid[])`;
}

/** A device of a user, with the fields that decide its place in a list and among too many devices. */
export type DeviceOfUser = Pick<AudienceRow, 'deviceId' | 'externalId' | 'active' | 'createdAt' | 'lastSeenAt'>;

/** Lists the devices that belong to any of these users now. */
export async function listDevicesOfUsers(tx: Tx, appId: Uuid, externalIds: readonly string[]): Promise<DeviceOfUser[]> {
  return tx`
    SELECT device_id, external_id, active, created_at, last_seen_at FROM audience
    WHERE app_id = ${appId} AND external_id IS NOT NULL AND external_id = ANY(${externalIds}::text[])`;
}

/** Finds the profile of an external id, to copy it onto the rows of its devices. */
export async function findProfile(tx: Tx, appId: Uuid, externalId: string): Promise<Profile | undefined> {
  return findRow(tx`
    SELECT id AS user_id, external_id, created_at, first_name, country, language, timezone, properties
    FROM users WHERE app_id = ${appId} AND external_id = ${externalId}`);
}

/** Writes one copy of a profile onto the rows of all devices that share it. */
export async function updateProfileCopy(
  tx: Tx,
  appId: Uuid,
  deviceIds: readonly Uuid[],
  copy: ProfileCopy,
): Promise<void> {
  // Column names are known words and slots (`slotColumn`), never a caller's text.
  await tx`
    UPDATE audience SET ${tx({ ...copy.columns, overflow: tx.json(copy.overflow) })}
    WHERE app_id = ${appId} AND device_id = ANY(${deviceIds}::uuid[])`;
}

/** Sets whether devices are active. */
export async function updateActive(tx: Tx, appId: Uuid, deviceIds: readonly Uuid[], isActive: boolean): Promise<void> {
  await tx`
    UPDATE audience SET active = ${isActive}
    WHERE app_id = ${appId} AND device_id = ANY(${deviceIds}::uuid[])`;
}

/** An audience whose filters were checked against the catalog. */
export type ResolvedAudience = (
  | Exclude<Audience, { readonly segment_id: string } | { readonly filter: unknown }>
  | { readonly filter: CheckedFilter }
) & {
  /** The filter whose matches are removed from the audience. */
  readonly exclude: CheckedFilter | null;
};

/** The transaction, clock and app of a question about an audience. */
export interface AudienceContext {
  readonly tx: Tx;
  readonly clock: Clock;
  readonly appId: Uuid;
}

/**
 * A condition over `audience` under the alias `a` that selects an audience's active devices. An id
 * that is malformed, unknown or of another app matches nothing.
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
    // `IS NOT NULL` is written out because the index is partial, and the planner does not infer it
    // from a list that may be empty.
    return tx`AND a.external_id IS NOT NULL AND a.external_id = ANY(${[...new Set(audience.external_ids)]}::text[])`;
  }
  return tx``;
}

function decodeDeviceIds(ids: readonly string[]): Uuid[] {
  return [...new Set(ids)].flatMap((id) => decodeId('dev', id) ?? []);
}

/** Counts an audience's devices by time zone: the device's own zone, else its user's, else null. */
export async function countAudienceByZone(
  context: AudienceContext,
  audience: ResolvedAudience,
): Promise<{ zone: string | null; devices: number }[]> {
  const { tx, appId, clock } = context;
  return tx`
    SELECT coalesce(a.timezone, a.user_timezone) AS zone, count(*) AS devices
    FROM audience a WHERE ${audiencePredicate({ tx, clock, appId }, audience)} GROUP BY 1`;
}

/**
 * Counts the requested ids that have no active device, each id once. Other selectors name no ids,
 * so the count is 0. `devices`: the number of devices in the audience.
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
  // An id still counts as matched if the exclusion removes its devices.
  const matched = await getValue<number>(tx`
    SELECT count(DISTINCT ${id}) AS matched FROM audience a
    WHERE ${audiencePredicate({ tx, clock, appId }, { ...audience, exclude: null })}`);
  return asked - matched;
}

/**
 * Returns the planner's cost of a count for each condition alone, in the planner's units. The most
 * expensive condition is found without running a count.
 */
export async function estimateCosts(
  { tx, clock, appId }: AudienceContext,
  filters: readonly CheckedFilter[],
): Promise<number[]> {
  const context = { tx, appId, now: clock.now };
  const costs: number[] = [];
  for (const filter of filters) {
    const [{ Plan: plan }] = await getValue<[{ Plan: { 'Total Cost': number } }]>(tx`
      EXPLAIN (FORMAT JSON) SELECT count(*) FROM audience a
      WHERE a.app_id = ${appId} AND a.active AND ${filterToSql(context, filter)}`);
    costs.push(plan['Total Cost']);
  }
  return costs;
}

/**
 * Empties a retired slot on at most `limit` rows, and returns how many. Rows that another
 * transaction has locked are skipped until the next run, so no upsert waits.
 */
export async function clearSlot(sql: Sql, appId: Uuid, column: string, limit: number): Promise<number> {
  // Column names are known words (`slotColumn`), never a caller's text.
  const result = await sql`
    UPDATE audience SET ${sql(column)} = NULL
    WHERE app_id = ${appId} AND device_id = ANY(ARRAY(
      SELECT device_id FROM audience WHERE app_id = ${appId} AND ${sql(column)} IS NOT NULL
      LIMIT ${limit} FOR UPDATE SKIP LOCKED))`;
  return result.count;
}

/** Removes a retired key without a slot from `overflow`, in the same way as `clearSlot`. */
export async function clearOverflow(sql: Sql, appId: Uuid, id: number, limit: number): Promise<number> {
  const result = await sql`
    UPDATE audience SET overflow = overflow - ${String(id)}::text
    WHERE app_id = ${appId} AND device_id = ANY(ARRAY(
      SELECT device_id FROM audience WHERE app_id = ${appId} AND overflow ? ${String(id)}::text
      LIMIT ${limit} FOR UPDATE SKIP LOCKED))`;
  return result.count;
}

// The transaction that creates a device also creates its audience row.
function found(row: AudienceRow | undefined, deviceId: Uuid): AudienceRow {
  if (!row) throw new Error(`device ${deviceId} has no audience row`);
  return row;
}
