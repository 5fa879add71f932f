// Erases a user. The profile and the links are deleted at once; each device is opted out and loses
// its own properties. The former user id then resolves to nothing, so deliveries that still hold it
// name nobody; the same external id gets a new user id. `erasures.ts` clears the remaining tables
// within the day.

import { repeatOnDeadlock, type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import { type Audited, recordAudit } from '../../teams/audit/record-audit.ts';
import { listDevicesOfUsers } from '../audience/queries.ts';
import { deleteFormerLinksOfUser } from '../devices/link-queries.ts';
import { optOutLocked } from '../devices/opt-out-devices.ts';
import { clearOwnProperties } from '../devices/queries.ts';
import { forgetSamples } from '../properties/learn-properties.ts';
import { textsGone } from '../properties/property.ts';
import { insertErasure, lockDraftsNamingUsers, updateDraftMessage } from './erasure-queries.ts';
import { holdDevices } from './hold-devices.ts';
import { deletePerson, deleteUser, lockPerson } from './queries.ts';
import { forgetTestUser } from './test-user-queries.ts';

/**
 * Returns undefined when nobody has this external id. A person that only events named has no
 * profile and is erased in the same way.
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
  const theirs = await listDevicesOfUsers(tx, appId, [externalId]);
  const locked = await holdDevices({ tx, clock, appId }, { ofUsers: theirs, writtenIds: new Set([externalId]) });
  // Devices that went to another user meanwhile are omitted.
  const devices = theirs
    .flatMap(({ deviceId }) => locked.find(deviceId) ?? [])
    .flatMap(({ device, row }) => (row.externalId === externalId ? device : []));
  const deviceIds = devices.map(({ id }) => id);
  await clearOwnProperties(tx, clock, appId, deviceIds);
  const emptied = devices.map((device) => ({ ...device, properties: {} }));
  await optOutLocked(tx, clock, appId, emptied);
  await deleteFormerLinksOfUser(tx, clock, appId, userId);
  const user = await deleteUser(tx, appId, externalId);
  await deletePerson(tx, appId, externalId);
  await forgetTestUser(tx, appId, externalId);
  await forgetInDrafts(tx, appId, externalId);
  const forgottenIds = deviceIds.map(() => mintUuid(clock.nowMs()));
  await insertErasure(tx, { appId, userId, deviceIds, forgottenIds, at: clock.date() });
  // A sample in the catalog may be this person's e-mail address. Samples of the person's earlier
  // values were deleted when the values were replaced.
  const held = [user?.properties ?? {}, ...devices.map((device) => device.properties)];
  await forgetSamples(
    tx,
    appId,
    held.flatMap((properties) => textsGone(properties, {})),
  );
  // The audit log gets the former user id, which names nobody any more.
  const [target, before] = [encodeId('usr', userId), { devices: devices.length }];
  await recordAudit({ ...deps, tx }, { appId, action: 'user.erase', target, before });
  return { devicesRemoved: devices.length };
}

/** Takes the person out of the audiences of drafts, which may name users. */
async function forgetInDrafts(tx: Tx, appId: Uuid, externalId: string): Promise<void> {
  for (const { id, message } of await lockDraftsNamingUsers(tx, appId)) {
    const { external_ids: ids } = message.audience;
    if (!Array.isArray(ids) || !ids.includes(externalId)) continue;
    const audience = { ...message.audience, external_ids: ids.filter((each) => each !== externalId) };
    await updateDraftMessage(tx, appId, { id, message: { ...message, audience } });
  }
}
