// Creates or updates many profiles in one transaction, with a few statements for all of them: catalog,
// profiles, links and the copies on the devices. The result is that of the same upserts one after the
// other, in their order. Locks are taken in one order: new keys of the catalog, people, devices, keys
// of the catalog. Concurrent upserts of one user therefore run one after the other. Statements that do
// not depend on each other share a round trip.

import {
  isDatabaseDown,
  isStatementTimeout,
  repeatOnDeadlock,
  type Sql,
  type Tx,
  transaction,
} from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { ApiError, notFound } from '../../ground/http/api-error.ts';
import type { Outcomes } from '../../ground/pacing/together.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { NotAsSeen } from '../../teams/audit/edit-as-seen.ts';
import { type DeviceOfUser, listDevicesOfUsers } from '../audience/queries.ts';
import { devicesPerUserMax } from '../devices/device.ts';
import { lockDevice, lockDeviceUnlessBusy } from '../devices/queries.ts';
import { applyChanges } from '../properties/change-properties.ts';
import { type LearnedProperties, learnManyProperties, recordSightings } from '../properties/learn-properties.ts';
import { noChanges, type Property, type PropertyConflict, type TextGone } from '../properties/property.ts';
import { listSlottedAndNumbered, readCatalog } from '../properties/queries.ts';
import { type FoundUser, listShown } from './find-user.ts';
import { type HeldDevices, type HoldContext, holdDevices } from './hold-devices.ts';
import { lockKnownPeople, mintPeople } from './lock-people.ts';
import { type ChangedName, listChanges, mergeAttributes, type UpsertUser } from './merge-profile.ts';
import {
  findUsers,
  insertUsers,
  listPeople,
  lockPerson,
  lockPersonUnlessBusy,
  type UserWrite,
  updateUsers,
} from './queries.ts';
import { emptyProfile, type User } from './user.ts';

export interface UpsertedUser extends FoundUser {
  readonly created: boolean;
  readonly conflicts: readonly PropertyConflict[];
  /** The fields that differ from the former profile; none for a new one. */
  readonly changes: readonly ChangedName[];
}

export interface UpsertDeps {
  readonly sql: Sql;
  readonly clock: Clock;
}

/**
 * Upserts profiles of one app in their order and returns one outcome for each: the user as it was
 * after this upsert, or the refusal. A refusal is the 400 for too many properties or the 404 for an
 * unknown device; nothing of that upsert is written, and the others are written without it.
 */
export async function upsertUsers(deps: UpsertDeps, requests: readonly UpsertUser[]): Promise<Outcomes<UpsertedUser>> {
  const outcomes = new Map<UpsertUser, PromiseSettledResult<UpsertedUser>>();
  const refuse = (request: UpsertUser, reason: unknown): void => {
    outcomes.set(request, { status: 'rejected', reason });
  };
  for (let left = requests; left.length > 0; left = left.filter((request) => !outcomes.has(request))) {
    try {
      const group = left;
      const answers = await repeatOnDeadlock(() => transaction(deps.sql, (tx) => upsertIn(tx, deps, group)));
      for (const [request, answer] of answers) {
        if (answer instanceof ApiError) refuse(request, answer);
        else outcomes.set(request, { status: 'fulfilled', value: answer });
      }
    } catch (reason) {
      if (reason instanceof UpsertsRefused) for (const [request, refusal] of reason.refusals) refuse(request, refusal);
      else if (left.length === 1 || isDatabaseDown(reason) || isStatementTimeout(reason)) {
        for (const request of left) refuse(request, reason);
      } else {
        // The group is halved until the failing upsert is found.
        const middle = Math.ceil(left.length / 2);
        for (const half of [left.slice(0, middle), left.slice(middle)]) {
          for (const [i, outcome] of (await upsertUsers(deps, half)).entries())
            outcomes.set(half[i] as UpsertUser, outcome);
        }
      }
    }
  }
  return requests.map((request) => outcomes.get(request) ?? noOutcome);
}

const noOutcome: PromiseRejectedResult = { status: 'rejected', reason: new Error('an upsert has no outcome') };

/**
 * Another transaction holds the user, or a device of the upsert. Nothing was written, and a later
 * try may succeed.
 */
export class UserIsHeld extends Error {
  override readonly name = 'UserIsHeld';
  /** The code of PostgreSQL for a lock that is not available. */
  readonly code = '55P03';

  constructor() {
    super('another transaction holds the user or a device of theirs');
  }
}

/** Some upserts are refused. The transaction is undone, and the others begin again without them. */
export class UpsertsRefused extends Error {
  override readonly name = 'UpsertsRefused';
  readonly refusals: ReadonlyMap<UpsertUser, ApiError | UserIsHeld>;

  constructor(refusals: ReadonlyMap<UpsertUser, ApiError | UserIsHeld>) {
    super(`${refusals.size} upserts were refused`);
    this.refusals = refusals;
  }
}

