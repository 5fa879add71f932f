// Adds new keys to the catalog with the type of their first value, and separates conflicting values
// from values that may be stored. Works in the caller's transaction, before the transaction takes
// any other lock, so that requests with new keys wait for each other in one order. Many owners take
// as few statements as one.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { ApiError, invalid } from '../../ground/http/api-error.ts';
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

/** The 400 of an owner, or of a catalog, that has no room for all new keys of a request. */
export class TooManyProperties extends ApiError {
  /** The new keys for which there is no room: the last ones. */
  readonly misfits: readonly string[];

  constructor(message: string, misfits: readonly string[]) {
    const { code, details } = invalid([{ path: ['properties'], code: 'too_many_properties', message }]);
    super(code, details);
    this.misfits = misfits;
  }
}

export interface ManyLearned extends Pick<LearnedProperties, 'sightings'> {
  /**
   * One item for each of `given`, in its order. Nothing may be written of an owner whose keys have
   * no room.
   */
  readonly each: readonly (LearnedProperties | TooManyProperties)[];
}

export interface LearnOptions {
  /**
   * False for a client key. Such a request may only use keys that the catalog has, and its
   * conflicts are counted at most every ten seconds. None of its values becomes a sample, because
   * the app's team would see strangers' texts there.
   */
  readonly mayAdd?: boolean;
  /** True: an owner whose keys have no room adds those of its new keys that fit. */
  readonly takesPart?: boolean;
}

export const nothingLearned: LearnedProperties = { changes: new Map(), conflicts: [], sightings: [] };

/** Throws the 400 `unknown_property` or `too_many_properties`; then nothing may be written. */
export async function learnProperties(
  tx: Tx,
  clock: Clock,
  { appId, given, mayAdd }: { readonly appId: Uuid; readonly given: PropertyChanges; readonly mayAdd: boolean },
): Promise<LearnedProperties> {
  const [learned = nothingLearned] = (await learnManyProperties(tx, clock, appId, [given], { mayAdd })).each;
  if (learned instanceof TooManyProperties) throw learned;
  return learned;
}

/** Does the same for many owners. Throws the 400 `unknown_property`. */
export async function learnManyProperties(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  given: readonly PropertyChanges[],
  { mayAdd = true, takesPart = false }: LearnOptions = {},
): Promise<ManyLearned> {
  const keys = [...new Set(given.flatMap((changes) => [...changes.keys()]))];
  if (keys.length === 0) return { each: given.map(() => nothingLearned), sightings: [] };
  let entries = byKey(await findPropertiesByKeys(tx, appId, keys));
  if (!mayAdd) refuseUnknown(keys, entries);
  const refused = new Map<PropertyChanges, TooManyProperties>();
  const unknown = new Set(given.flatMap((changes) => keysToAdd(changes, entries)));
  if (unknown.size > 0) {
    const firstNumber = await takePropertyNumbers(tx, appId, unknown.size);
    // Another transaction may have added the same keys, with other types, while this one waited for
    // the lock.
    entries = byKey(await findPropertiesByKeys(tx, appId, keys));
    const room = propertiesPerAppMax - (await countProperties(tx, appId));
    const values = chooseNewKeys(given, entries, { room, takesPart }, refused);
    for (const entry of await addToCatalog(tx, clock, appId, values, firstNumber)) entries.set(entry.key, entry);
  }

  const each = given.map((changes): LearnedProperties | TooManyProperties => {
    const refusal = refused.get(changes);
    if (refusal) return refusal;
    const learned = sortOut(changes, entries, mayAdd, clock.nowMs());
    for (const sighting of learned.sightings) {
      if (sighting.conflictQuietMs === undefined) noteSeen(entries, sighting, clock);
    }
    return learned;
  });
  return {
    each,
    sightings: each.flatMap((learned) => (learned instanceof TooManyProperties ? [] : learned.sightings)),
  };
}

/**
 * Writes the use of each key to the catalog, and deletes texts from the samples that an owner no
 * longer has. An erased person therefore leaves nothing among the samples. Call it last in the
 * transaction, so that each row stays locked only until the commit. Rows are locked in the order of
 * their numbers, so that requests do not deadlock.
 */
