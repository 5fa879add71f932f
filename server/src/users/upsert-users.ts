// Creates or updates many profiles in one transaction, with a few statements for all of them: catalog,
// profiles, links and the copies on the devices. The result is that of the same upserts one after the
// other, in their order. Locks are taken in one order: new keys of the catalog, people, devices, keys
// of the catalog. Concurrent upserts of one user therefore run one after the other.
import { writeCopies } from '../audience/write-copies.ts';
import { NotAsSeen } from '../audit/edit-as-seen.ts';
import type { Clock } from '../database/clock.ts';
import {
  isDatabaseDown,
  isStatementTimeout,
  repeatOnDeadlock,
  type Sql,
  type Tx,
  transaction,
} from '../database/db.ts';
import type { Device } from '../devices/device.ts';
import type { Uuid } from '../ground/ids.ts';
import type { Outcomes } from '../ground/together.ts';
import { ApiError, notFound } from '../http/api-error.ts';
import { applyChanges } from '../properties/change-properties.ts';
import { learnManyProperties, recordManySightings } from '../properties/learn-many.ts';
import type { LearnedProperties } from '../properties/learn-properties.ts';
import { noChanges, type Property, type PropertyConflict, type TextGone } from '../properties/property.ts';
import { listSlottedAndNumbered, readCatalog } from '../properties/queries.ts';
import { type FoundUser, listShown } from './find-user.ts';
import { holdDevices } from './hold-devices.ts';
import { lockPeople } from './lock-people.ts';
import { type ChangedName, listChanges, mergeAttributes, type UpsertUser } from './merge-profile.ts';
import type { NumbersAtHand } from './numbers-at-hand.ts';
import { findUsers, insertUsers, type UserWrite, updateUsers } from './queries.ts';
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
  readonly numbers: NumbersAtHand;
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
        // Each one alone, which shows which one failed.
        for (const request of left) {
          const [outcome] = await upsertUsers(deps, [request]);
          if (outcome) outcomes.set(request, outcome);
        }
      }
    }
  }
  return requests.map((request) => outcomes.get(request) ?? noOutcome);
}

const noOutcome: PromiseRejectedResult = { status: 'rejected', reason: new Error('an upsert has no outcome') };

/** Some upserts are refused. The transaction is undone, and the others begin again without them. */
class UpsertsRefused extends Error {
  override readonly name = 'UpsertsRefused';
  readonly refusals: ReadonlyMap<UpsertUser, ApiError>;

  constructor(refusals: ReadonlyMap<UpsertUser, ApiError>) {
    super(`${refusals.size} upserts were refused`);
    this.refusals = refusals;
  }
}

