// SQL: devices, their tokens (one token, one device), and the history of their states.

import type { DeviceFacts } from '../audience/device-facts.ts';
import type { Environment, Platform } from '../channels/channel.ts';
import { type Clock, nowOf } from '../platform/clock.ts';
import type { Sql, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { StoredProperties } from '../properties/property.ts';
import type { Device, DeviceStatus, InvalidReason } from './device.ts';
import type { DeviceToken } from './token.ts';

/** Whose token is this? Locks it, so that no one moves it to another device meanwhile. */
export async function lockToken(tx: Tx, appId: Uuid, platform: Platform, hash: Buffer): Promise<Uuid | undefined> {
  const [row] = await tx<{ deviceId: Uuid }[]>`
    SELECT device_id FROM device_tokens
    WHERE app_id = ${appId} AND platform = ${platform} AND token_hash = ${hash} FOR UPDATE`;
  return row?.deviceId;
}

/** Like `lockToken`, but passes by one that another transaction holds. */
export async function lockTokenUnlessBusy(
  tx: Tx,
  appId: Uuid,
  platform: Platform,
  hash: Buffer,
): Promise<Uuid | undefined> {
  const [row] = await tx<{ deviceId: Uuid }[]>`
    SELECT device_id FROM device_tokens
    WHERE app_id = ${appId} AND platform = ${platform} AND token_hash = ${hash} FOR UPDATE SKIP LOCKED`;
  return row?.deviceId;
}

/** Claims a token for a device; false when it is taken. Waits for a transaction that is just claiming it. */
export async function insertToken(
  tx: Tx,
  appId: Uuid,
  platform: Platform,
  hash: Buffer,
  deviceId: Uuid,
): Promise<boolean> {
  const result = await tx`
    INSERT INTO device_tokens (app_id, platform, token_hash, device_id)
    VALUES (${appId}, ${platform}, ${hash}, ${deviceId}) ON CONFLICT DO NOTHING`;
  return result.count === 1;
}

/** Gives a locked token to a device. */
export async function updateTokenDevice(
  tx: Tx,
  appId: Uuid,
  platform: Platform,
  hash: Buffer,
  deviceId: Uuid,
): Promise<void> {
  await tx`
    UPDATE device_tokens SET device_id = ${deviceId}
    WHERE app_id = ${appId} AND platform = ${platform} AND token_hash = ${hash}`;
}

/** Forgets a locked token. */
export async function deleteToken(tx: Tx, appId: Uuid, platform: Platform, hash: Buffer): Promise<void> {
  await tx`DELETE FROM device_tokens WHERE app_id = ${appId} AND platform = ${platform} AND token_hash = ${hash}`;
}

/** Locks one device: whoever writes its audience row holds this. */
export async function lockDevice(tx: Tx, appId: Uuid, id: Uuid): Promise<Device | undefined> {
  const [device] = await tx<Device[]>`
    SELECT id, platform, token_hash, credential_id, environment, status, properties FROM devices
    WHERE app_id = ${appId} AND id = ${id} FOR UPDATE`;
  return device;
}

/**
 * Locks devices in the order of their ids, as everyone does who locks more than one: before they are written together, since
 * one statement over many rows locks them in any order.
 */
export async function lockDevicesById(tx: Tx, appId: Uuid, ids: Iterable<Uuid>): Promise<void> {
  // A statement for each, since a distributed database locks rows on one shard only; sent together, they wait for no answers.
  const inOrder = [...new Set(ids)].sort();
  await Promise.all(inOrder.map((id) => tx`SELECT 1 FROM devices WHERE app_id = ${appId} AND id = ${id} FOR UPDATE`));
}

export interface DeviceWrite {
  readonly appId: Uuid;
  readonly id: Uuid;
  readonly token: DeviceToken;
  readonly credentialId: number | null;
  readonly environment: Environment | null;
  readonly properties: StoredProperties;
}

export async function insertDevice(
  tx: Tx,
  clock: Clock,
  device: DeviceWrite & { readonly platform: Platform },
): Promise<void> {
  const { appId, id, platform, token, credentialId, environment, properties } = device;
  await tx`
    INSERT INTO devices (app_id, id, platform, token, token_hash, token_hint, credential_id, environment, properties, status,
      registered_at)
    VALUES (${appId}, ${id}, ${platform}, ${token.text}, ${token.hash}, ${token.hint}, ${credentialId}, ${environment},
      ${tx.json(properties)}, 'active', ${nowOf(tx, clock)})`;
}

/** A locked device registers again. What was learned of its former token or environment is forgotten when they change. */
export async function updateRegistration(
  tx: Tx,
  clock: Clock,
  device: DeviceWrite & { readonly startsAnew: boolean },
): Promise<void> {
  const { appId, id, token, credentialId, environment, properties, startsAnew } = device;
  await tx`
    UPDATE devices SET
      token = ${token.text}, token_hash = ${token.hash}, token_hint = ${token.hint}, credential_id = ${credentialId},
      environment = ${environment}, properties = ${tx.json(properties)},
      status = 'active', status_reason = NULL, registered_at = ${nowOf(tx, clock)}
      ${startsAnew ? tx`, environment_found = NULL, mismatches = 0` : tx``}
    WHERE app_id = ${appId} AND id = ${id}`;
}

/** What is known of a locked device is put right: its token, its status and the time of its registration stay. */
export async function updateKnown(
  tx: Tx,
  device: {
    readonly appId: Uuid;
    readonly id: Uuid;
    readonly environment: Environment | null;
    readonly properties: StoredProperties;
    /** For a device that is bound to none. */
    readonly credentialId: number | null;
    readonly identifiedAt: Date | null;
  },
): Promise<void> {
  const { appId, id, environment, properties, credentialId, identifiedAt } = device;
  await tx`
    UPDATE devices SET properties = ${tx.json(properties)}, credential_id = coalesce(credential_id, ${credentialId}::smallint),
      identified_at = coalesce(${identifiedAt}::timestamptz, identified_at),
      environment_found = CASE WHEN environment IS NOT DISTINCT FROM ${environment}::text THEN environment_found END,
      environment = ${environment}::text
    WHERE app_id = ${appId} AND id = ${id}`;
}

/** A locked device has lost its token to another one. */
export async function updateReplaced(tx: Tx, appId: Uuid, id: Uuid): Promise<void> {
  await tx`
    UPDATE devices SET status = 'invalid', status_reason = 'replaced', token = NULL, token_hint = NULL
    WHERE app_id = ${appId} AND id = ${id}`;
}

/** Locked devices want no more pushes. The hash of their tokens stays, so the same token finds the same device. */
export async function updateUnsubscribed(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<void> {
  await tx`
    UPDATE devices SET status = 'unsubscribed', status_reason = NULL, token = NULL, token_hint = NULL, mismatches = 0,
      identified_at = NULL
    WHERE app_id = ${appId} AND id = ANY(${ids as Uuid[]}::uuid[])`;
}

/** Locked devices have no properties of their own any more. */
export async function clearOwnProperties(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<void> {
  await tx`
    UPDATE devices SET properties = '{}' WHERE app_id = ${appId} AND id = ANY(${ids as Uuid[]}::uuid[])
      AND properties <> '{}'`;
}

/** A locked device belongs to a user from now on: since when that is. */
export async function updateIdentified(tx: Tx, clock: Clock, appId: Uuid, id: Uuid): Promise<Date> {
  const [row] = await tx<{ identifiedAt: Date }[]>`
    UPDATE devices SET identified_at = ${nowOf(tx, clock)} WHERE app_id = ${appId} AND id = ${id}
    RETURNING identified_at`;
  if (!row) throw new Error(`device ${id} is locked and does not exist`);
  return row.identifiedAt;
}

/** A locked device belongs to nobody from now on. */
export async function updateUnidentified(tx: Tx, appId: Uuid, id: Uuid): Promise<void> {
  await tx`UPDATE devices SET identified_at = NULL WHERE app_id = ${appId} AND id = ${id}`;
}

/** Whose a device is. */
export interface DeviceLink {
  readonly externalId: string | null;
  readonly userId: Uuid | null;
  readonly identifiedAt: Date | null;
}

/** Whose is it now? Undefined: there is no such device. */
export async function findLink(tx: Tx, appId: Uuid, id: Uuid): Promise<DeviceLink | undefined> {
  const [link] = await tx<DeviceLink[]>`
    SELECT a.external_id, a.user_id, d.identified_at
    FROM devices d JOIN audience a ON a.app_id = d.app_id AND a.device_id = d.id
    WHERE d.app_id = ${appId} AND d.id = ${id}`;
  return link;
}

export interface Refusal {
  readonly deviceId: Uuid;
  readonly reason: InvalidReason;
  /** A device that registered after this instant is left alone. */
  readonly registeredBy: Date;
}

/** A device whose status has changed, and to what. */
export interface DeviceChange {
  readonly deviceId: Uuid;
  readonly platform: Platform;
  readonly status: DeviceStatus;
  readonly reason: InvalidReason | null;
}

/**
 * Which of the refused devices become invalid? Those still active that have not registered since. The place in the arrays
 * stands for a join, which a distributed database could not make with a list.
 */
export async function updateInvalid(tx: Tx, appId: Uuid, refusals: readonly Refusal[]): Promise<DeviceChange[]> {
  const ids = refusals.map((refusal) => refusal.deviceId);
  const reasons = refusals.map((refusal) => refusal.reason);
  const limits = refusals.map((refusal) => refusal.registeredBy.toISOString());
  return tx<DeviceChange[]>`
    UPDATE devices SET status = 'invalid', status_reason = (${reasons}::text[])[array_position(${ids}::uuid[], id)]
    WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) AND status = 'active'
      AND registered_at <= (${limits}::timestamptz[])[array_position(${ids}::uuid[], id)]
    RETURNING id AS device_id, platform, status, status_reason AS reason`;
}

/** Which devices did a credential's refusals retire since then? */
export async function listRetiredByCredential(tx: Tx, appId: Uuid, credentialId: number, since: Date): Promise<Uuid[]> {
  const rows = await tx<{ deviceId: Uuid }[]>`
    SELECT DISTINCT device_id FROM device_changes
    WHERE app_id = ${appId} AND credential_id = ${credentialId} AND at >= ${since} AND status = 'invalid'
    ORDER BY device_id`;
  return rows.map((row) => row.deviceId);
}

/** Makes those of the devices active again that are still invalid for what may be the credential's fault. */
export async function updateRestored(
  tx: Tx,
  appId: Uuid,
  credentialId: number,
  ids: readonly Uuid[],
): Promise<DeviceChange[]> {
  return tx<DeviceChange[]>`
    UPDATE devices SET status = 'active', status_reason = NULL, mismatches = 0
    WHERE app_id = ${appId} AND id = ANY(${ids as Uuid[]}::uuid[]) AND status = 'invalid' AND token IS NOT NULL
      AND status_reason IN ('invalid_token', 'credential_mismatch')
      -- A browser belongs to the key it subscribed with; a phone to whichever is the current one.
      AND (platform <> 'web' OR credential_id IS NULL OR credential_id = ${credentialId})
    RETURNING id AS device_id, platform, status, status_reason AS reason`;
}

/** Counts a credential_mismatch of each locked device, and answers those that have reached `mismatchesMax` in a row. */
export async function countMismatches(
  tx: Tx,
  appId: Uuid,
  ids: readonly Uuid[],
  mismatchesMax: number,
): Promise<Set<Uuid>> {
  const rows = await tx<{ id: Uuid; mismatches: number }[]>`
    UPDATE devices SET mismatches = least(mismatches + 1, ${mismatchesMax}::int)
    WHERE app_id = ${appId} AND id = ANY(${ids as Uuid[]}::uuid[]) AND status = 'active'
    RETURNING id, mismatches`;
  return new Set(rows.filter((row) => row.mismatches >= mismatchesMax).map((row) => row.id));
}

/** Which of the devices have mismatches in a row? */
export async function listMismatched(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<Uuid[]> {
  const rows = await tx<{ id: Uuid }[]>`
    SELECT id FROM devices WHERE app_id = ${appId} AND id = ANY(${ids as Uuid[]}::uuid[]) AND mismatches > 0`;
  return rows.map((row) => row.id);
}

/** A success ends a row of mismatches. The caller has locked the devices. */
export async function forgetMismatches(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<void> {
  await tx`
    UPDATE devices SET mismatches = 0
    WHERE app_id = ${appId} AND id = ANY(${ids as Uuid[]}::uuid[]) AND mismatches > 0`;
}

/** Remembers where pushes found iOS tokens to belong, unless the device has said so itself or registered anew since. */
export async function updateEnvironmentFound(
  tx: Tx,
  appId: Uuid,
  found: readonly { readonly deviceId: Uuid; readonly registeredBy: Date; readonly environmentFound: Environment }[],
): Promise<void> {
  const ids = found.map(({ deviceId }) => deviceId);
  const limits = found.map(({ registeredBy }) => registeredBy.toISOString());
  const environments = found.map(({ environmentFound }) => environmentFound);
  await tx`
    UPDATE devices SET environment_found = (${environments}::text[])[array_position(${ids}::uuid[], id)]
    WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) AND platform = 'ios' AND environment IS NULL
      AND registered_at <= (${limits}::timestamptz[])[array_position(${ids}::uuid[], id)]`;
}

/** Appends changes of status to the history. */
export async function insertDeviceChanges(
  tx: Tx,
  appId: Uuid,
  at: Date,
  changes: readonly (DeviceChange & { readonly changeId: Uuid })[],
  credentialId: number | null,
): Promise<void> {
  const reasons: (string | null)[] = changes.map((change) => change.reason);
  await tx`
    INSERT INTO device_changes (app_id, device_id, id, at, platform, status, reason, credential_id)
    SELECT ${appId}, c.device_id, c.id, ${at}, c.platform, c.status, c.reason, ${credentialId}::smallint
    FROM unnest(
      ${changes.map((change) => change.deviceId)}::uuid[], ${changes.map((change) => change.changeId)}::uuid[],
      ${changes.map((change) => change.platform)}::text[], ${changes.map((change) => change.status)}::text[],
      ${reasons}::text[]
    ) AS c (device_id, id, platform, status, reason)`;
}

/** Since when these devices belong to their users; those that are nobody's are left out. */
export async function listIdentifiedAt(sql: Sql, appId: Uuid, ids: readonly Uuid[]): Promise<Map<Uuid, Date>> {
  const rows = await sql<{ id: Uuid; identifiedAt: Date }[]>`
    SELECT id, identified_at FROM devices
    WHERE app_id = ${appId} AND id = ANY(${ids as Uuid[]}::uuid[]) AND identified_at IS NOT NULL`;
  return new Map(rows.map((row) => [row.id, row.identifiedAt]));
}

export interface PastChange {
  readonly deviceId: Uuid;
  readonly at: Date;
  readonly status: DeviceStatus;
  readonly reason: InvalidReason | null;
}

/** The whole history of states of these devices, oldest first. */
export async function listDeviceChanges(sql: Sql, appId: Uuid, deviceIds: readonly Uuid[]): Promise<PastChange[]> {
  return sql<PastChange[]>`
    SELECT device_id, at, status, reason FROM device_changes
    WHERE app_id = ${appId} AND device_id = ANY(${deviceIds as Uuid[]}::uuid[]) ORDER BY at, id`;
}

export interface ListedDevice extends DeviceFacts {
  readonly id: Uuid;
  readonly platform: Platform;
  readonly tokenHint: string | null;
  readonly environment: Environment | null;
  readonly status: DeviceStatus;
  readonly statusReason: InvalidReason | null;
  readonly externalId: string | null;
  readonly properties: StoredProperties;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
}

/** A device with what can be pushed to. */
export interface WholeDevice extends ListedDevice {
  readonly token: string | null;
  readonly credentialId: number | null;
}

/** An app's devices by id, after one. */
export async function listWholeDevices(
  sql: Sql,
  appId: Uuid,
  afterId: Uuid | null,
  limit: number,
): Promise<WholeDevice[]> {
  return sql<WholeDevice[]>`
    SELECT d.id, d.platform, d.token, d.token_hint, d.credential_id, a.locale, a.timezone, a.app_version, a.sdk, a.os,
      a.os_version, a.model, d.environment, d.status, d.status_reason, a.external_id, d.properties, a.created_at, a.last_seen_at
    FROM devices d JOIN audience a ON a.app_id = d.app_id AND a.device_id = d.id
    WHERE d.app_id = ${appId} ${afterId === null ? sql`` : sql`AND d.id > ${afterId}`}
    ORDER BY d.id LIMIT ${limit}`;
}

export interface DeviceFilters {
  readonly platform: Platform | null;
  readonly status: DeviceStatus | null;
  readonly externalId: string | null;
}

/** An app's devices, newest first, after a position. */
export async function listDevices(
  tx: Tx,
  appId: Uuid,
  filters: DeviceFilters,
  after: { createdAt: Date; id: Uuid } | null,
  limit: number,
): Promise<ListedDevice[]> {
  const { platform, status, externalId } = filters;
  // `active` says the same as the status, in the table that is walked: the index on inactive rows serves the rare ones.
  return tx<ListedDevice[]>`
    SELECT d.id, d.platform, d.token_hint, a.locale, a.timezone, a.app_version, a.sdk, a.os, a.os_version, a.model,
      d.environment, d.status, d.status_reason, a.external_id, d.properties, a.created_at, a.last_seen_at
    FROM audience a JOIN devices d ON d.app_id = a.app_id AND d.id = a.device_id
    WHERE a.app_id = ${appId}
      ${after ? tx`AND (a.created_at, a.device_id) < (${after.createdAt}, ${after.id})` : tx``}
      ${platform === null ? tx`` : tx`AND a.platform = ${platform}`}
      ${status === null ? tx`` : status === 'active' ? tx`AND a.active` : tx`AND NOT a.active AND d.status = ${status}`}
      ${externalId === null ? tx`` : tx`AND a.external_id = ${externalId}`}
    ORDER BY a.created_at DESC, a.device_id DESC LIMIT ${limit}`;
}

/** Removes a retired key's values, a few devices at a time; how many had one of their own. */
export async function clearDeviceProperty(sql: Sql, appId: Uuid, id: number, limit: number): Promise<number> {
  const result = await sql`
    UPDATE devices SET properties = properties - ${String(id)}::text
    WHERE app_id = ${appId} AND id = ANY(ARRAY(
      SELECT id FROM devices WHERE app_id = ${appId} AND properties ? ${String(id)}::text
      LIMIT ${limit} FOR UPDATE SKIP LOCKED))`;
  return result.count;
}