export async function recordSightings(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  { sightings }: Pick<LearnedProperties, 'sightings'>,
  gone: readonly TextGone[] = [],
): Promise<void> {
  const shown = gone.length === 0 ? [] : await listShownSamples(tx, appId, gone);
  // A text that an owner no longer has is not kept as a sample, even if another owner of this call
  // has it. The next request with that text adds it again.
  const lost = new Set(gone.map(({ id, sample }) => `${id} ${sample}`));
  const [shownOf, sightingsOf] = [groupById(shown), groupById(sightings)];
  const numbers = new Set([...shownOf.keys(), ...sightingsOf.keys()]);
  for (const number of [...numbers].sort((a, b) => a - b)) {
    for (const { id, sample } of shownOf.get(number) ?? []) await deleteSample(tx, appId, id, sample);
    let conflicts = { id: number, quietMs: 0, count: 0 };
    for (const { id, sample, conflictQuietMs } of sightingsOf.get(number) ?? []) {
      if (conflictQuietMs !== undefined) {
        conflicts = { id, quietMs: conflictQuietMs, count: conflicts.count + 1 };
      } else {
        const kept = lost.has(`${id} ${sample}`) ? null : sample;
        await updateSighting(tx, clock, appId, { id, sample: kept, samplesMax });
      }
    }
    if (conflicts.count > 0) await updateConflict(tx, clock, appId, conflicts);
  }
}

function groupById<Item extends { readonly id: number }>(items: readonly Item[]): Map<number, Item[]> {
  const groups = new Map<number, Item[]>();
  for (const item of items) {
    const group = groups.get(item.id);
    if (group) group.push(item);
    else groups.set(item.id, [item]);
  }
  return groups;
}

/** Deletes texts of erased owners from the samples. Call it last in the transaction. */
export async function forgetSamples(tx: Tx, appId: Uuid, gone: readonly TextGone[]): Promise<void> {
  if (gone.length === 0) return;
  for (const { id, sample } of await listShownSamples(tx, appId, gone)) await deleteSample(tx, appId, id, sample);
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

/** Selects the keys that the catalog lacks. A null for an unknown key registers nothing. */
function keysToAdd(given: PropertyChanges, entries: ReadonlyMap<string, CatalogEntry>): string[] {
  return [...given].flatMap(([key, value]) => (value === null || entries.has(key) ? [] : [key]));
}

/**
 * Chooses the first value of each new key, owner by owner, and refuses an owner whose new keys do
 * not all have room.
 */
function chooseNewKeys(
  given: readonly PropertyChanges[],
  entries: ReadonlyMap<string, CatalogEntry>,
  { room, takesPart }: { readonly room: number; readonly takesPart: boolean },
  refused: Map<PropertyChanges, TooManyProperties>,
): Map<string, PropertyValue> {
  const values = new Map<string, PropertyValue>();
  for (const changes of given) {
    const added = keysToAdd(changes, entries).filter((key) => !values.has(key));
    const fitting = added.slice(0, Math.max(0, room - values.size));
    const misfits = added.slice(fitting.length);
    const message = `An app has at most ${propertiesPerAppMax} properties.`;
    if (misfits.length > 0) refused.set(changes, new TooManyProperties(message, misfits));
    if (misfits.length > 0 && !takesPart) continue;
    for (const key of fitting) values.set(key, changes.get(key) ?? false);
  }
  return values;
}

/**
 * Adds keys to the catalog, each with its first value. The caller holds the lock on the catalog and
 * has taken the keys' numbers.
 */
async function addToCatalog(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  values: ReadonlyMap<string, PropertyValue>,
  firstNumber: number,
): Promise<CatalogEntry[]> {
  if (values.size === 0) return [];
  const slots = assignSlots(await listTakenSlots(tx, appId), [...values.values()].map(typeOfValue));
  const added = [...values].map(([key, value], i) => {
    return { id: firstNumber + i, key, type: typeOfValue(value), slot: slots[i] ?? null, sample: sampleOf(value) };
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
 * Updates the entry in memory, so that later owners do not record the same value as a first one
 * again.
 */
function noteSeen(entries: Map<string, CatalogEntry>, { id, sample }: Sighting, clock: Clock): void {
  for (const entry of entries.values()) {
    if (entry.id !== id) continue;
    const samples = sample === null ? entry.samples : [...entry.samples, sample].slice(0, samplesMax);
    entries.set(entry.key, { ...entry, samples, lastSeenAt: clock.date() });
    return;
  }
}

/**
 * Divides a request's values into values to store, conflicts, and uses to record in the catalog.
 */
function sortOut(
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
