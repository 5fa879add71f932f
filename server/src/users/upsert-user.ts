// Creates or updates a profile: catalog, profile, alias and the copy on its devices, in one
// transaction. Concurrent upserts of one user run one after the other; for each key the later value
// wins.
import { listActiveDeviceIdsOfUser } from '../audience/queries.ts';
import { editAsSeen, NotAsSeen } from '../audit/edit-as-seen.ts';
import type { Audited } from '../audit/record-audit.ts';
import type { Clock } from '../database/clock.ts';
import { repeatOnDeadlock, type Sql, type Tx, transaction } from '../database/db.ts';
import { encodeId, type Uuid } from '../ground/ids.ts';
import { changeProperties } from '../properties/change-properties.ts';
import { learnProperties, recordSightings } from '../properties/learn-properties.ts';
import { noChanges, type PropertyChanges, type PropertyConflict, showsSame } from '../properties/property.ts';
import { copyToDevices } from './alias-device.ts';
import { claimPerson } from './claim-person.ts';
import { devicesShownMax, type FoundUser } from './find-user.ts';
import type { NumbersAtHand } from './numbers-at-hand.ts';
import { findUser, insertUser, type UserWrite, updateUser } from './queries.ts';
import type { User } from './user.ts';

/** An absent field keeps the stored value; null clears it. */
export interface UpsertUser {
  readonly appId: Uuid;
  readonly externalId: string;
  readonly firstName: string | null | undefined;
  readonly country: string | null | undefined;
  readonly language: string | null | undefined;
  readonly timezone: string | null | undefined;
  readonly properties: PropertyChanges | null | undefined;
  /** A device to link to the user. */
  readonly deviceId: Uuid | null;
}

export interface UpsertedUser extends FoundUser {
  readonly created: boolean;
  readonly conflicts: readonly PropertyConflict[];
  /** The fields that differ from the former profile; none for a new one. */
  readonly changes: readonly (AttributeName | 'properties')[];
}

/**
 * Creates or updates a profile. Throws the 400 for too many properties and the 404 for an unknown
 * device; then nothing is written.
 */
export async function upsertUser(
  { sql, clock, numbers }: { sql: Sql; clock: Clock; numbers: NumbersAtHand },
  request: UpsertUser,
): Promise<UpsertedUser> {
  return repeatOnDeadlock(() => transaction(sql, (tx) => upsertIn(tx, clock, numbers, request)));
}

/**
 * Edits the profile of a user who is there, in the name of a person. Undefined: there is no such
 * user, or `isAsSeen` refused the stored one. The audit entry names the fields that changed, and no
 * value; without a change there is no entry.
 */
export async function editUser(
  { sql, clock, by }: Audited & { readonly sql: Sql; readonly clock: Clock },
  request: Omit<UpsertUser, 'deviceId'>,
  isAsSeen: (former: User) => boolean,
): Promise<UpsertedUser | undefined> {
  const { appId } = request;
  return editAsSeen(
    { sql, clock, by },
    { appId, action: 'user.edit' },
    (tx) => upsertIn(tx, clock, noNumbers, { ...request, deviceId: null }, isAsSeen),
    ({ user, changes }) => ({
      target: encodeId('usr', user.id),
      fields: changes.map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
    }),
  );
}

/** A user who is there has a number, or gets one from a worker. */
const noNumbers: NumbersAtHand = { next: () => null };

/** With `isAsSeen`, a profile that would stay the same is not written. */
async function upsertIn(
  tx: Tx,
  clock: Clock,
  numbers: NumbersAtHand,
  request: UpsertUser,
  isAsSeen?: (former: User) => boolean,
): Promise<UpsertedUser> {
  const { appId, externalId } = request;
  const given = request.properties ?? noChanges;
  const learned = await learnProperties(tx, clock, { appId, given, mayAdd: true });
  const id = await claimPerson(tx, clock, appId, externalId);
  const former = await findUser(tx, appId, externalId);
  if (isAsSeen && !(former && isAsSeen(former))) throw new NotAsSeen();
  const keepsFormer = request.properties !== null;
  const changed = await changeProperties(tx, appId, former?.properties ?? {}, learned, keepsFormer);
  const write: UserWrite = { id, externalId, ...mergeAttributes(former, request), properties: changed.stored };
  const changes = former ? listChanges(former, write, (number) => changed.catalog.has(number)) : [];
  const isEditOfNothing = isAsSeen !== undefined && changes.length === 0;
  const user = !former
    ? await insertUser(tx, clock, appId, { ...write, number: numbers.next(appId) })
    : isEditOfNothing
      ? former
      : await updateUser(tx, clock, appId, write);
  if (!isEditOfNothing) await copyToDevices(tx, clock, appId, { user, aliasedId: request.deviceId });
  const deviceIds = await listActiveDeviceIdsOfUser(tx, appId, externalId, devicesShownMax);
  await recordSightings(tx, clock, appId, learned, changed.gone);
  return { user, created: !former, conflicts: learned.conflicts, catalog: changed.catalog, deviceIds, changes };
}

function listChanges(former: User, after: UserWrite, isLive: (id: number) => boolean): UpsertedUser['changes'] {
  const names = attributeNames.filter((name) => former[name] !== after[name]);
  return showsSame(former.properties, after.properties, isLive) ? names : [...names, 'properties'];
}

const attributeNames = ['firstName', 'country', 'language', 'timezone'] as const;
type AttributeName = (typeof attributeNames)[number];
export type UserAttributes = Pick<User, AttributeName>;

/** Merges the built-in attributes of a request; an absent one is kept. */
export function mergeAttributes(
  former: UserAttributes | undefined,
  given: Pick<UpsertUser, AttributeName>,
): UserAttributes {
  const merge = (name: AttributeName): string | null => {
    const value = given[name];
    return value === undefined ? (former?.[name] ?? null) : value;
  };
  return {
    firstName: merge('firstName'),
    country: merge('country'),
    language: merge('language'),
    timezone: merge('timezone'),
  };
}
