// Adds new keys to the catalog with the type of their first value, and separates conflicting values
// from values that may be stored. Works in the caller's transaction, before the transaction takes
// any other lock, so that requests with new keys wait for each other in one order.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { type ApiError, invalid } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Issue } from '../../ground/values/issue.ts';
import {
  type PropertyChanges,
  type PropertyConflict,
  type PropertyValue,
  propertiesPerAppMax,
  sampleOf,
  samplesMax,
  type TextGone,
  typeOfValue,
} from './property.ts';
import {
  type CatalogEntry,
  countProperties,
  deleteSample,
  findPropertiesByKeys,
  insertProperties,
  listShownSamples,
  listTakenSlots,
  takePropertyNumbers,
  updateConflict,
  updateSighting,
} from './queries.ts';
import { assignSlots } from './slots.ts';

/**
 * `last_seen_at` is exact to one hour (contract 5.4). The row of a key in steady use is written a
 * few times an hour and not at each use.
 */
const sightingIntervalMs = 20 * 60_000;
/**
 * `conflicts_count` and `last_conflict_at` are exact for requests by server keys. Strangers can use
 * a client key, so at most one conflict of a key is counted in this interval. Otherwise strangers
 * could make all writers of a key wait for its row.
 */
const clientConflictIntervalMs = 10_000;

export interface LearnedProperties {
  /** Values that may be stored, by catalog number; null deletes. */
  readonly changes: ReadonlyMap<number, PropertyValue | null>;
  readonly conflicts: readonly PropertyConflict[];
  /** For `recordSightings`. */
  readonly sightings: readonly Sighting[];
}

export interface Sighting {
  readonly id: number;
  readonly sample: PropertyValue | null;
  /**
   * Set for a value of another type: milliseconds that must have passed after the last counted
   * conflict.
   */
  readonly conflictQuietMs?: number;
}

export interface PropertiesGiven {
  readonly appId: Uuid;
  readonly given: PropertyChanges;
  /**
   * False for a client key. Such a request may only use keys that the catalog has, and its
   * conflicts are counted at most every ten seconds. None of its values becomes a sample, because
   * the app's team would see strangers' texts there.
   */
  readonly mayAdd: boolean;
}

export const nothingLearned: LearnedProperties = { changes: new Map(), conflicts: [], sightings: [] };

/** Throws the 400 `unknown_property` or `too_many_properties`; then nothing may be written. */
export async function learnProperties(
  tx: Tx,
  clock: Clock,
  { appId, given, mayAdd }: PropertiesGiven,
): Promise<LearnedProperties> {
  if (given.size === 0) return nothingLearned;
  const keys = [...given.keys()];
  let entries = byKey(await findPropertiesByKeys(tx, appId, keys));
  if (!mayAdd) refuseUnknown(keys, entries);

  const newKeys = keysToAdd(given, entries);
  if (newKeys.length > 0) {
    const firstNumber = await takePropertyNumbers(tx, appId, newKeys.length);
    // Another transaction may have added the same keys, with other types, while this one waited for
    // the lock.
    entries = byKey(await findPropertiesByKeys(tx, appId, keys));
    const added = await addToCatalog(tx, clock, appId, given, keysToAdd(given, entries), firstNumber);
    for (const entry of added) entries.set(entry.key, entry);
  }
  return sortOut(given, entries, mayAdd, clock.nowMs());
}

/**
 * Writes the use of each key to the catalog, and deletes texts from the samples that the owner no
 * longer has. An erased person therefore leaves nothing among the samples. Call it last in the
 * transaction, so that each row stays locked only until the commit. Rows are locked in the order of
 * their numbers, so that requests do not deadlock.
 */
export async function recordSightings(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  learned: LearnedProperties,
  gone: readonly TextGone[] = [],
): Promise<void> {
  const shown = gone.length === 0 ? [] : await listShownSamples(tx, appId, gone);
  const numbers = new Set([...shown, ...learned.sightings].map(({ id }) => id));
  for (const number of [...numbers].sort((a, b) => a - b)) {
    for (const { id, sample } of shown) if (id === number) await deleteSample(tx, appId, id, sample);
    for (const { id, sample, conflictQuietMs } of learned.sightings) {
      if (id !== number) continue;
      if (conflictQuietMs === undefined) await updateSighting(tx, clock, appId, { id, sample, samplesMax });
      else await updateConflict(tx, clock, appId, { id, quietMs: conflictQuietMs });
    }
  }
}

