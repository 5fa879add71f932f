// The properties in the event catalog: for each name the keys, with types and a few values. A
// process remembers the stored ones, so that an event writes to the catalog only when it brings
// something new. The number of remembered keys is bounded, whatever strangers send.
import type { Uuid } from '../../ground/values/ids.ts';
import type { EventGiven } from './event.ts';

export const eventPropertyTypes = ['string', 'number', 'boolean', 'object', 'array', 'null'] as const;
export type EventPropertyType = (typeof eventPropertyTypes)[number];

export type Sample = string | number | boolean;

export interface NewEventProperty {
  readonly name: string;
  readonly key: string;
  readonly type: EventPropertyType;
  /** Null for a value that is no scalar, and for every value by client key. */
  readonly sample: Sample | null;
  /** The subject of the event that brought the property. */
  readonly subjectId: Uuid;
  readonly byClient: boolean;
}

/** An event that may bring new properties. */
export interface EventSeen extends Pick<EventGiven, 'name' | 'properties'> {
  readonly subjectId: Uuid;
  readonly byClient: boolean;
}

export interface KnownProperties {
  /**
   * Returns new properties of these events, perhaps not all of them: each key and type once, in the
   * order in which rows are locked.
   */
  findNew(appId: Uuid, events: readonly EventSeen[]): NewEventProperty[];
  /**
   * Returns whether these events have a key, or a type of a key, that the process does not know.
   */
  hasNew(appId: Uuid, events: readonly Pick<EventGiven, 'name' | 'properties'>[]): boolean;
  /** Remembers properties that are stored and committed. */
  note(appId: Uuid, stored: readonly NewEventProperty[]): void;
  /** Forgets the app's properties, because one of its names was deleted. */
  forget(appId: Uuid): void;
}

/** The samples of each type that are known to be stored, for one key of one name. */
type Types = Partial<Record<EventPropertyType, Set<Sample>>>;

export const samplesMax = 5;
const sampleLengthMax = 64;
/**
 * Keys that a process remembers. Above this number it forgets all of them and asks the database
 * again.
 */
const keysMax = 20_000;
/** Properties that one request adds at most; later requests add the rest. */
const newAtOnceMax = 100;

export function createKnownProperties(): KnownProperties {
  /** By app and name, then by key. */
  let names = new Map<string, Map<string, Types>>();
  let keys = 0;

  const remember = (appId: Uuid, { name, key, type, sample }: NewEventProperty): void => {
    if (keys >= keysMax) {
      names = new Map();
      keys = 0;
    }
    const id = nameKey(appId, name);
    const ofName = names.get(id) ?? new Map<string, Types>();
    names.set(id, ofName);
    const types = ofName.get(key) ?? {};
    if (!ofName.has(key)) keys++;
    ofName.set(key, types);
    types[type] ??= new Set();
    if (sample !== null) types[type].add(sample);
  };

  return {
    findNew(appId, events) {
      // One sample of each property at a time; later events add further samples.
      const found = new Map<string, NewEventProperty>();
      for (const { name, properties, subjectId, byClient } of events) {
        if (found.size >= newAtOnceMax) break;
        const known = names.get(nameKey(appId, name));
        for (const key of Object.keys(properties)) {
          const value = properties[key];
          const type = typeOf(value);
          const samples = known?.get(key)?.[type];
          // Most keys are in steady use and have all their samples.
          if (samples?.size === samplesMax || (byClient && samples)) continue;
          const sample = isScalar(value) && !byClient ? sampleOf(value) : null;
          const isNew = samples === undefined || (sample !== null && !samples.has(sample));
          if (isNew) found.set(`${type} ${name}\n${key}`, { name, key, type, sample, subjectId, byClient });
        }
      }
      return [...found.values()].sort(byLock);
    },
    hasNew(appId, events) {
      return events.some(({ name, properties }) => {
        const known = names.get(nameKey(appId, name));
        return Object.keys(properties).some((key) => known?.get(key)?.[typeOf(properties[key])] === undefined);
      });
    },
    note(appId, stored) {
      for (const property of stored) remember(appId, property);
    },
    forget(appId) {
      for (const [id, ofName] of names) {
        if (!id.startsWith(`${appId} `)) continue;
        keys -= ofName.size;
        names.delete(id);
      }
    },
  };
}

const nameKey = (appId: Uuid, name: string): string => `${appId} ${name}`;

function typeOf(value: unknown): EventPropertyType {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : (typeof value as EventPropertyType);
}

function isScalar(value: unknown): value is Sample {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/**
 * Shortens a value to a sample. The cut never splits a surrogate pair, because the database could
 * not store half of one.
 */
function sampleOf(value: Sample): Sample {
  if (typeof value !== 'string' || value.length <= sampleLengthMax) return value;
  const cut = value.slice(0, sampleLengthMax);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

/** The order in which rows are locked: by name, key and type. */
function byLock(a: NewEventProperty, b: NewEventProperty): number {
  for (const field of ['name', 'key', 'type'] as const) if (a[field] !== b[field]) return a[field] < b[field] ? -1 : 1;
  return 0;
}