/** A user in the state after the upserts so far. */
interface UserState {
  readonly former: User | undefined;
  readonly createdAt: Date | null;
  write: UserWrite;
  /** Whether the profile is new or differs from the former one after all upserts. */
  isChanged: boolean;
  /** Undefined until a new profile is written. */
  times: Pick<User, 'createdAt' | 'updatedAt'> | undefined;
}

/** An upsert whose properties were learned. */
export interface AcceptedUpsert {
  readonly request: UpsertUser;
  readonly learned: LearnedProperties;
  /** The time of creation of a new profile; absent or null: now. */
  readonly createdAt?: Date | null;
  /**
   * True: when this upsert is refused because it has too many properties, later ones are merged as
   * if those that fit were stored. The caller tries again with these.
   */
  readonly dropsMisfits?: boolean;
}

/** An upsert and the profile that it leaves. */
interface Step extends AcceptedUpsert {
  readonly state: UserState;
  readonly write: UserWrite;
  readonly creates: boolean;
  readonly changes: readonly ChangedName[];
}

export interface MergedUpserts {
  readonly steps: readonly Step[];
  readonly states: readonly UserState[];
  /** The devices of all users. Locked are those that may be written. */
  readonly devices: HeldDevices;
  /** Entries of all stored and changed values, and of all properties with a slot. */
  readonly catalog: ReadonlyMap<number, Property>;
  readonly gone: readonly TextGone[];
}

export interface MergeOptions {
  /** The user ids of people, as read before. */
  readonly known: ReadonlyMap<string, Uuid>;
  /** Whether to wait for a transaction that holds a user or device; otherwise it is a refusal. */
  readonly waits: boolean;
  readonly isAsSeen?: ((former: User) => boolean) | undefined;
  /** The user of each device that is linked. */
  readonly linkedTo: readonly string[];
  /** Further devices to lock. */
  readonly besideIds: readonly Uuid[];
}

/** Does the upserts in the caller's transaction. `isAsSeen`: see `upsertOneIn`. */
async function upsertIn(
  tx: Tx,
  { clock }: Omit<UpsertDeps, 'sql'>,
  requests: readonly UpsertUser[],
  isAsSeen?: (former: User) => boolean,
): Promise<ReadonlyMap<UpsertUser, UpsertedUser | ApiError>> {
  const answers = new Map<UpsertUser, UpsertedUser | ApiError>();
  const appId = requests[0]?.appId ?? '';
  const context = { tx, clock, appId };
  const given = requests.map(({ properties }) => properties ?? noChanges);
  const named = [...new Set(requests.map(idOf))];
  const [many, known] = await Promise.all([learnManyProperties(tx, clock, appId, given), listPeople(tx, appId, named)]);
  const accepted: AcceptedUpsert[] = [];
  for (const [i, request] of requests.entries()) {
    const learned = many.each[i];
    // Nothing is written of an upsert whose keys have no room.
    if (!learned) continue;
    if (learned instanceof ApiError) answers.set(request, learned);
    else accepted.push({ request, learned });
  }
  const links = accepted.filter(({ request }) => request.deviceId !== null);
  const merged = await mergeUpserts(context, accepted, {
    known,
    waits: isAsSeen !== undefined,
    isAsSeen,
    linkedTo: links.map(({ request }) => idOf(request)),
    besideIds: links.flatMap(({ request }) => request.deviceId ?? []),
  });
  const { steps, devices, catalog, gone } = merged;
  refuse(links, ({ request }) => request.deviceId !== null && !devices.find(request.deviceId), notFound);
  const shown: (readonly Uuid[])[] = [];
  for (const { request } of steps) {
    const { externalId, deviceId } = request;
    if (deviceId !== null) await devices.link(externalId, deviceId);
    shown.push(listShown(externalId, devices.list()));
  }
  await writeUpserts(context, merged, isAsSeen !== undefined);
  for (const [i, { request, learned, state, write, creates, changes }] of steps.entries()) {
    const { conflicts } = learned;
    const deviceIds = shown[i] ?? [];
    answers.set(request, { user: userOf(state, write), created: creates, conflicts, catalog, deviceIds, changes });
  }
  await recordSightings(tx, clock, appId, many, gone);
  return answers;
}

/**
 * Locks the users of upserts and their devices, and merges the upserts in memory. Throws
 * `UpsertsRefused` for those that must leave nothing, and for those whose user or device another
 * transaction holds. Throws `NotAsSeen` if the user does not exist or `isAsSeen` refuses the stored
 * profile.
 */
