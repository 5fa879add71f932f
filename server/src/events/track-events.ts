// The events of a request are stored, all or none, in one transaction: what was seen before is left out, the rest is appended,
// counted by day and added to the sums. Locks in the order that the migration of these tables names.
import { hash } from 'node:crypto';
import { type DeviceOwner, listDeviceOwners } from '../audience/queries.ts';
import { noteSeen } from '../devices/note-seen.ts';
import { type Issue, notFound } from '../platform/api-error.ts';
import { type Clock, readNowMs } from '../platform/clock.ts';
import { repeatOnDeadlock, type Sql, type Tx, transaction } from '../platform/db.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import { claimPeople } from '../users/claim-people.ts';
import { upsertEventProperties } from './catalog-queries.ts';
import type { EventGiven } from './event.ts';
import { admitNames, type KnownNames } from './event-names.ts';
import { type KnownProperties, type NewEventProperty, samplesMax } from './known-properties.ts';
import { addToDays, type EventKey, insertDeltas, insertEventKeys, insertEvents } from './queries.ts';
import { subjectOf } from './subject.ts';
import { dayCountsOf, deltasOf, type StoredEvent } from './totals.ts';

export interface TrackDeps {
  /** For what is asked first, together with what other requests ask. */
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly clock: Clock;
  /** What of the event catalog is stored already. */
  readonly knownProperties: KnownProperties;
  /** Which names are stored already. */
  readonly knownNames: KnownNames;
}

export interface TrackEvents {
  readonly appId: Uuid;
  /** Ids of a server are unique in the app, those of a client for the device it names (contract 10). */
  readonly isServer: boolean;
  readonly events: readonly EventGiven[];
  /** Where the name of an event stands in the request. */
  pathOfName(index: number): Issue['path'];
}

export interface TrackedEvents {
  readonly accepted: number;
  readonly duplicates: number;
}

/** Throws the 404 for an unknown device, and the 400 for one name too many; then nothing is stored. */
export async function trackEvents(deps: TrackDeps, request: TrackEvents): Promise<TrackedEvents> {
  const { appId, events } = request;
  const deviceIds = [...new Set(events.flatMap(({ deviceId }) => deviceId ?? []))];
  // The time is asked of the database, and before anything is stored: no later question finds an event in its future.
  const [preciseNowMs, owners] = await Promise.all([
    readNowMs(deps.sql, deps.clock),
    readOwners(deps.sql, appId, deviceIds),
  ]);
  if (owners.size < deviceIds.length) throw notFound();
  const known = { nowMs: Math.floor(preciseNowMs), owners };
  const { accepted, catalogued, named } = await repeatOnDeadlock(() =>
    transaction(deps.txSql, (tx) => trackIn(tx, deps, request, known)),
  );
  // Only now is it certain that the catalog has them.
  deps.knownProperties.note(appId, catalogued);
  deps.knownNames.note(appId, named);
  return { accepted, duplicates: events.length - accepted };
}

