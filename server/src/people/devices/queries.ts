// SQL: devices and their tokens. One token belongs to one device.

import { type Fragment, findRow, findValue, listValues, type Sql, type Tx } from '@carillon/postgres';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Environment, Platform } from '../../sending/channels/channel.ts';
import type { StoredProperties } from '../properties/property.ts';
import type { Device } from './device.ts';
import type { DeviceToken } from './token.ts';

/**
 * Finds the device of a token and locks the token, so that no transaction moves it to another
 * device meanwhile.
 */
export async function lockToken(tx: Tx, appId: Uuid, platform: Platform, hash: Buffer): Promise<Uuid | undefined> {
  return findValue(tx`
    SELECT device_id FROM device_tokens
    WHERE app_id = ${appId} AND platform = ${platform} AND token_hash = ${hash} FOR UPDATE`);
}

/** Like `lockToken`, but skips a token that another transaction has locked. */
export async function lockTokenUnlessBusy(
  tx: Tx,
  appId: Uuid,
  platform: Platform,
  hash: Buffer,
): Promise<Uuid | undefined> {
  return findValue(tx`
    SELECT device_id FROM device_tokens
    WHERE app_id = ${appId} AND platform = ${platform} AND token_hash = ${hash} FOR UPDATE SKIP LOCKED`);
}

/**
 * Claims a token for a device; returns false when it is taken. Waits for a transaction that claims
 * it.
 */
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

/** Assigns a locked token to a device. */
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

/** Deletes a locked token. */
export async function deleteToken(tx: Tx, appId: Uuid, platform: Platform, hash: Buffer): Promise<void> {
  await tx`DELETE FROM device_tokens WHERE app_id = ${appId} AND platform = ${platform} AND token_hash = ${hash}`;
}

const lockedColumns = (tx: Tx): Fragment => tx`
  id, platform, token, token_hash, credential_id, environment, status, properties, changed_at`;

/** Locks one device. Every transaction that writes the device's audience row holds this lock. */
export async function lockDevice(tx: Tx, appId: Uuid, id: Uuid): Promise<Device | undefined> {
  return findRow(tx`
    SELECT ${lockedColumns(tx)} FROM devices WHERE app_id = ${appId} AND id = ${id} FOR UPDATE`);
}

/** Like `lockDevice`, but skips a device that another transaction has locked. */
export async function lockDeviceUnlessBusy(tx: Tx, appId: Uuid, id: Uuid): Promise<Device | undefined> {
  return findRow(tx`
    SELECT ${lockedColumns(tx)} FROM devices WHERE app_id = ${appId} AND id = ${id} FOR UPDATE SKIP LOCKED`);
}

/**
 * Locks devices in the order of their ids. A transaction that changes devices by several statements
 * calls it first: each statement would lock its own devices, and no order would span them all.
 */
export async function lockDevicesById(tx: Tx, appId: Uuid, ids: Iterable<Uuid>): Promise<void> {
  // One statement for each, because a distributed database locks rows on one shard only. The
  // statements are sent together, so that none waits for the answer to another.
  const inOrder = [...new Set(ids)].sort();
  await Promise.all(inOrder.map((id) => tx`SELECT 1 FROM devices WHERE app_id = ${appId} AND id = ${id} FOR UPDATE`));
}

/**
 * Finds the token that a refresh must prove to know; undefined when there is no such device. Takes
 * no lock.
 */
export async function findTokenOf(
  tx: Tx,
  appId: Uuid,
  id: Uuid,
): Promise<{ platform: Platform; token: string | null; tokenHash: Buffer } | undefined> {
  return findRow(tx`
    SELECT platform, token, token_hash FROM devices WHERE app_id = ${appId} AND id = ${id}`);
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
  device: DeviceWrite & { readonly platform: Platform; readonly byClient: boolean },
): Promise<void> {
  const { appId, id, platform, token, credentialId, environment, properties, byClient } = device;
  await tx`
    INSERT INTO devices (app_id, id, platform, token, token_hash, token_hint, credential_id, environment, properties, status,
      registered_at, by_client)
    VALUES (${appId}, ${id}, ${platform}, ${token.text}, ${token.hash}, ${token.hint}, ${credentialId}, ${environment},
      ${tx.json(properties)}, 'active', ${nowOf(tx, clock)}, ${byClient})`;
}

/**
 * The next `changed_at` of a device. It is later than the former one and than the registration, so
 * that two states of one millisecond have different times.
 */
const nextChange = (tx: Tx, clock: Clock): Fragment => tx`
  greatest(${nowOf(tx, clock)}, changed_at, registered_at) + interval '1 millisecond'`;

/** Deletes the results that are about a former token or environment. */
const forgetResults = (tx: Tx): Fragment => tx`
  environment_found = NULL, mismatches = 0, unresolved_messages = 0, unresolved_since = NULL`;

/** The effects of a write on the state of its device. */
interface WriteEffects {
  /**
   * True when the device has another token or environment, or becomes active. Former results are
   * then deleted.
   */
  readonly startsAnew: boolean;
  /** True when a field that a person may edit differs. */
  readonly isChanged: boolean;
}

/**
 * Stores that a locked device registered again. With `keepsToken`, a token that is stored stays as
 * it is.
 */
