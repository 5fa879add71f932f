// A user is erased: profile and link at once, and each device is opted out. The former user id resolves to nothing any more,
// so what deliveries keep of it names nobody; the same external id gets a new one.
import { optOutLocked } from '../devices/opt-out-devices.ts';
import type { Clock } from '../platform/clock.ts';
import { repeatOnDeadlock, type Sql, type Tx, transaction } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { forgetSamples } from '../properties/learn-properties.ts';
import { textsGone } from '../properties/property.ts';
import { lockDevicesOfUser } from './alias-device.ts';
import { deletePerson, deleteUser, lockPerson } from './queries.ts';

/**
 * Undefined: nobody has this external id. Someone whom only events named has no profile and is erased all the same.
 */
export async function eraseUser(
  { sql, clock }: { sql: Sql; clock: Clock },
  appId: Uuid,
  externalId: string,
): Promise<{ devicesRemoved: number } | undefined> {
  return repeatOnDeadlock(() => transaction(sql, (tx) => eraseIn(tx, clock, appId, externalId)));
}

async function eraseIn(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  externalId: string,
): Promise<{ devicesRemoved: number } | undefined> {
  if ((await lockPerson(tx, appId, externalId)) === undefined) return undefined;
  const locked = await lockDevicesOfUser(tx, appId, externalId);
  const devices = locked.map(({ device }) => device);
  await optOutLocked(tx, clock, appId, devices);
  const user = await deleteUser(tx, appId, externalId);
  await deletePerson(tx, appId, externalId);
  // A sample in the catalog may be this person's e-mail address. What they had earlier went when it was replaced.
  const held = [user?.properties ?? {}, ...devices.map((device) => device.properties)];
  await forgetSamples(
    tx,
    appId,
    held.flatMap((properties) => textsGone(properties, {})),
  );
  return { devicesRemoved: devices.length };
}
