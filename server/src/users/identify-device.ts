// A device is told to be a user's, or nobody's any more. The last to say so wins; saying the same again changes nothing. Whether
// whoever says so may is judged before (`identify-proof.ts`).
import { findLink } from '../devices/queries.ts';
import type { Clock } from '../platform/clock.ts';
import { repeatOnDeadlock, type Sql, type Tx, transaction } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { linkDevice } from './alias-device.ts';
import { claimPerson } from './claim-person.ts';
import type { NumbersAtHand } from './numbers-at-hand.ts';
import { findUser, insertUser } from './queries.ts';
import type { User } from './user.ts';

export interface Identify {
  readonly appId: Uuid;
  readonly deviceId: Uuid;
  /** Null: it is nobody's any more. */
  readonly externalId: string | null;
  readonly byClient: boolean;
}

export interface IdentifiedDevice {
  readonly userId: Uuid | null;
  /** Whose it was until now; null when nobody's, or when nothing changed. */
  readonly previousExternalId: string | null;
  readonly identifiedAt: Date | null;
}

/**
 * Links a device, in one transaction; a user that is not there yet gets an empty profile. Undefined: there is no such device, and
 * nothing is written. Throws the 400 where a client key finds no room among the devices of the user.
 */
export async function identifyDevice(
  { sql, clock, numbers }: { sql: Sql; clock: Clock; numbers: NumbersAtHand },
  { appId, deviceId, externalId, byClient }: Identify,
): Promise<IdentifiedDevice | undefined> {
  // An app says the same at each start: that locks nothing.
  const link = await findLink(sql, appId, deviceId);
  if (!link) return undefined;
  if (link.externalId === externalId) {
    return { userId: link.userId, previousExternalId: null, identifiedAt: link.identifiedAt };
  }
  return repeatOnDeadlock(() =>
    transaction(sql, async (tx) => {
      const user = externalId === null ? null : await claimUser(tx, clock, numbers, appId, externalId);
      const { formerExternalId, identifiedAt } = await linkDevice(tx, clock, appId, { deviceId, user, byClient });
      return { userId: user?.id ?? null, previousExternalId: formerExternalId ?? null, identifiedAt };
    }),
  );
}

async function claimUser(tx: Tx, clock: Clock, numbers: NumbersAtHand, appId: Uuid, externalId: string): Promise<User> {
  const id = await claimPerson(tx, clock, appId, externalId);
  const nothing = { firstName: null, country: null, language: null, timezone: null, properties: {} };
  const known = await findUser(tx, appId, externalId);
  return known ?? insertUser(tx, clock, appId, { id, number: numbers.next(appId), externalId, ...nothing });
}