/** Deletes texts of erased owners from the samples. Call it last in the transaction. */
export async function forgetSamples(tx: Tx, appId: Uuid, gone: readonly TextGone[]): Promise<void> {
  if (gone.length === 0) return;
  for (const { id, sample } of await listShownSamples(tx, appId, gone)) await deleteSample(tx, appId, id, sample);
}

export function byKey(entries: readonly CatalogEntry[]): Map<string, CatalogEntry> {
  return new Map(entries.map((entry) => [entry.key, entry]));
}

function refuseUnknown(keys: readonly string[], entries: ReadonlyMap<string, CatalogEntry>): void {
  const issues: Issue[] = keys
    .filter((key) => !entries.has(key))
    .map((key) => ({
      path: ['properties', key],
      code: 'unknown_property',
      message: `The app has no property '${key}', and a client key cannot add one.`,
    }));
  if (issues.length > 0) throw invalid(issues);
}

/** Selects the keys that the catalog lacks. A null for an unknown key registers nothing. */
export function keysToAdd(given: PropertyChanges, entries: ReadonlyMap<string, CatalogEntry>): string[] {
  return [...given].flatMap(([key, value]) => (value === null || entries.has(key) ? [] : [key]));
}

export function tooManyProperties(): ApiError {
  const message = `An app has at most ${propertiesPerAppMax} properties.`;
  return invalid([{ path: ['properties'], code: 'too_many_properties', message }]);
}

/**
 * Adds keys to the catalog; `given` has a value for each. The caller holds the lock on the catalog
 * and has taken the keys' numbers.
 */
export async function addToCatalog(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  given: PropertyChanges,
  keys: readonly string[],
  firstNumber: number,
): Promise<CatalogEntry[]> {
  if (keys.length === 0) return [];
  if ((await countProperties(tx, appId)) + keys.length > propertiesPerAppMax) {
    throw tooManyProperties();
  }
  const values = keys.map((key) => given.get(key) ?? false);
  const slots = assignSlots(await listTakenSlots(tx, appId), values.map(typeOfValue));
  const added = keys.map((key, i) => {
    const value = values[i] ?? false;
    const sample = sampleOf(value);
    return { id: firstNumber + i, key, type: typeOfValue(value), slot: slots[i] ?? null, sample };
  });
  await insertProperties(tx, clock, appId, added);
  return added.map((property) => ({
    ...property,
    samples: [property.sample],
    lastSeenAt: clock.date(),
    lastConflictAt: null,
  }));
}

/**
 * Divides a request's values into values to store, conflicts, and uses to record in the catalog.
 */
export function sortOut(
  given: PropertyChanges,
  entries: ReadonlyMap<string, CatalogEntry>,
  isServer: boolean,
  nowMs: number,
): LearnedProperties {
  const isOver = (at: Date | null, ms: number): boolean => at === null || nowMs - at.getTime() > ms;
  const changes = new Map<number, PropertyValue | null>();
  const conflicts: PropertyConflict[] = [];
  const sightings: Sighting[] = [];
  for (const [key, value] of given) {
    const entry = entries.get(key);
    if (!entry) continue;
    if (value === null) changes.set(entry.id, null);
    else if (typeOfValue(value) === entry.type) {
      changes.set(entry.id, value);
      const sample = sampleOf(value);
      const isNewSample = isServer && entry.samples.length < samplesMax && !entry.samples.includes(sample);
      if (isNewSample || isOver(entry.lastSeenAt, sightingIntervalMs))
        sightings.push({ id: entry.id, sample: isNewSample ? sample : null });
    } else {
      conflicts.push({ property: entry, value });
      const conflictQuietMs = isServer ? 0 : clientConflictIntervalMs;
      if (isServer || isOver(entry.lastConflictAt, conflictQuietMs))
        sightings.push({ id: entry.id, sample: null, conflictQuietMs });
    }
  }
  sightings.sort((a, b) => a.id - b.id);
  return { changes, conflicts, sightings };
}
