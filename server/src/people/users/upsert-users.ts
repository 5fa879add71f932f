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
import { writeCopies } from '../audience/write-copies.ts';
import type { Device } from '../devices/device.ts';
import { lockDevice, lockDeviceUnlessBusy } from '../devices/queries.ts';
import { applyChanges } from '../properties/change-properties.ts';
import { learnManyProperties, recordManySightings } from '../properties/learn-many.ts';
import type { LearnedProperties } from '../properties/learn-properties.ts';
import { noChanges, type Property, type PropertyConflict, type TextGone } from '../properties/property.ts';
import { listSlottedAndNumbered, readCatalog } from '../properties/queries.ts';
import { type FoundUser, listShown } from './find-user.ts';
import { holdDevices } from './hold-devices.ts';
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
import type { User } from './user.ts';

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
class UpsertsRefused extends Error {
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
  write: UserWrite;
  isChanged: boolean;
  /** Undefined until a new profile is written. */
  times: Pick<User, 'createdAt' | 'updatedAt'> | undefined;
}

interface Accepted {
  readonly request: UpsertUser;
  readonly learned: LearnedProperties;
}

/** An upsert and the profile that it leaves. */
interface Step extends Accepted {
  readonly state: UserState;
  readonly write: UserWrite;
  readonly creates: boolean;
  readonly changes: readonly ChangedName[];
}

/**
 * Does the upserts in the caller's transaction. Throws `UpsertsRefused` for those that must leave
 * nothing, and for those whose user or device another transaction holds. With `isAsSeen` it waits
 * for such a transaction instead. It then throws `NotAsSeen` if the user does not exist or
 * `isAsSeen` refuses the stored profile, and does not write an unchanged profile.
 */
