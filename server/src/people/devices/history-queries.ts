// SQL: whether devices are reachable: changes of their status, the mismatches counted against them,
// and the history.

import { type Fragment, listValues, type Sql, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Environment, Platform } from '../../sending/channels/channel.ts';
import type { DeviceStatus, InvalidReason } from './device.ts';

export interface Refusal {
  readonly deviceId: Uuid;
  readonly reason: InvalidReason;
  /** A device that registered after this instant is not changed. */
  readonly registeredBy: Date;
  /**
   * A device that registered or changed after this instant is not changed. An edit moves
   * `changed_at` and not `registered_at`, because an edit is no sign of life: with a later
   * `registered_at`, the provider's word about a token that died before the edit would be ignored.
   */
  readonly storedBy: Date;
}

/** A device whose status changed, and its new status. */
export interface DeviceChange {
  readonly deviceId: Uuid;
  readonly platform: Platform;
  readonly status: DeviceStatus;
  readonly reason: InvalidReason | null;
}

/**
 * Makes refused devices invalid if they are still active and have neither registered nor changed
 * since. Returns them. Locks them in the order of their ids: it finds them by the primary key, the
 * only whole index of the table, and the rest of the transaction may use no scan. `array_position`
 * replaces a join, because a distributed database cannot join with a list.
 */
export async function updateInvalid(tx: Tx, appId: Uuid, refusals: readonly Refusal[]): Promise<DeviceChange[]> {
  const ids = refusals.map((refusal) => refusal.deviceId);
  const reasons = refusals.map((refusal) => refusal.reason);
  const registeredBys = refusals.map((refusal) => refusal.registeredBy.toISOString());
  const storedBys = refusals.map((refusal) => refusal.storedBy.toISOString());
  const [, , changed] = await Promise.all([
    tx`SET LOCAL enable_seqscan = off`,
    tx`SET LOCAL enable_bitmapscan = off`,
    tx<DeviceChange[]>`
    UPDATE devices SET status = 'invalid', status_reason = (${reasons}::text[])[array_position(${ids}::uuid[], id)]
    WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) AND status = 'active'
      AND registered_at <= (${registeredBys}::timestamptz[])[array_position(${ids}::uuid[], id)]
      AND greatest(registered_at, changed_at) <= (${storedBys}::timestamptz[])[array_position(${ids}::uuid[], id)]
    RETURNING id AS device_id, platform, status, status_reason AS reason`,
  ]);
  return changed;
}

/** Lists the devices that a credential's refusals retired since an instant. */
export async function listRetiredByCredential(tx: Tx, appId: Uuid, credentialId: number, since: Date): Promise<Uuid[]> {
  return listValues(tx`
    SELECT DISTINCT device_id FROM device_changes
    WHERE app_id = ${appId} AND credential_id = ${credentialId} AND at >= ${since} AND status = 'invalid'
    ORDER BY device_id`);
}

/**
 * Makes devices active again if they are still invalid for a reason that can be the credential's
 * fault.
 */
export async function updateRestored(
  tx: Tx,
  appId: Uuid,
  credentialId: number,
  ids: readonly Uuid[],
): Promise<DeviceChange[]> {
  return tx`
    UPDATE devices SET status = 'active', status_reason = NULL, mismatches = 0
    WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) AND status = 'invalid' AND token IS NOT NULL
      AND status_reason IN ('invalid_token', 'credential_mismatch')
      -- A browser belongs to the key it subscribed with; a phone to whichever is the current one.
      AND (platform <> 'web' OR credential_id IS NULL OR credential_id = ${credentialId})
    RETURNING id AS device_id, platform, status, status_reason AS reason`;
}

/** A device as it was read for a push. */
export interface ReadDevice {
  readonly deviceId: Uuid;
  /** The later of its registration and its last change, in milliseconds. */
  readonly storedAtMs: number;
}

/** A condition: a row of `devices` neither registered nor changed since it was read. */
export function isAsRead(tx: Tx, read: readonly ReadDevice[]): Fragment {
  const ids = read.map(({ deviceId }) => deviceId);
  const storedBys = read.map(({ storedAtMs }) => new Date(storedAtMs).toISOString());
  return tx`greatest(registered_at, changed_at)
    <= (${storedBys}::timestamptz[])[array_position(${ids}::uuid[], id)]`;
}

/**
 * Counts a credential_mismatch for each locked device, and returns the devices that have reached
 * `mismatchesMax` in a row. A device that registered or changed since it was read is not counted.
 */
export async function countMismatches(
  tx: Tx,
  appId: Uuid,
  read: readonly ReadDevice[],
  mismatchesMax: number,
): Promise<Set<Uuid>> {
  const ids = read.map(({ deviceId }) => deviceId);
  const rows = await tx<{ id: Uuid; mismatches: number }[]>`
    UPDATE devices SET mismatches = least(mismatches + 1, ${mismatchesMax}::int)
    WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) AND status = 'active' AND ${isAsRead(tx, read)}
    RETURNING id, mismatches`;
  return new Set(rows.filter((row) => row.mismatches >= mismatchesMax).map((row) => row.id));
}

/** Selects the devices that have mismatches in a row. */
export async function listMismatched(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<Uuid[]> {
  return listValues(tx`
    SELECT id FROM devices WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) AND mismatches > 0`);
}

/** Resets the mismatches in a row after a success. The caller has locked the devices. */
export async function forgetMismatches(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<void> {
  await tx`
    UPDATE devices SET mismatches = 0
    WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) AND mismatches > 0`;
}

/**
 * Stores the environment that pushes found for iOS tokens, unless the device names its own, or has
 * registered or changed since. Locks the devices in the order of their ids.
 */
export async function updateEnvironmentFound(
  tx: Tx,
  appId: Uuid,
  found: readonly (ReadDevice & { readonly environmentFound: Environment })[],
): Promise<void> {
  const ids = found.map(({ deviceId }) => deviceId);
  const environments = found.map(({ environmentFound }) => environmentFound);
  await tx`
    UPDATE devices SET environment_found = (${environments}::text[])[array_position(${ids}::uuid[], id)]
    WHERE app_id = ${appId} AND id = ANY(ARRAY(
        SELECT id FROM devices WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) ORDER BY id FOR UPDATE))
      AND platform = 'ios' AND environment IS NULL AND ${isAsRead(tx, found)}`;
}

/** Appends changes of status to the history. */
export async function insertDeviceChanges(
  tx: Tx,
  appId: Uuid,
  at: Date,
  changes: readonly (DeviceChange & { readonly changeId: Uuid; readonly credentialId: number | null })[],
): Promise<void> {
  await tx`
    INSERT INTO device_changes (app_id, device_id, id, at, platform, status, reason, credential_id)
    SELECT ${appId}, c.device_id, c.change_id, ${at}, c.platform, c.status, c.reason, c.credential_id
    FROM ${tx.rows(
      'c',
      { uuid: ['deviceId', 'changeId'], text: ['platform', 'status', 'reason'], smallint: ['credentialId'] },
      changes,
    )}`;
}

export interface PastChange {
  readonly deviceId: Uuid;
  readonly at: Date;
  readonly status: DeviceStatus;
  readonly reason: InvalidReason | null;
}

/** Lists the complete history of these devices' states, oldest first. */
export async function listDeviceChanges(sql: Sql, appId: Uuid, deviceIds: readonly Uuid[]): Promise<PastChange[]> {
  return sql`
    SELECT device_id, at, status, reason FROM device_changes
    WHERE app_id = ${appId} AND device_id = ANY(${deviceIds}::uuid[]) ORDER BY at, id`;
}