export async function mergeUpserts(
  context: HoldContext,
  accepted: readonly AcceptedUpsert[],
  { known, waits, isAsSeen, linkedTo, besideIds }: MergeOptions,
): Promise<MergedUpserts> {
  const externalIds = [...new Set(accepted.map(({ request }) => idOf(request)))].sort();
  const found = await lockAndRead(context, { externalIds, known, accepted, waits });
  if (isAsSeen && !(found.formers[0] && isAsSeen(found.formers[0]))) throw new NotAsSeen();
  refuse(accepted, ({ request }) => !found.people.has(request.externalId), isHeld);

  const { catalog } = found;
  const states = new Map(found.formers.map((former) => [former.externalId, stateOf(former, former)]));
  const { steps, gone, refusals } = mergeInOrder(accepted, catalog, ({ request: { externalId }, createdAt }) => {
    const id = found.people.get(externalId) ?? '';
    const state = states.get(externalId) ?? stateOf({ id, externalId, ...emptyProfile }, undefined, createdAt);
    states.set(externalId, state);
    return state;
  });
  if (refusals.size > 0) throw new UpsertsRefused(refusals);
  const changed = [...states.values()].filter(({ isChanged }) => isChanged);
  const writtenIds = new Set([...changed.map(({ write }) => idOf(write)), ...listFull(found.devices, linkedTo)]);
  const lock = waits ? lockDevice : lockDeviceUnlessBusy;
  const devices = await holdDevices(context, { ofUsers: found.devices, writtenIds, besideIds, lock });
  const busyDevices = new Set(devices.busy.map(({ deviceId }) => deviceId));
  const busyUsers = new Set(devices.busy.flatMap((each) => each.externalId ?? []).filter((id) => writtenIds.has(id)));
  const isBusy = ({ externalId, deviceId }: UpsertUser): boolean =>
    busyUsers.has(externalId) || (deviceId !== null && busyDevices.has(deviceId));
  refuse(steps, ({ request }) => isBusy(request), isHeld);
  return { steps, states: [...states.values()], devices, catalog, gone };
}

/** Writes the profiles of merged upserts and the links of their devices, and returns the users. */
export async function writeUpserts(
  { tx, clock, appId }: HoldContext,
  { states, devices }: Pick<MergedUpserts, 'states' | 'devices'>,
  skipsUnchanged: boolean,
): Promise<ReadonlyMap<string, User>> {
  const changed = states.filter(({ isChanged }) => isChanged);
  const writing = writeProfiles(tx, clock, appId, skipsUnchanged ? changed : states);
  // A copy contains the time of creation, which the database may choose.
  if (states.some(({ former }) => !former)) await writing;
  const users = new Map(states.map((state) => [idOf(state.write), userOf(state, state.write)]));
  await Promise.all([writing, devices.write(users, new Set(changed.map(({ write }) => idOf(write))))]);
  return users;
}

/** The stored state of the users of some upserts. */
interface Found {
  /** User ids of the locked people. */
  readonly people: ReadonlyMap<string, Uuid>;
  readonly formers: readonly User[];
  readonly devices: readonly DeviceOfUser[];
  /** Entries of all stored and changed values, and of all properties with a slot. */
  readonly catalog: ReadonlyMap<number, Property>;
}

/** Locks the people and reads what is stored of them, in one round trip where all of them are known. */
async function lockAndRead(
  { tx, clock, appId }: HoldContext,
  {
    externalIds,
    known,
    accepted,
    waits,
  }: Pick<MergeOptions, 'known' | 'waits'> & {
    readonly externalIds: readonly string[];
    readonly accepted: readonly AcceptedUpsert[];
  },
): Promise<Found> {
  const minted = await mintPeople(tx, clock, appId, externalIds, known, !waits);
  const old = externalIds.filter((externalId) => !minted.has(externalId));
  const changedNumbers = [...new Set(accepted.flatMap(({ learned }) => [...learned.changes.keys()]))];
  // Each statement after the locks sees the writes of the former holders of the locks.
  const [locked, formers, devices, properties] = await Promise.all([
    lockKnownPeople(tx, appId, old, waits ? lockPerson : lockPersonUnlessBusy),
    old.length === 0 ? [] : findUsers(tx, appId, old),
    old.length === 0 ? [] : listDevicesOfUsers(tx, appId, old),
    listSlottedAndNumbered(tx, appId, changedNumbers),
  ]);
  const catalog = new Map(properties.map((property) => [property.id, property]));
  const stored = new Set(formers.flatMap((former) => Object.keys(former.properties).map(Number)));
  const further = [...stored].filter((number) => !catalog.has(number));
  if (further.length > 0) for (const [id, property] of await readCatalog(tx, appId, further)) catalog.set(id, property);
  return { people: new Map([...minted, ...locked]), formers, devices, catalog };
}

const idOf = ({ externalId }: { readonly externalId: string }): string => externalId;
const isHeld = (): UserIsHeld => new UserIsHeld();

