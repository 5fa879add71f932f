// The properties of many owners at once, for imports: the same rules as `learnProperties`, with a
// few statements for all owners. Works in the caller's transaction, before the transaction takes
// any other lock.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { ApiError } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import {
  addToCatalog,
  byKey,
  keysToAdd,
  type LearnedProperties,
  nothingLearned,
  type Sighting,
  sortOut,
  tooManyProperties,
} from './learn-properties.ts';
import {
  type PropertyChanges,
  type PropertyValue,
  propertiesPerAppMax,
  samplesMax,
  type TextGone,
} from './property.ts';
import {
  type CatalogEntry,
  countProperties,
  deleteSample,
  findPropertiesByKeys,
  listShownSamples,
  takePropertyNumbers,
  updateConflict,
  updateSighting,
} from './queries.ts';

/** The catalog has no room for all new keys of an owner. */
export interface NoRoom {
  readonly error: ApiError;
  /** The new keys of the owner for which there is no room, the last ones. */
  readonly misfits: readonly string[];
}

export interface ManyLearned {
  /**
   * One item for each of `given`, in its order. With `NoRoom`, nothing of this owner may be written.
   */
  readonly each: readonly (LearnedProperties | NoRoom)[];
  /** For `recordManySightings`. */
  readonly sightings: readonly Sighting[];
  /** Numbers of values with another type than the catalog's, by the key's number. */
  readonly conflicts: ReadonlyMap<number, number>;
}

/** With `takesPart`, an owner with `NoRoom` adds those of its new keys that fit. */
export async function learnManyProperties(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  given: readonly PropertyChanges[],
  takesPart = false,
): Promise<ManyLearned> {
  const keys = [...new Set(given.flatMap((changes) => [...changes.keys()]))];
  if (keys.length === 0) return { each: given.map(() => nothingLearned), sightings: [], conflicts: new Map() };
  let entries = byKey(await findPropertiesByKeys(tx, appId, keys));
  const refused = new Map<PropertyChanges, NoRoom>();
  const unknown = new Set(given.flatMap((changes) => keysToAdd(changes, entries)));
  if (unknown.size > 0) {
    const firstNumber = await takePropertyNumbers(tx, appId, unknown.size);
    // Another transaction may have added the same keys, with other types, while this one waited for
    // the lock.
    entries = byKey(await findPropertiesByKeys(tx, appId, keys));
    const room = propertiesPerAppMax - (await countProperties(tx, appId));
    const values = chooseNewKeys(given, entries, { room, takesPart }, refused);
    for (const entry of await addToCatalog(tx, clock, appId, values, [...values.keys()], firstNumber)) {
      entries.set(entry.key, entry);
    }
  }

  const sightings: Sighting[] = [];
  const conflicts = new Map<number, number>();
  const each = given.map((changes): LearnedProperties | NoRoom => {
    const refusal = refused.get(changes);
    if (refusal) return refusal;
    const learned = sortOut(changes, entries, true, clock.nowMs());
    for (const sighting of learned.sightings) {
      if (sighting.conflictQuietMs !== undefined) {
        conflicts.set(sighting.id, (conflicts.get(sighting.id) ?? 0) + 1);
      } else {
        sightings.push(sighting);
        noteSeen(entries, sighting, clock);
      }
    }
    return learned;
  });
  return { each, sightings, conflicts };
}

// Chooses the first value of each new key, owner by owner, and refuses an owner whose new keys do
// not all have room.
function chooseNewKeys(
  given: readonly PropertyChanges[],
  entries: ReadonlyMap<string, CatalogEntry>,
  { room, takesPart }: { readonly room: number; readonly takesPart: boolean },
  refused: Map<PropertyChanges, NoRoom>,
): Map<string, PropertyValue> {
  const values = new Map<string, PropertyValue>();
  for (const changes of given) {
    const added = keysToAdd(changes, entries).filter((key) => !values.has(key));
    const fitting = added.slice(0, Math.max(0, room - values.size));
    const misfits = added.slice(fitting.length);
    if (misfits.length > 0) refused.set(changes, { error: tooManyProperties(), misfits });
    if (misfits.length > 0 && !takesPart) continue;
    for (const key of fitting) values.set(key, changes.get(key) ?? false);
  }
  return values;
}

// Updates the entry in memory, so that later owners do not record the same value as a first one
// again.
function noteSeen(entries: Map<string, CatalogEntry>, { id, sample }: Sighting, clock: Clock): void {
  for (const entry of entries.values()) {
    if (entry.id !== id) continue;
    const samples = sample === null ? entry.samples : [...entry.samples, sample].slice(0, samplesMax);
    entries.set(entry.key, { ...entry, samples, lastSeenAt: clock.date() });
    return;
  }
}

/** Does what `recordSightings` does, for many owners. Call it last in the transaction. */
export async function recordManySightings(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  { sightings, conflicts }: Omit<ManyLearned, 'each'>,
  gone: readonly TextGone[],
): Promise<void> {
  const shown = gone.length === 0 ? [] : await listShownSamples(tx, appId, gone);
  // A text that an owner no longer has is not kept as a sample, even if another owner of this call
  // has it. The next request with that text adds it again.
  const lost = new Set(gone.map(({ id, sample }) => `${id} ${sample}`));
  const numbers = new Set([...shown.map(({ id }) => id), ...sightings.map(({ id }) => id), ...conflicts.keys()]);
  for (const number of [...numbers].sort((a, b) => a - b)) {
    for (const { id, sample } of shown) if (id === number) await deleteSample(tx, appId, id, sample);
    for (const { id, sample } of sightings) {
      if (id !== number) continue;
      const kept = lost.has(`${id} ${sample}`) ? null : sample;
      await updateSighting(tx, clock, appId, { id, sample: kept, samplesMax });
    }
    const count = conflicts.get(number);
    if (count !== undefined) await updateConflict(tx, clock, appId, { id: number, quietMs: 0, count });
  }
}
