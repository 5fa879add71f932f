// A user is erased: profile and link at once, and each device is opted out. The former user id resolves to nothing any more,
// so what deliveries keep of it names nobody; the same external id gets a new one.
import { optOutLocked } from '../devices/opt-out-devices.ts';
import type { Clock } from '../platform/clock.ts';
import { type Sql, type Tx, transaction } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { type StoredProperties, sampleOf } from '../properties/property.ts';
import { deleteSample } from '../properties/queries.ts';
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
  return transaction(sql, async (tx) => {
    if ((await lockPerson(tx, appId, externalId)) === undefined) return undefined;
    const locked = await lockDevicesOfUser(tx, appId, externalId);
    const devices = locked.map(({ device }) => device);
    await optOutLocked(tx, clock, appId, devices);
    const user = await deleteUser(tx, appId, externalId);
    await deletePerson(tx, appId, externalId);
    if (user) await forgetSamples(tx, appId, user.properties);
    return { devicesRemoved: devices.length };
  });
}

// A sample in the catalog may be this person's e-mail address.
async function forgetSamples(tx: Tx, appId: Uuid, properties: StoredProperties): Promise<void> {
  const numbers = Object.keys(properties)
    .map(Number)
    .sort((a, b) => a - b);
  for (const id of numbers) {
    const value = properties[id];
    if (typeof value === 'string') await deleteSample(tx, appId, id, String(sampleOf(value)));
  }
}
