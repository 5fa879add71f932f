// SQL: an app's devices, page by page.

import { beginsWith, findRow, type Sql, type Tx } from '@carillon/postgres';
import { decodeId, type Uuid } from '../../ground/values/ids.ts';
import type { Environment, Platform } from '../../sending/channels/channel.ts';
import type { DeviceFacts } from '../audience/device-facts.ts';
import type { StoredProperties } from '../properties/property.ts';
import type { DeviceStatus, InvalidReason } from './device.ts';

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

/** A device including its token and credential. */
export interface WholeDevice extends ListedDevice {
  readonly token: string | null;
  readonly credentialId: number | null;
}

/** A device as its page shows it. */
export interface ShownDevice extends ListedDevice {
  /** The number of the credential with which it registered; null: it named none. */
  readonly credentialId: number | null;
  /** The last change of the fields that a person may edit. */
  readonly updatedAt: Date;
}

/** Lists an app's devices in the order of ids, after one. */
export async function listWholeDevices(
  sql: Sql,
  appId: Uuid,
  afterId: Uuid | null,
  limit: number,
): Promise<WholeDevice[]> {
  return sql`
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
  /** An id, or the beginning of the external id of a device's user. */
  readonly search?: string | null;
}

/**
 * Finds one device of the app. One statement reads its values and their time, so that the time
 * always belongs to these values.
 */
export async function findShownDevice(sql: Sql, appId: Uuid, id: Uuid): Promise<ShownDevice | undefined> {
  return findRow(sql`
    SELECT d.id, d.platform, d.token_hint, a.locale, a.timezone, a.app_version, a.sdk, a.os, a.os_version, a.model,
      d.environment, d.status, d.status_reason, a.external_id, d.properties, a.created_at, a.last_seen_at,
      d.credential_id, coalesce(d.changed_at, a.created_at) AS updated_at
    FROM audience a JOIN devices d ON d.app_id = a.app_id AND d.id = a.device_id
    WHERE a.app_id = ${appId} AND a.device_id = ${id}`);
}

/** Lists an app's devices, newest first, after a position. */
export async function listDevices(
  tx: Tx,
  appId: Uuid,
  filters: DeviceFilters,
  after: { createdAt: Date; id: Uuid } | null,
  limit: number,
): Promise<ListedDevice[]> {
  const { platform, status, externalId, search = null } = filters;
  const id = search === null ? undefined : decodeId('dev', search);
  const found =
    id === undefined
      ? tx`a.external_id IN (SELECT external_id FROM users
          WHERE app_id = ${appId} AND ${beginsWith(tx, tx`lower(external_id)`, search ?? '')})`
      : tx`a.device_id = ${id}`;
  // `active` means the same as the status and stands in the table that is scanned; the index on
  // inactive rows serves the rare statuses.
  return tx`
    SELECT d.id, d.platform, d.token_hint, a.locale, a.timezone, a.app_version, a.sdk, a.os, a.os_version, a.model,
      d.environment, d.status, d.status_reason, a.external_id, d.properties, a.created_at, a.last_seen_at
    FROM audience a JOIN devices d ON d.app_id = a.app_id AND d.id = a.device_id
    WHERE a.app_id = ${appId}
      ${after ? tx`AND (a.created_at, a.device_id) < (${after.createdAt}, ${after.id})` : tx``}
      ${platform === null ? tx`` : tx`AND a.platform = ${platform}`}
      ${status === null ? tx`` : status === 'active' ? tx`AND a.active` : tx`AND NOT a.active AND d.status = ${status}`}
      ${externalId === null ? tx`` : tx`AND a.external_id = ${externalId}`}
      ${search === null ? tx`` : tx`AND ${found}`}
    ORDER BY a.created_at DESC, a.device_id DESC LIMIT ${limit}`;
}