/** Lists the users from whom a link may take another device, to make room. */
function listFull(devices: readonly DeviceOfUser[], linkedTo: readonly string[]): string[] {
  const counts = new Map<string, number>();
  const count = (externalId: string): void => void counts.set(externalId, (counts.get(externalId) ?? 0) + 1);
  for (const externalId of linkedTo) count(externalId);
  for (const { externalId } of devices) if (externalId !== null && counts.has(externalId)) count(externalId);
  return [...counts].flatMap(([externalId, most]) => (most > devicesPerUserMax ? externalId : []));
}

/**
 * Does one upsert in the caller's transaction, and throws its refusal. It waits for a transaction
 * that holds the user. It throws `NotAsSeen` if the user does not exist or `isAsSeen` refuses the
 * stored profile, and does not write an unchanged profile.
 */
export async function upsertOneIn(
  tx: Tx,
  deps: Omit<UpsertDeps, 'sql'>,
  request: UpsertUser,
  isAsSeen: (former: User) => boolean,
): Promise<UpsertedUser> {
  const answers = await upsertIn(tx, deps, [request], isAsSeen).catch((error: unknown) => {
    if (error instanceof UpsertsRefused) return error.refusals;
    throw error;
  });
  const answer = answers.get(request);
  if (answer instanceof Error) throw answer;
  if (!answer) throw noOutcome.reason;
  return answer;
}

function stateOf(write: UserWrite, former?: User, createdAt: Date | null = null): UserState {
  return { former, createdAt, write, isChanged: !former, times: former };
}

function userOf({ times }: UserState, write: UserWrite): User {
  if (!times) throw new Error('a profile has no times before it is written');
  return { ...write, createdAt: times.createdAt, updatedAt: times.updatedAt };
}

/**
 * Merges each request into the state of its user. A request that would leave its user with too many
 * properties is refused.
 */
function mergeInOrder(
  accepted: readonly AcceptedUpsert[],
  catalog: ReadonlyMap<number, Property>,
  findState: (upsert: AcceptedUpsert) => UserState,
): { readonly steps: Step[]; readonly gone: TextGone[]; readonly refusals: Map<UpsertUser, ApiError> } {
  const steps: Step[] = [];
  const gone: TextGone[] = [];
  const refusals = new Map<UpsertUser, ApiError>();
  const begun = new Set<UserState>();
  for (const upsert of accepted) {
    const { request, learned, dropsMisfits = false } = upsert;
    const state = findState(upsert);
    const { id, externalId, properties: former } = state.write;
    const merged = applyChanges(request.properties === null ? {} : former, former, learned, catalog);
    if (merged.refusal) refusals.set(request, merged.refusal);
    if (merged.refusal && !dropsMisfits) continue;
    const write = { id, externalId, ...mergeAttributes(state.write, request), properties: merged.stored };
    const creates = !state.former && !begun.has(state);
    const changes = creates ? [] : listChanges(state.write, write, (number) => catalog.has(number));
    begun.add(state);
    state.write = write;
    gone.push(...merged.gone);
    steps.push({ ...upsert, state, write, creates, changes });
  }
  for (const state of begun) {
    const { former, write } = state;
    state.isChanged = !former || listChanges(former, write, (number) => catalog.has(number)).length > 0;
  }
  return { steps, gone, refusals };
}

/** Throws when some upserts must be refused. */
function refuse<Upsert extends AcceptedUpsert>(
  upserts: readonly Upsert[],
  mustBe: (upsert: Upsert) => boolean,
  refusal: () => ApiError | UserIsHeld,
): void {
  const refused = upserts.filter(mustBe);
  if (refused.length > 0) throw new UpsertsRefused(new Map(refused.map(({ request }) => [request, refusal()])));
}

/** Profiles in one statement, which takes longer than in proportion to their number. */
const updatedAtOnce = 50;

async function writeProfiles(tx: Tx, clock: Clock, appId: Uuid, states: readonly UserState[]): Promise<void> {
  const added = states.filter(({ former }) => !former);
  const known = states.filter(({ former }) => former);
  const parts = Array.from({ length: Math.ceil(known.length / updatedAtOnce) }, (_, i) =>
    known.slice(i * updatedAtOnce, (i + 1) * updatedAtOnce),
  );
  const [createdAts] = await Promise.all([
    insertUsers(
      tx,
      clock,
      appId,
      added.map(({ write, createdAt }) => ({ ...write, createdAt })),
    ),
    ...parts.map(async (part) => {
      const updatedAt = await updateUsers(
        tx,
        clock,
        appId,
        part.map(({ write }) => write),
      );
      for (const state of part) if (state.former) state.times = { createdAt: state.former.createdAt, updatedAt };
    }),
  ]);
  for (const state of added) {
    const createdAt = createdAts.get(state.write.externalId);
    if (createdAt) state.times = { createdAt, updatedAt: createdAt };
  }
}
