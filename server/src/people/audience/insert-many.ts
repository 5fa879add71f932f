// SQL: the audience rows of many new devices at once, for imports and for filling an app.

import { copyRows, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Platform } from '../../sending/channels/channel.ts';
import type { DeviceFacts } from './device-facts.ts';
import type { ProfileCopy } from './profile-copy.ts';

export interface AudienceRowToAdd {
  readonly deviceId: Uuid;
  readonly platform: Platform;
  readonly facts: DeviceFacts;
  readonly copy: ProfileCopy;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
}

/**
 * Adds the audience rows of devices that are created in this transaction. All copies must have been
 * made with the same slots.
 */
export async function insertAudienceRows(tx: Tx, appId: Uuid, devices: readonly AudienceRowToAdd[]): Promise<void> {
  const [first] = devices;
  if (!first) return;
  // Column names are known words and slots (`slotColumn`), never a caller's text. A column without
  // any value is omitted and becomes null.
  const copied = Object.keys(first.copy.columns).filter((column) =>
    devices.some(({ copy }) => copy.columns[column] !== null),
  );
  await copyRows(
    tx`
      COPY audience (app_id, device_id, platform, active, created_at, last_seen_at, locale, timezone, app_version, sdk, os,
        os_version, model, overflow, ${tx(copied)}) FROM STDIN`,
    devices.map(({ deviceId, platform, facts, copy, createdAt, lastSeenAt }) => [
      ...[appId, deviceId, platform, true, createdAt, lastSeenAt, facts.locale, facts.timezone, facts.appVersion],
      ...[facts.sdk, facts.os, facts.osVersion, facts.model, copy.overflow],
      ...copied.map((column) => copy.columns[column] ?? null),
    ]),
  );
}
