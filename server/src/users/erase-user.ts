// A user is erased: profile and links at once, and each device is opted out and loses what it held of its own. The former user id
// resolves to nothing any more, so what deliveries keep of it names nobody; the same external id gets a new one. What other
// tables still name is cleared afterwards, within the day (`erasures.ts`).

import { type Audited, recordAudit } from '../audit/record-audit.ts';
import { deleteFormerLinksOfUser } from '../devices/link-queries.ts';
import { optOutLocked } from '../devices/opt-out-devices.ts';
import { clearOwnProperties } from '../devices/queries.ts';
import type { Clock } from '../platform/clock.ts';
import { repeatOnDeadlock, type Sql, type Tx, transaction } from '../platform/db.ts';
import { encodeId, mintUuid, type Uuid } from '../platform/ids.ts';
import { forgetSamples } from '../properties/learn-properties.ts';
import { textsGone } from '../properties/property.ts';
import { lockDevicesOfUser } from './alias-device.ts';
import { insertErasure } from './erasure-queries.ts';
import { deletePerson, deleteUser, lockPerson } from './queries.ts';

/**
 * Undefined: nobody has this external id. Someone whom only events named has no profile and is erased all the same.
 */
export async function eraseUser(
  deps: EraseDeps,
  appId: Uuid,
  externalId: string,
): Promise<{ devicesRemoved: number } | undefined> {
  return repeatOnDeadlock(() => transaction(deps.sql, (tx) => eraseIn(tx, deps, appId, externalId)));
}

interface EraseDeps extends Audited {
  readonly sql: Sql;
  readonly clock: Clock;
}

async function eraseIn(
  tx: Tx,
  deps: EraseDeps,
  appId: Uuid,
  externalId: string,
): Promise<{ devicesRemoved: number } | undefined> {
  const { clock } = deps;
  const userId = await lockPerson(tx, appId, externalId);
  if (userId === undefined) return undefined;
  const locked = await lockDevicesOfUser(tx, appId, externalId);
  const devices = locked.map(({ device }) => device);
  const deviceIds = devices.map(({ id }) => id);
  await clearOwnProperties(tx, appId, deviceIds);
  const emptied = devices.map((device) => ({ ...device, properties: {} }));
  await optOutLocked(tx, clock, appId, emptied);
  await deleteFormerLinksOfUser(tx, clock, appId, userId);
  const user = await deleteUser(tx, appId, externalId);
  await deletePerson(tx, appId, externalId);
  const forgottenIds = deviceIds.map(() => mintUuid(clock.nowMs()));
  await insertErasure(tx, { appId, userId, deviceIds, forgottenIds, at: clock.date() });
  // A sample in the catalog may be this person's e-mail address. What they had earlier went when it was replaced.
  const held = [user?.properties ?? {}, ...devices.map((device) => device.properties)];
  await forgetSamples(
    tx,
    appId,
    held.flatMap((properties) => textsGone(properties, {})),
  );
  // By the former id, which names nobody any more.
  const [target, before] = [encodeId('usr', userId), { devices: devices.length }];
  await recordAudit({ ...deps, tx }, { appId, action: 'user.erase', target, before });
  return { devicesRemoved: devices.length };
}
