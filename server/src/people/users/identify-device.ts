// Links a device to a user or to nobody. The last request wins, and repeating a request changes
// nothing. `identify-proof.ts` checks before whether the caller may do so.

import { repeatOnDeadlock, type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { findLink } from '../devices/queries.ts';
import { linkDevice } from './alias-device.ts';
import { claimPerson } from './claim-person.ts';
import { findUser, insertUsers } from './queries.ts';
import { emptyProfile, type User } from './user.ts';

export interface Identify {
  readonly appId: Uuid;
  readonly deviceId: Uuid;
  /** Null: the device belongs to nobody from now on. */
  readonly externalId: string | null;
  readonly byClient: boolean;
}

export interface IdentifiedDevice {
  readonly userId: Uuid | null;
  /** The former user's external id; null when the device belonged to nobody or nothing changed. */
  readonly previousExternalId: string | null;
  readonly identifiedAt: Date | null;
}

/**
 * Links a device in one transaction; a user without a profile gets an empty one. Returns undefined
 * and writes nothing when there is no such device. Throws the 400 when a client key finds no room
 * among the user's devices.
 */
export async function identifyDevice(
  { sql, clock }: { sql: Sql; clock: Clock },
  { appId, deviceId, externalId, byClient }: Identify,
): Promise<IdentifiedDevice | undefined> {
  // Apps repeat the same link at each start; such a request takes no lock.
  const link = await findLink(sql, appId, deviceId);
  if (!link) return undefined;
  if (link.externalId === externalId) {
    return { userId: link.userId, previousExternalId: null, identifiedAt: link.identifiedAt };
  }
  return repeatOnDeadlock(() =>
    transaction(sql, async (tx) => {
      const user = externalId === null ? null : await claimUser(tx, clock, appId, externalId);
      const { formerExternalId, identifiedAt } = await linkDevice(tx, clock, appId, { deviceId, user, byClient });
      return { userId: user?.id ?? null, previousExternalId: formerExternalId ?? null, identifiedAt };
    }),
  );
}

async function claimUser(tx: Tx, clock: Clock, appId: Uuid, externalId: string): Promise<User> {
  const id = await claimPerson(tx, clock, appId, externalId);
  const known = await findUser(tx, appId, externalId);
  if (known) return known;
  const user = { id, externalId, ...emptyProfile };
  const [createdAt = clock.date()] = (await insertUsers(tx, clock, appId, [{ ...user, createdAt: null }])).values();
  return { ...user, createdAt, updatedAt: createdAt };
}
