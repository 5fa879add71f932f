// SQL: many new devices at once, for imports and for filling an app. Adds rows and never changes
// one: a token that has a device keeps it.

import { copyRows, listValues, type Tx } from '@carillon/postgres';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import type { Environment, Platform } from '../../sending/channels/channel.ts';
import type { StoredProperties } from '../properties/property.ts';
import { totalChanges } from './device-totals.ts';
import type { DeviceToken } from './token.ts';
import { addDeviceDeltas } from './totals-queries.ts';

export interface DeviceToAdd {
  readonly id: Uuid;
  readonly platform: Platform;
  readonly token: DeviceToken;
  readonly credentialId: number | null;
  readonly properties: StoredProperties;
  readonly createdAt: Date;
  readonly registeredAt: Date;
  readonly identifiedAt: Date | null;
  /** The environment that an iOS device reports for itself. */
  readonly environment?: Environment | null;
  /** Whether a push has reached the device before. Default: unknown. */
  readonly isReached?: boolean;
}

/**
 * Claims the tokens of new devices. Returns the ids of the devices that got theirs; the tokens of
 * all others belong to a device already.
 */
export async function insertTokens(
  tx: Tx,
  appId: Uuid,
  devices: readonly Pick<DeviceToAdd, 'id' | 'platform' | 'token'>[],
): Promise<Set<Uuid>> {
  const hashed = devices.map(({ id, platform, token }) => ({ id, platform, hash: token.hash.toString('hex') }));
  const ids = await listValues<Uuid>(tx`
    INSERT INTO device_tokens (app_id, platform, token_hash, device_id)
    SELECT ${appId}, t.platform, decode(t.hash, 'hex'), t.id
    FROM ${tx.rows('t', { text: ['platform', 'hash'], uuid: ['id'] }, hashed)}
    ON CONFLICT DO NOTHING RETURNING device_id`);
  return new Set(ids);
}

/**
 * Adds devices whose tokens were claimed in this transaction, each with the first entry of its
 * history.
 */
export async function insertDevices(tx: Tx, appId: Uuid, devices: readonly DeviceToAdd[]): Promise<void> {
  if (devices.length === 0) return;
  await copyRows(
    tx`
      COPY devices (app_id, id, platform, token, token_hash, token_hint, credential_id, environment, properties, status,
        registered_at, identified_at, is_reached) FROM STDIN`,
    devices.map((device) => {
      const { id, platform, token, credentialId, properties, registeredAt, identifiedAt } = device;
      const { environment = null, isReached = false } = device;
      return [
        ...[appId, id, platform, token.text, token.hash, token.hint, credentialId, environment, properties, 'active'],
        ...[registeredAt, identifiedAt, isReached],
      ];
    }),
  );
  await copyRows(
    tx`COPY device_changes (app_id, device_id, id, at, platform, status) FROM STDIN`,
    devices.map(({ id, platform, createdAt }) => {
      return [appId, id, mintUuid(createdAt.getTime()), createdAt, platform, 'active'];
    }),
  );
  const registered = devices.map(({ platform, createdAt: at }) => {
    return { at, platform, status: 'active' as const, former: null };
  });
  await addDeviceDeltas(tx, appId, totalChanges(registered));
}