/** A user in the state after the upserts so far. */
interface UserState {
  readonly former: User | undefined;
  readonly number: number | null;
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
 * nothing. With `isAsSeen` it throws `NotAsSeen` when there is no such user or `isAsSeen` refuses the
 * stored one, and a profile that would stay the same is not written.
 */
async function upsertIn(
  tx: Tx,
  { clock, numbers }: Omit<UpsertDeps, 'sql'>,
  requests: readonly UpsertUser[],
  isAsSeen?: (former: User) => boolean,
): Promise<ReadonlyMap<UpsertUser, UpsertedUser | ApiError>> {
  const answers = new Map<UpsertUser, UpsertedUser | ApiError>();
  const appId = requests[0]?.appId ?? '';
  const many = await learnManyProperties(
    tx,
    clock,
    appId,
    requests.map(({ properties }) => properties ?? noChanges),
  );
  const accepted: Accepted[] = [];
  for (const [i, request] of requests.entries()) {
    const learned = many.each[i];
    // Nothing is written of an upsert whose keys have no room.
    if (!learned) continue;
    if ('error' in learned) answers.set(request, learned.error);
    else accepted.push({ request, learned });
  }
  const externalIds = [...new Set(accepted.map(({ request }) => request.externalId))];
  const people = await lockPeople(tx, clock, appId, externalIds);
  const known = externalIds.filter((externalId) => !people.get(externalId)?.isNew);
  const formers = known.length === 0 ? [] : await findUsers(tx, appId, known);
  if (isAsSeen && !(formers[0] && isAsSeen(formers[0]))) throw new NotAsSeen();

  const catalog = await readCatalog(tx, appId, numbersOf(accepted, formers));
  const states = new Map(formers.map((former) => [former.externalId, stateOf(former, former.number, former)]));
  const { steps, gone, refusals } = mergeInOrder(accepted, catalog, (externalId) => {
    const id = people.get(externalId)?.id ?? '';
    const state = states.get(externalId) ?? stateOf({ id, externalId, ...emptyProfile }, numbers.next(appId));
    states.set(externalId, state);
    return state;
  });
  const changed = [...states.values()].filter(({ isChanged }) => isChanged);
  const links = steps.filter(({ request }) => request.deviceId !== null);
  const devices = await holdDevices(
    { tx, clock, appId },
    externalIds,
    // A link may unlink other devices of its user, to make room.
    [...changed.map(({ write }) => write), ...links.map(({ request }) => request)].map(({ externalId }) => externalId),
    links.flatMap(({ request }) => request.deviceId ?? []),
  );
  refuse(
    steps.filter(({ request }) => request.deviceId !== null && !devices.has(request.deviceId)),
    notFound,
  );
  if (refusals.size > 0) throw new UpsertsRefused(refusals);

  await writeProfiles(tx, clock, appId, isAsSeen ? changed : [...states.values()]);
  // Read only after the locks: before, another transaction could give a slot to a key that these
  // devices hold.
  const slotted = await listSlottedAndNumbered(tx, appId, []);
  const copyTo = (state: UserState, to: readonly Device[]): Promise<void> => {
    const user = userOf(state, state.write);
    return writeCopies(tx, appId, { profile: { ...user, userId: user.id }, devices: to, slotted });
  };
  for (const { request, learned, state, write, creates, changes } of steps) {
    const { externalId, deviceId } = request;
    if (deviceId !== null) await devices.link(externalId, deviceId, (device) => copyTo(state, [device]));
    const deviceIds = listShown(externalId, devices.list());
    const { conflicts } = learned;
    answers.set(request, { user: userOf(state, write), created: creates, conflicts, catalog, deviceIds, changes });
  }
  await Promise.all(changed.map((state) => copyTo(state, devices.listLocked(state.write.externalId))));
  await recordManySightings(tx, clock, appId, many, gone);
  return answers;
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
  if (answer instanceof ApiError) throw answer;
  if (!answer) throw noOutcome.reason;
  return answer;
}

const emptyProfile = { firstName: null, country: null, language: null, timezone: null, properties: {} };

function stateOf(write: UserWrite, number: number | null, former?: User): UserState {
  return { former, number, write, isChanged: !former, times: former };
}

function userOf({ number, times }: UserState, write: UserWrite): User {
  if (!times) throw new Error('a profile has no times before it is written');
  return { ...write, number, createdAt: times.createdAt, updatedAt: times.updatedAt };
}

/** The numbers of all stored and changed values. */
function numbersOf(accepted: readonly Accepted[], formers: readonly User[]): number[] {
  const numbers = new Set(accepted.flatMap(({ learned }) => [...learned.changes.keys()]));
  for (const { properties } of formers) for (const id of Object.keys(properties)) numbers.add(Number(id));
  return [...numbers];
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

/** Throws when there are steps to refuse. */
function refuse(steps: readonly Step[], refusal: () => ApiError): void {
  if (steps.length > 0) throw new UpsertsRefused(new Map(steps.map(({ request }) => [request, refusal()])));
}

async function writeProfiles(tx: Tx, clock: Clock, appId: Uuid, states: readonly UserState[]): Promise<void> {
  const added = states.filter(({ former }) => !former);
  const known = states.filter(({ former }) => former);
  if (added.length > 0) {
    const at = await insertUsers(
      tx,
      clock,
      appId,
      added.map(({ write, number }) => ({ ...write, number })),
    );
    for (const state of added) state.times = { createdAt: at, updatedAt: at };
  }
  if (known.length > 0) {
    const at = await updateUsers(
      tx,
      clock,
      appId,
      known.map(({ write }) => write),
    );
    for (const state of known) if (state.former) state.times = { createdAt: state.former.createdAt, updatedAt: at };
  }
}