async function upsertIn(
  tx: Tx,
  { clock }: Omit<UpsertDeps, 'sql'>,
  requests: readonly UpsertUser[],
  isAsSeen?: (former: User) => boolean,
): Promise<ReadonlyMap<UpsertUser, UpsertedUser | ApiError>> {
  const answers = new Map<UpsertUser, UpsertedUser | ApiError>();
  const appId = requests[0]?.appId ?? '';
  const given = requests.map(({ properties }) => properties ?? noChanges);
  const named = [...new Set(requests.map(({ externalId }) => externalId))];
  const [many, known] = await Promise.all([learnManyProperties(tx, clock, appId, given), listPeople(tx, appId, named)]);
  const accepted: Accepted[] = [];
  for (const [i, request] of requests.entries()) {
    const learned = many.each[i];
    // Nothing is written of an upsert whose keys have no room.
    if (!learned) continue;
    if ('error' in learned) answers.set(request, learned.error);
    else accepted.push({ request, learned });
  }
  const externalIds = [...new Set(accepted.map(({ request }) => request.externalId))].sort();
  const found = await lockAndRead(tx, clock, appId, { externalIds, known, accepted, waits: isAsSeen !== undefined });
  if (isAsSeen && !(found.formers[0] && isAsSeen(found.formers[0]))) throw new NotAsSeen();
  refuse(accepted, ({ request }) => !found.people.has(request.externalId), isHeld);

  const { catalog } = found;
  const states = new Map(found.formers.map((former) => [former.externalId, stateOf(former, former)]));
  const { steps, gone, refusals } = mergeInOrder(accepted, catalog, (externalId) => {
    const id = found.people.get(externalId) ?? '';
    const state = states.get(externalId) ?? stateOf({ id, externalId, ...emptyProfile });
    states.set(externalId, state);
    return state;
  });
  const changed = [...states.values()].filter(({ isChanged }) => isChanged);
  const links = steps.filter(({ request }) => request.deviceId !== null);
  // A link may unlink other devices of its user, to make room.
  const writtenIds = new Set([...changed.map(({ write }) => write), ...links.map(({ request }) => request)].map(idOf));
  const devices = await holdDevices(
    { tx, clock, appId },
    found.devices,
    [...writtenIds],
    links.flatMap(({ request }) => request.deviceId ?? []),
    isAsSeen ? lockDevice : lockDeviceUnlessBusy,
  );
  const busyIds = new Set<string | null>(devices.busy.flatMap(({ deviceId, externalId }) => [deviceId, externalId]));
  refuse(steps, ({ request }) => busyIds.has(request.deviceId) || isBusy(request, writtenIds, busyIds), isHeld);
  refuse(links, ({ request }) => request.deviceId !== null && !devices.has(request.deviceId), notFound);
  if (refusals.size > 0) throw new UpsertsRefused(refusals);

  const copyTo = (state: UserState, to: readonly Device[]): Promise<void> => {
    const user = userOf(state, state.write);
    return writeCopies(tx, appId, { profile: { ...user, userId: user.id }, devices: to, slotted: devices.slotted });
  };
  await Promise.all([
    writeProfiles(tx, clock, appId, isAsSeen ? changed : [...states.values()]),
    ...changed.map((state) => {
      const to = devices.listLocked(state.write.externalId);
      return to.length > 0 ? copyTo(state, to) : undefined;
    }),
  ]);
  for (const { request, learned, state, write, creates, changes } of steps) {
    const { externalId, deviceId } = request;
    if (deviceId !== null) await devices.link(externalId, deviceId, (device) => copyTo(state, [device]));
    const deviceIds = listShown(externalId, devices.list());
    const { conflicts } = learned;
    answers.set(request, { user: userOf(state, write), created: creates, conflicts, catalog, deviceIds, changes });
  }
  await recordManySightings(tx, clock, appId, many, gone);
  return answers;
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
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  {
    externalIds,
    known,
    accepted,
    waits,
  }: {
    readonly externalIds: readonly string[];
    readonly known: ReadonlyMap<string, Uuid>;
    readonly accepted: readonly Accepted[];
    readonly waits: boolean;
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

/** Whether another transaction holds a device that the upsert of this user may write. */
function isBusy({ externalId }: UpsertUser, writtenIds: ReadonlySet<string>, busyIds: ReadonlySet<string | null>) {
  return writtenIds.has(externalId) && busyIds.has(externalId);
}

/** Does one upsert in the caller's transaction, and throws its refusal. */
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

const emptyProfile = { firstName: null, country: null, language: null, timezone: null, properties: {} };

function stateOf(write: UserWrite, former?: User): UserState {
  return { former, write, isChanged: !former, times: former };
}

function userOf({ times }: UserState, write: UserWrite): User {
  if (!times) throw new Error('a profile has no times before it is written');
  return { ...write, createdAt: times.createdAt, updatedAt: times.updatedAt };
}

/**
 * Merges each request into the state of its user. A request that would leave its user with too many
 * properties changes nothing.
 */
function mergeInOrder(
  accepted: readonly Accepted[],
  catalog: ReadonlyMap<number, Property>,
  findState: (externalId: string) => UserState,
): { readonly steps: Step[]; readonly gone: TextGone[]; readonly refusals: Map<UpsertUser, ApiError> } {
  const steps: Step[] = [];
  const gone: TextGone[] = [];
  const refusals = new Map<UpsertUser, ApiError>();
  const begun = new Set<UserState>();
  for (const { request, learned } of accepted) {
    const state = findState(request.externalId);
    const { id, externalId, properties: former } = state.write;
    try {
      const merged = applyChanges(request.properties === null ? {} : former, former, learned, catalog);
      const write = { id, externalId, ...mergeAttributes(state.write, request), properties: merged.stored };
      const creates = !state.former && !begun.has(state);
      const changes = creates ? [] : listChanges(state.write, write, (number) => catalog.has(number));
      begun.add(state);
      state.write = write;
      state.isChanged ||= changes.length > 0;
      gone.push(...merged.gone);
      steps.push({ request, learned, state, write, creates, changes });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      refusals.set(request, error);
    }
  }
  return { steps, gone, refusals };
}

/** Throws when some upserts must be refused. */
function refuse<Step extends Accepted>(
  steps: readonly Step[],
  mustBe: (step: Step) => boolean,
  refusal: () => ApiError | UserIsHeld,
): void {
  const refused = steps.filter(mustBe);
  if (refused.length > 0) throw new UpsertsRefused(new Map(refused.map(({ request }) => [request, refusal()])));
}

async function writeProfiles(tx: Tx, clock: Clock, appId: Uuid, states: readonly UserState[]): Promise<void> {
  const added = states.filter(({ former }) => !former);
  const known = states.filter(({ former }) => former);
  const [createdAt, updatedAt] = await Promise.all([
    added.length > 0 &&
      insertUsers(
        tx,
        clock,
        appId,
        added.map(({ write }) => write),
      ),
    known.length > 0 &&
      updateUsers(
        tx,
        clock,
        appId,
        known.map(({ write }) => write),
      ),
  ]);
  if (createdAt) for (const state of added) state.times = { createdAt, updatedAt: createdAt };
  if (!updatedAt) return;
  for (const state of known) if (state.former) state.times = { createdAt: state.former.createdAt, updatedAt };
}