export async function updateRegistration(
  tx: Tx,
  clock: Clock,
  device: DeviceWrite & WriteEffects & { readonly keepsToken: boolean },
): Promise<void> {
  const { appId, id, token, credentialId, environment, properties, startsAnew, isChanged, keepsToken } = device;
  await tx`
    UPDATE devices SET
      token = ${keepsToken ? tx`coalesce(token, ${token.text})` : tx`${token.text}`}, token_hash = ${token.hash}, token_hint = ${token.hint}, credential_id = ${credentialId},
      environment = ${environment}, properties = ${tx.json(properties)},
      status = 'active', status_reason = NULL, registered_at = ${nowOf(tx, clock)}
      ${startsAnew ? tx`, ${forgetResults(tx)}` : tx``} ${isChanged ? tx`, changed_at = ${nextChange(tx, clock)}` : tx``}
    WHERE app_id = ${appId} AND id = ${id}`;
}

/**
 * Corrects what is stored of a locked device; its token, its status and the time of its
 * registration stay.
 */
export async function updateKnown(
  tx: Tx,
  clock: Clock,
  device: WriteEffects & {
    readonly appId: Uuid;
    readonly id: Uuid;
    readonly environment: Environment | null;
    readonly properties: StoredProperties;
    /** Used only when the device is bound to no credential. */
    readonly credentialId: number | null;
  },
): Promise<void> {
  const { appId, id, environment, properties, credentialId, startsAnew, isChanged } = device;
  await tx`
    UPDATE devices SET properties = ${tx.json(properties)}, credential_id = coalesce(credential_id, ${credentialId}::smallint),
      environment = ${environment}::text
      ${startsAnew ? tx`, ${forgetResults(tx)}` : tx``} ${isChanged ? tx`, changed_at = ${nextChange(tx, clock)}` : tx``}
    WHERE app_id = ${appId} AND id = ${id}`;
}

/** Retires a locked device whose token has moved to another device. */
export async function updateReplaced(tx: Tx, appId: Uuid, id: Uuid): Promise<void> {
  await tx`
    UPDATE devices SET status = 'invalid', status_reason = 'replaced', token = NULL, token_hint = NULL
    WHERE app_id = ${appId} AND id = ${id}`;
}

/**
 * Opts locked devices out. The hashes of their tokens stay, so that the same token finds the same
 * device. An edit that was opened before is refused.
 */
export async function updateUnsubscribed(tx: Tx, clock: Clock, appId: Uuid, ids: readonly Uuid[]): Promise<void> {
  await tx`
    UPDATE devices SET status = 'unsubscribed', status_reason = NULL, token = NULL, token_hint = NULL, mismatches = 0,
      identified_at = NULL,
      changed_at = CASE WHEN status = 'unsubscribed' THEN changed_at ELSE ${nextChange(tx, clock)} END
    WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[])`;
}

/** Deletes the own properties of locked devices. */
export async function clearOwnProperties(tx: Tx, clock: Clock, appId: Uuid, ids: readonly Uuid[]): Promise<void> {
  await tx`
    UPDATE devices SET properties = '{}', changed_at = ${nextChange(tx, clock)}
    WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) AND properties <> '{}'`;
}

/** Stores that locked devices belong to users from now on, and returns the instant. */
export async function updateIdentified(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  ids: readonly Uuid[],
): Promise<Date | undefined> {
  return findValue(tx`
    UPDATE devices SET identified_at = ${nowOf(tx, clock)}
    WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) RETURNING identified_at`);
}

/** Stores that locked devices belong to nobody from now on. */
export async function updateUnidentified(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<void> {
  await tx`
    UPDATE devices SET identified_at = NULL WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[])`;
}

/** Selects the devices that a push or receipt has reached. */
export async function listReached(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<ReadonlySet<Uuid>> {
  const reached = await listValues<Uuid>(tx`
    SELECT id FROM devices WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) AND is_reached`);
  return new Set(reached);
}

/** A device's user. */
export interface DeviceLink {
  readonly externalId: string | null;
  readonly userId: Uuid | null;
  readonly identifiedAt: Date | null;
}

/** Finds the user of a device; undefined when there is no such device. */
export async function findLink(tx: Tx, appId: Uuid, id: Uuid): Promise<DeviceLink | undefined> {
  return findRow(tx`
    SELECT a.external_id, a.user_id, d.identified_at
    FROM devices d JOIN audience a ON a.app_id = d.app_id AND a.device_id = d.id
    WHERE d.app_id = ${appId} AND d.id = ${id}`);
}

/**
 * Finds since when these devices belong to their users; devices that belong to nobody are omitted.
 */
export async function listIdentifiedAt(sql: Sql, appId: Uuid, ids: readonly Uuid[]): Promise<Map<Uuid, Date>> {
  const rows = await sql<{ id: Uuid; identifiedAt: Date }[]>`
    SELECT id, identified_at FROM devices
    WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) AND identified_at IS NOT NULL`;
  return new Map(rows.map((row) => [row.id, row.identifiedAt]));
}

/**
 * Deletes a retired key's values from up to `limit` devices, and returns how many had one of their
 * own. `changed_at` stays, because an edit that was opened before sends only changed values. If it
 * changes a value of the deleted key, the key is added to the catalog again, as by any request.
 */
export async function clearDeviceProperty(sql: Sql, appId: Uuid, id: number, limit: number): Promise<number> {
  const result = await sql`
    UPDATE devices SET properties = properties - ${String(id)}::text
    WHERE app_id = ${appId} AND id = ANY(ARRAY(
      SELECT id FROM devices WHERE app_id = ${appId} AND properties ? ${String(id)}::text
      LIMIT ${limit} FOR UPDATE SKIP LOCKED))`;
  return result.count;
}
