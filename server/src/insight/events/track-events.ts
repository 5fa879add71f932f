// Stores the events of a request, all or none. Events that were seen before are skipped; the rest
// are appended, counted by day and added to the sums. Requests of an app that arrive while others
// of the app are being stored share one transaction, which costs each of them less. A refused
// request never affects another. Locks are taken in the order that the migration of these tables
// names.

import {
  isDatabaseDown,
  isStatementTimeout,
  repeatOnDeadlock,
  type Sql,
  type Tx,
  transaction,
} from '@carillon/postgres';
import { type Clock, readNowMs } from '../../ground/database/clock.ts';
import { ApiError, notFound } from '../../ground/http/api-error.ts';
import { createTogether, type Outcomes } from '../../ground/pacing/together.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import type { Issue } from '../../ground/values/issue.ts';
import { type DeviceOwner, listDeviceOwners } from '../../people/audience/queries.ts';
import { noteSeen } from '../../people/devices/note-seen.ts';
import { claimPeople } from '../../people/users/claim-people.ts';
import type { ClientEvents } from '../../teams/apps/caller.ts';
import { upsertEventProperties } from './catalog-queries.ts';
import { checkClientEvents } from './check-client-events.ts';
import type { EventGiven } from './event.ts';
import { eventKey } from './event-key.ts';
import { admitKeys } from './event-keys.ts';
import { type AdmittedNames, admitNames, createKnownNames, type KnownNames } from './event-names.ts';
import { createKnownProperties, type EventSeen, type KnownProperties, samplesMax } from './known-properties.ts';
import { insertClientNames } from './name-queries.ts';
import { ensurePartitionsAt, lacksPartition } from './partitions.ts';
import { addToDays, type EventKey, insertDeltas, insertEventKeys, insertEvents } from './queries.ts';
import { monthOf } from './spans.ts';
import { subjectOf } from './subject.ts';
import { dayCountsOf, dayMs, deltasOf, type StoredEvent } from './totals.ts';

export interface TrackDeps {
  /** The pool for reading the time. It waits for no transaction. */
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
  /** Milliseconds that a request waits for its turn; after that it is refused. */
  readonly waitMs: number;
}

export interface TrackEvents {
  readonly appId: Uuid;
  /**
   * Event ids of a server are unique in the app; those of a client are unique for the device that
   * it names (contract 10).
   */
  readonly isServer: boolean;
  readonly clientEvents: ClientEvents;
  readonly events: readonly EventGiven[];
  /** The path in the request of the event at an index. */
  pathOf(index: number): Issue['path'];
}

export interface TrackedEvents {
  readonly accepted: number;
  readonly duplicates: number;
}

/**
 * Tracks the events of a request. Throws the 404 for an unknown device, the 400 for too many names,
 * and the 400 and 403 of the rules for client keys. A refused request stores nothing.
 */
export type Track = (request: TrackEvents) => Promise<TrackedEvents>;

/**
 * Transactions of one app at once in a process: while the database runs one, the next is prepared.
 * Ten requests in one transaction: up to five hundred events with up to ten megabytes. More
 * requests hardly lower the cost of each.
 */
const turns = { turnsMax: 2, itemsMax: 10 };

interface Group {
  readonly appId: Uuid;
  readonly requests: readonly KeyedRequest[];
  readonly nowMs: number;
  /** By device; contains every device that an event names. */
  readonly owners: ReadonlyMap<Uuid, DeviceOwner>;
}

interface KeyedRequest extends TrackEvents {
  /** The key of each event; null for an event without an id. */
  readonly keys: readonly (string | null)[];
}

interface Memory {
  /** Properties in the event catalog that are known to be stored. */
  readonly properties: KnownProperties;
  /** Names that are known to be stored. */
  readonly names: KnownNames;
  /** The app's number of deleted names at the last request. */
  readonly deletedNames: Map<Uuid, number>;
}

