// New keys join the catalog with the type of their first value, and conflicts are told apart from what may be stored. Works
// in the caller's transaction and before it takes any other lock, so that requests with new keys queue up in one order.
import { type Issue, invalid } from '../platform/api-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import {
  type PropertyChanges,
  type PropertyConflict,
  type PropertyValue,
  propertiesPerAppMax,
  sampleOf,
  samplesMax,
  typeOfValue,
} from './property.ts';
import {
  type CatalogEntry,
  countProperties,
  findPropertiesByKeys,
  insertProperties,
  listSlottedAndNumbered,
  takePropertyNumbers,
  updateSighting,
} from './queries.ts';
import { assignSlots } from './slots.ts';

/** `last_seen_at` is exact to one hour (contract 5.4); a key in steady use is written a few times an hour and not at each use. */
const sightingIntervalMs = 20 * 60_000;

export interface LearnedProperties {
  /** What may be stored, by catalog number; null deletes. */
  readonly changes: ReadonlyMap<number, PropertyValue | null>;
  readonly conflicts: readonly PropertyConflict[];
  /** For `recordSightings`. */
  readonly sightings: readonly Sighting[];
}

interface Sighting {
  readonly id: number;
  readonly sample: PropertyValue | null;
  readonly isConflict: boolean;
}

export interface PropertiesGiven {
  readonly appId: Uuid;
  readonly given: PropertyChanges;
  /** A client key may only use keys the catalog has. */
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
    // Whoever held the catalog before may have added the same keys, with other types.
    entries = byKey(await findPropertiesByKeys(tx, appId, keys));
    const added = await addToCatalog(tx, clock, appId, given, keysToAdd(given, entries), firstNumber);
    for (const entry of added) entries.set(entry.key, entry);
  }
  return sortOut(given, entries, clock.nowMs());
}

/**
 * Writes what the catalog remembers of this use: call it last in the transaction. Each row is locked only until the commit
 * that follows, in order of numbers, so that requests neither wait long nor for each other in a circle.
 */
export async function recordSightings(tx: Tx, clock: Clock, appId: Uuid, learned: LearnedProperties): Promise<void> {
  for (const sighting of learned.sightings) {
    await updateSighting(tx, clock, appId, { ...sighting, samplesMax });
  }
}

function byKey(entries: readonly CatalogEntry[]): Map<string, CatalogEntry> {
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

// A null for an unknown key registers nothing.
function keysToAdd(given: PropertyChanges, entries: ReadonlyMap<string, CatalogEntry>): string[] {
  return [...given].flatMap(([key, value]) => (value === null || entries.has(key) ? [] : [key]));
}

async function addToCatalog(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  given: PropertyChanges,
  keys: readonly string[],
  firstNumber: number,
): Promise<CatalogEntry[]> {
  if (keys.length === 0) return [];
  if ((await countProperties(tx, appId)) + keys.length > propertiesPerAppMax) {
    const message = `An app has at most ${propertiesPerAppMax} properties.`;
    throw invalid([{ path: ['properties'], code: 'too_many_properties', message }]);
  }
  const values = keys.map((key) => given.get(key) ?? false);
  const slots = assignSlots(await listSlottedAndNumbered(tx, appId, []), values.map(typeOfValue));
  const added = keys.map((key, i) => {
    const value = values[i] ?? false;
    const sample = sampleOf(value);
    return { id: firstNumber + i, key, type: typeOfValue(value), slot: slots[i] ?? null, sample };
  });
  await insertProperties(tx, clock, appId, added);
  return added.map((property) => ({ ...property, samples: [property.sample], lastSeenAt: clock.date() }));
}

function sortOut(given: PropertyChanges, entries: ReadonlyMap<string, CatalogEntry>, nowMs: number): LearnedProperties {
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
      const isNewSample = entry.samples.length < samplesMax && !entry.samples.includes(sample);
      const isDue = entry.lastSeenAt === null || nowMs - entry.lastSeenAt.getTime() > sightingIntervalMs;
      if (isNewSample || isDue)
        sightings.push({ id: entry.id, sample: isNewSample ? sample : null, isConflict: false });
    } else {
      conflicts.push({ property: entry, value });
      sightings.push({ id: entry.id, sample: null, isConflict: true });
    }
  }
  sightings.sort((a, b) => a.id - b.id);
  return { changes, conflicts, sightings };
}
