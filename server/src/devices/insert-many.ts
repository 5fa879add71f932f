// SQL: many new devices at once, for filling an app. Adds and never changes: a token that has a device keeps it.
import type { Platform } from '../channels/channel.ts';
import type { Tx } from '../platform/db.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import type { StoredProperties } from '../properties/property.ts';
import type { DeviceToken } from './token.ts';

export interface DeviceToAdd {
  readonly id: Uuid;
  readonly platform: Platform;
  readonly token: DeviceToken;
  readonly credentialId: number | null;
  readonly properties: StoredProperties;
  readonly createdAt: Date;
  readonly registeredAt: Date;
  readonly identifiedAt: Date | null;
}

/** Claims the tokens of new devices. Returns the ids of those that got theirs; the others' tokens have a device already. */
export async function insertTokens(
  tx: Tx,
  appId: Uuid,
  devices: readonly Pick<DeviceToAdd, 'id' | 'platform' | 'token'>[],
): Promise<Set<Uuid>> {
  const tokens = devices.map(({ id, platform, token }) => ({
    app_id: appId,
    platform,
    token_hash: hexOf(token.hash),
    device_id: id,
  }));
  const rows = await tx<{ deviceId: Uuid }[]>`
    INSERT INTO device_tokens SELECT * FROM jsonb_populate_recordset(NULL::device_tokens, ${tx.json(tokens)})
    ON CONFLICT DO NOTHING RETURNING device_id`;
  return new Set(rows.map((row) => row.deviceId));
}

/** Adds devices whose tokens were claimed in this transaction, each with the first entry of its history. */
export async function insertDevices(tx: Tx, appId: Uuid, devices: readonly DeviceToAdd[]): Promise<void> {
  const rows = devices.map(({ id, platform, token, credentialId, properties, registeredAt, identifiedAt }) => ({
    app_id: appId,
    id,
    platform,
    token: token.text,
    token_hash: hexOf(token.hash),
    token_hint: token.hint,
    credential_id: credentialId,
    properties,
    status: 'active',
    mismatches: 0,
    registered_at: registeredAt,
    identified_at: identifiedAt,
  }));
  await tx`INSERT INTO devices SELECT * FROM jsonb_populate_recordset(NULL::devices, ${tx.json(rows)})`;
  const changes = devices.map(({ id, platform, createdAt }) => ({
    app_id: appId,
    device_id: id,
    id: mintUuid(createdAt.getTime()),
    at: createdAt,
    platform,
    status: 'active',
  }));
  await tx`INSERT INTO device_changes SELECT * FROM jsonb_populate_recordset(NULL::device_changes, ${tx.json(changes)})`;
}

// The text form that PostgreSQL reads bytes from.
function hexOf(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}