/** Creates the tracking of a process, which remembers the parts of the catalog that are stored. */
export function createTrack(deps: TrackDeps): Track {
  const memory: Memory = { properties: createKnownProperties(), names: createKnownNames(), deletedNames: new Map() };
  const line = createTogether<KeyedRequest, TrackedEvents>(
    (appId, requests) => trackTogether(deps, memory, appId, requests),
    { ...turns, waitMs: deps.waitMs },
  );
  return (request) => {
    const { isServer, events } = request;
    const keys = events.map(({ id, deviceId }) => (id === null ? null : eventKey(isServer ? null : deviceId, id)));
    return line.run(request.appId, { ...request, keys });
  };
}

async function trackTogether(
  deps: TrackDeps,
  memory: Memory,
  appId: Uuid,
  requests: readonly KeyedRequest[],
): Promise<Outcomes<TrackedEvents>> {
  const deviceIds = new Set<Uuid>();
  for (const { events } of requests) for (const { deviceId } of events) if (deviceId !== null) deviceIds.add(deviceId);
  // The database's time is read before anything is stored, so that no later question finds an event
  // in its future. The owners are read on a connection that plans without values.
  const [preciseNowMs, owners] = await Promise.all([
    readNowMs(deps.sql, deps.clock),
    readOwners(deps.txSql, appId, [...deviceIds]),
  ]);
  const known = { appId, nowMs: Math.floor(preciseNowMs), owners };
  const outcomes = new Map<KeyedRequest, PromiseSettledResult<TrackedEvents>>();
  const together: KeyedRequest[] = [];
  const alone: KeyedRequest[] = [];
  forgetDeleted(memory, appId, requests);
  for (const request of requests) {
    const refusal = findRefusal(request, known);
    if (refusal !== undefined) outcomes.set(request, { status: 'rejected', reason: refusal });
    else if (bringsNews(memory, request)) alone.push(request);
    else together.push(request);
  }
  const store = async (group: readonly KeyedRequest[]): Promise<void> => {
    if (group.length === 0) return;
    try {
      const tracked = await storeGroup(deps, memory, { ...known, requests: group });
      for (const [i, value] of tracked.entries()) {
        const request = group[i];
        if (request) outcomes.set(request, { status: 'fulfilled', value });
      }
    } catch (reason) {
      const isOfAll = group.length === 1 || isDatabaseDown(reason) || isStatementTimeout(reason);
      // Each request is stored on its own, which shows which one failed.
      for (const request of group) {
        if (isOfAll) outcomes.set(request, { status: 'rejected', reason });
        else await store([request]);
      }
    }
  };
  await store(together);
  for (const request of alone) await store([request]);
  return requests.map(
    (request) => outcomes.get(request) ?? { status: 'rejected', reason: new Error('a request has no outcome') },
  );
}

/** Forgets the app's names and properties after a name of the app was deleted. */
function forgetDeleted(
  { names, properties, deletedNames }: Memory,
  appId: Uuid,
  requests: readonly TrackEvents[],
): void {
  const deleted = Math.max(...requests.map(({ clientEvents }) => clientEvents.deletedNames));
  if (deleted <= (deletedNames.get(appId) ?? 0)) return;
  deletedNames.set(appId, deleted);
  names.forget(appId);
  properties.forget(appId);
}

/** Returns the refusal that does not depend on stored events; undefined when there is none. */
function findRefusal(request: TrackEvents, { nowMs, owners }: Pick<Group, 'nowMs' | 'owners'>): unknown {
  const { isServer, events, clientEvents, pathOf } = request;
  try {
    if (!isServer) checkClientEvents(events, { clientEvents, nowMs, pathOf });
  } catch (error) {
    return error;
  }
  const isLost = events.some(({ deviceId }) => deviceId !== null && !owners.has(deviceId));
  return isLost ? notFound('An event names a device that is not in this app.') : undefined;
}

/**
 * A request with new names or keys is stored alone: their room is counted after all earlier
 * requests are stored.
 */
