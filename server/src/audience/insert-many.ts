// SQL: the audience rows of many new devices at once, for imports and for filling an app.
import type { Platform } from '../channels/channel.ts';
import { copyRows } from '../database/copy-rows.ts';
import type { Tx } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
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