async function trackIn(
  tx: Tx,
  { clock, knownProperties, knownNames }: TrackDeps,
  { appId, isServer, events, pathOfName }: TrackEvents,
  { nowMs, owners }: { readonly nowMs: number; readonly owners: ReadonlyMap<Uuid, DeviceOwner> },
): Promise<{ accepted: number; catalogued: readonly NewEventProperty[]; named: readonly string[] }> {
  const names = events.map(({ name }) => name);
  const named = await admitNames(tx, knownNames, { appId, isServer, names, pathOf: pathOfName });
  const externalIds = [...new Set(events.flatMap(({ externalId }) => externalId ?? []))];
  const people = await claimPeople(tx, clock, appId, externalIds);
  const timed = events.map((event) => ({ event, atMs: Math.min(event.occurredAtMs ?? nowMs, nowMs) }));
  const fresh = await leaveOutSeen(tx, appId, isServer, timed);
  if (fresh.length === 0) return { accepted: 0, catalogued: [], named: [] };
  const stored = fresh.map(({ event, atMs }): StoredEvent => {
    const subject = subjectOf(event, people, owners);
    const { name, deviceId, propertiesText, purchase } = event;
    return {
      ...{ id: mintUuid(nowMs), subjectId: subject.id, hasSubject: subject.isSomebody, name, atMs },
      ...{ deviceId, externalId: subject.externalId, propertiesText, purchase },
    };
  });
  const given = fresh.map(({ event }) => event);
  const catalogued = knownProperties.findNew(appId, given);
  // The name of a repeat is not stored.
  const namesStored = new Set(given.map(({ name }) => name));
  // Sent together, in this order: they wait for no answers.
  await Promise.all([
    insertEvents(tx, appId, stored),
    insertDeltas(tx, appId, deltasOf(stored)),
    noteSeen(tx, appId, sessionsOf(stored, owners)),
    addToDays(tx, appId, dayCountsOf(stored)),
    catalogued.length > 0 && upsertEventProperties(tx, appId, catalogued, samplesMax),
  ]);
  return { accepted: fresh.length, catalogued, named: named.filter((name) => namesStored.has(name)) };
}

async function readOwners(sql: Sql, appId: Uuid, deviceIds: readonly Uuid[]): Promise<ReadonlyMap<Uuid, DeviceOwner>> {
  if (deviceIds.length === 0) return new Map();
  const rows = await listDeviceOwners(sql, appId, deviceIds);
  return new Map(rows.map((row) => [row.deviceId, row]));
}

interface TimedEvent {
  readonly event: EventGiven;
  readonly atMs: number;
}

/** Without those whose id was seen before, in an earlier request or in this one. */
async function leaveOutSeen(
  tx: Tx,
  appId: Uuid,
  isServer: boolean,
  events: readonly TimedEvent[],
): Promise<readonly TimedEvent[]> {
  const firstOf = new Map<Uuid, TimedEvent>();
  const keyOf = new Map<TimedEvent, Uuid>();
  for (const timed of events) {
    const { id, deviceId } = timed.event;
    if (id === null) continue;
    const key = eventKey(isServer ? null : deviceId, id);
    keyOf.set(timed, key);
    if (!firstOf.has(key)) firstOf.set(key, timed);
  }
  if (firstOf.size === 0) return events;
  const keys = [...firstOf].map(([key, { atMs }]): EventKey => ({ key, atMs }));
  keys.sort((a, b) => (a.key < b.key ? -1 : 1));
  const isNew = await insertEventKeys(tx, appId, keys);
  return events.filter((timed) => {
    const key = keyOf.get(timed);
    return key === undefined || (isNew.has(key) && firstOf.get(key) === timed);
  });
}

/** Sixteen bytes in place of two texts: the table of all ids ever seen is the one that does not fit into memory. */
function eventKey(deviceId: Uuid | null, id: string): Uuid {
  const hex = hash('sha256', `${deviceId ?? 'server'} ${id}`, 'hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}

/** It is exact to ten minutes (contract 8), so a device in use is seldom written. */
const seenIntervalMs = 600_000;

/** Which devices began a session so long after they were last seen that it is worth a write? With when they did. */
function sessionsOf(events: readonly StoredEvent[], owners: ReadonlyMap<Uuid, DeviceOwner>): ReadonlyMap<Uuid, number> {
  const sessions = new Map<Uuid, number>();
  for (const { name, deviceId, atMs } of events) {
    if (name !== 'session_start' || deviceId === null) continue;
    const lastSeenMs = owners.get(deviceId)?.lastSeenAt.getTime() ?? Number.POSITIVE_INFINITY;
    if (atMs - lastSeenMs > seenIntervalMs) sessions.set(deviceId, Math.max(sessions.get(deviceId) ?? 0, atMs));
  }
  return sessions;
}