function bringsNews({ names, properties }: Memory, { appId, isServer, events }: TrackEvents): boolean {
  return events.some(({ name }) => !names.has(appId, name)) || (!isServer && properties.hasNew(appId, events));
}

async function readOwners(sql: Sql, appId: Uuid, deviceIds: readonly Uuid[]): Promise<ReadonlyMap<Uuid, DeviceOwner>> {
  if (deviceIds.length === 0) return new Map();
  const rows = await listDeviceOwners(sql, appId, deviceIds);
  return new Map(rows.map((row) => [row.deviceId, row]));
}

/** Stores all requests and returns the numbers of each, or stores none and throws. */
async function storeGroup(deps: TrackDeps, memory: Memory, group: Group): Promise<readonly TrackedEvents[]> {
  const { appId } = group;
  const store = () => repeatOnDeadlock(() => transaction(deps.txSql, (tx) => storeIn(tx, deps.clock, memory, group)));
  const { tracked, catalogued, named } = await store().catch(async (error: unknown) => {
    if (!lacksPartition(error)) throw error;
    // These are the first events of their time, or retention has just dropped the partition.
    await makePartitions(deps.txSql, group);
    return store();
  });
  // The catalog has them for certain only after the commit.
  memory.properties.note(appId, catalogued);
  memory.names.note(appId, named);
  return tracked;
}

/**
 * Milliseconds. Creating a partition takes tens of milliseconds and is rarely needed; a longer wait
 * means that somebody analyzes or alters the table.
 */
const partitionWaitMs = 500;

async function makePartitions(sql: Sql, { requests, nowMs }: Group): Promise<void> {
  const days = new Set(timedEventsOf(requests, nowMs).map(({ atMs }) => Math.floor(atMs / dayMs)));
  const months = new Set([...days].map((day) => monthOf(day * dayMs).from.getTime()));
  try {
    for (const atMs of months) await ensurePartitionsAt(sql, { atMs, nowMs, waitMs: partitionWaitMs });
  } catch (error) {
    if ((error as { code?: unknown }).code !== '55P03') throw error;
    throw new ApiError('unavailable', { retryAfterMs: 1000, cause: error });
  }
}

async function storeIn(tx: Tx, clock: Clock, memory: Memory, group: Group) {
  const { appId, requests, nowMs, owners } = group;
  const { unknown: named, fresh: newNames } = await admitNamesOf(tx, memory.names, group);
  await admitKeysOf(tx, memory, group);
  const people = await claimPeople(tx, clock, appId, externalIdsOf(requests));
  const timed = timedEventsOf(requests, nowMs);
  const fresh = await leaveOutSeen(tx, appId, timed);
  const accepted = requests.map(() => 0);
  for (const { request } of fresh) accepted[request] = (accepted[request] ?? 0) + 1;
  const tracked = requests.map(({ events }, i): TrackedEvents => {
    const count = accepted[i] ?? 0;
    return { accepted: count, duplicates: events.length - count };
  });
  if (fresh.length === 0) return { tracked, catalogued: [], named: [] };
  const seen: EventSeen[] = [];
  const stored = fresh.map(({ event, atMs, request }): StoredEvent => {
    const subject = subjectOf(event, people, owners);
    seen.push({ ...event, subjectId: subject.id, byClient: !requests[request]?.isServer });
    const { name, deviceId, propertiesText, purchase } = event;
    return {
      id: mintUuid(nowMs),
      subjectId: subject.id,
      hasSubject: subject.isSomebody,
      name,
      atMs,
      deviceId,
      externalId: subject.externalId,
      propertiesText,
      purchase,
    };
  });
  const catalogued = memory.properties.findNew(appId, seen);
  // The name of a repeated event is not stored.
  const namesStored = new Set(seen.map(({ name }) => name));
  const clientNames = requests[0]?.isServer ? [] : newNames.filter((name) => namesStored.has(name));
  // Sent together in this order, so that none waits for the answer to another.
  await Promise.all([
    insertEvents(tx, appId, stored),
    insertDeltas(tx, appId, deltasOf(stored)),
    noteSeen(tx, appId, sessionsOf(stored, owners)),
    addToDays(tx, appId, dayCountsOf(stored)),
    catalogued.length > 0 && upsertEventProperties(tx, appId, catalogued, samplesMax),
    clientNames.length > 0 && insertClientNames(tx, appId, clientNames),
  ]);
  return { tracked, catalogued, named: named.filter((name) => namesStored.has(name)) };
}

