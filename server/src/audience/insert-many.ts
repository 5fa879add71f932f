// SQL: the audience rows of many new devices at once, for filling an app.
import type { Platform } from '../channels/channel.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
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

/** Adds the rows of devices that are new in this transaction. */
export async function insertAudienceRows(tx: Tx, appId: Uuid, devices: readonly AudienceRowToAdd[]): Promise<void> {
  const rows = devices.map(({ deviceId, platform, facts, copy, createdAt, lastSeenAt }) => ({
    app_id: appId,
    device_id: deviceId,
    platform,
    active: true,
    created_at: createdAt,
    last_seen_at: lastSeenAt,
    locale: facts.locale,
    timezone: facts.timezone,
    app_version: facts.appVersion,
    sdk: facts.sdk,
    os: facts.os,
    os_version: facts.osVersion,
    model: facts.model,
    ...copy.columns,
    overflow: copy.overflow,
  }));
  // Rows are named by columns: slots that a row does not use are absent and read as null.
  await tx`INSERT INTO audience SELECT * FROM jsonb_populate_recordset(NULL::audience, ${tx.json(rows as never)})`;
}
