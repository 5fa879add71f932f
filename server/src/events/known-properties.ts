// The event catalog's properties: which keys events of a name have, with what types of values and a few of them. A process
// remembers what is stored, so that an event is written there only when it brings something new. Holds a bounded number of keys,
// whatever strangers send.
import type { Uuid } from '../platform/ids.ts';
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
  /** The subject of the event that brought it. */
  readonly subjectId: Uuid;
  readonly byClient: boolean;
}

/** An event that may bring something new. */
export interface EventSeen extends Pick<EventGiven, 'name' | 'properties'> {
  readonly subjectId: Uuid;
  readonly byClient: boolean;
}

export interface KnownProperties {
  /** What is new in these events, or some of it, each key and type once, in the order in which its rows are locked. */
  findNew(appId: Uuid, events: readonly EventSeen[]): NewEventProperty[];
  /** Whether these events have a key, or a type of one, that the process does not know. */
  hasNew(appId: Uuid, events: readonly Pick<EventGiven, 'name' | 'properties'>[]): boolean;
  /** These are stored for good. */
  note(appId: Uuid, stored: readonly NewEventProperty[]): void;
  /** Forgets the app's properties: one of its names was deleted. */
  forget(appId: Uuid): void;
}

/** Of one key under one name: the samples of a type that are known to be stored. */
type Types = Partial<Record<EventPropertyType, Set<Sample>>>;

export const samplesMax = 5;
const sampleLengthMax = 64;
/** Keys under names that a process remembers; then it forgets them all and asks anew. */
const keysMax = 20_000;
/** What a request can bring the catalog; a later one brings the rest. */
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
      // One sample of each at a time: the next event brings the next.
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

/** As it is shown: never cut inside a surrogate pair, which the database could not store. */
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