/**
 * Checks the names of a single request. In a group of several requests the process knows all names.
 */
async function admitNamesOf(tx: Tx, known: KnownNames, { appId, requests }: Group): Promise<AdmittedNames> {
  const [request, ...others] = requests;
  if (!request || others.length > 0) return { unknown: [], fresh: [] };
  const { isServer, clientEvents, events, pathOf } = request;
  const names = events.map(({ name }) => name);
  return admitNames(tx, known, { appId, isServer, takesNewNames: clientEvents.newNames, names, pathOf });
}

/**
 * Checks the keys of a single request by client key. Throws the 400 for keys above the share of
 * client keys.
 */
async function admitKeysOf(tx: Tx, { properties }: Memory, { appId, requests }: Group): Promise<void> {
  const [request, ...others] = requests;
  if (!request || others.length > 0 || request.isServer || !properties.hasNew(appId, request.events)) return;
  await admitKeys(tx, request);
}

function externalIdsOf(requests: readonly TrackEvents[]): string[] {
  const ids = new Set<string>();
  for (const { events } of requests) for (const { externalId } of events) if (externalId !== null) ids.add(externalId);
  return [...ids];
}

interface TimedEvent {
  readonly event: EventGiven;
  readonly key: string | null;
  readonly atMs: number;
  /** The index of the event's request in the group. */
  readonly request: number;
}

function timedEventsOf(requests: readonly KeyedRequest[], nowMs: number): TimedEvent[] {
  return requests.flatMap(({ events, keys }, request) =>
    events.map((event, i) => {
      const atMs = Math.min(event.occurredAtMs ?? nowMs, nowMs);
      return { event, key: keys[i] ?? null, atMs, request };
    }),
  );
}

/** Drops the events whose id was seen before, in an earlier request or in this group. */
async function leaveOutSeen(tx: Tx, appId: Uuid, events: readonly TimedEvent[]): Promise<readonly TimedEvent[]> {
  const firstOf = new Map<string, TimedEvent>();
  for (const timed of events) {
    if (timed.key !== null && !firstOf.has(timed.key)) firstOf.set(timed.key, timed);
  }
  if (firstOf.size === 0) return events;
  const keys = [...firstOf].map(([key, { atMs }]): EventKey => ({ key, atMs }));
  keys.sort((a, b) => (a.key < b.key ? -1 : 1));
  const isNew = await insertEventKeys(tx, appId, keys);
  return events.filter((timed) => {
    const { key } = timed;
    return key === null || (firstOf.get(key) === timed && isNew?.has(key) !== false);
  });
}

/**
 * Milliseconds. `last_seen_at` is exact to ten minutes (contract 8), so that a device in use is
 * rarely written.
 */
const seenIntervalMs = 600_000;

/**
 * Returns the devices that began a session, and when, if that is long enough after they were last
 * seen to deserve a write.
 */
function sessionsOf(events: readonly StoredEvent[], owners: ReadonlyMap<Uuid, DeviceOwner>): ReadonlyMap<Uuid, number> {
  const sessions = new Map<Uuid, number>();
  for (const { name, deviceId, atMs } of events) {
    if (name !== 'session_start' || deviceId === null) continue;
    const lastSeenMs = owners.get(deviceId)?.lastSeenAt.getTime() ?? Number.POSITIVE_INFINITY;
    if (atMs - lastSeenMs > seenIntervalMs) sessions.set(deviceId, Math.max(sessions.get(deviceId) ?? 0, atMs));
  }
  return sessions;
}
