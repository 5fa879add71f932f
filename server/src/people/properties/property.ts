// A property: a key of the app's catalog with its inferred type, and the values that users and
// devices have under it. Stored values are keyed by the catalog's number and never by name, so a
// deleted key is invisible at once.
import { z } from 'zod';
import { component } from '../../ground/http/schemas.ts';
import { type IssueCode, issueOf, issuesMax } from '../../ground/values/issue.ts';

export const propertyTypes = ['string', 'number', 'boolean'] as const;
export type PropertyType = (typeof propertyTypes)[number];
export type PropertyValue = string | number | boolean;

/** The catalog's entry of a key. */
export interface Property {
  /** The key's number in the app; no number is used twice. */
  readonly id: number;
  readonly key: string;
  readonly type: PropertyType;
  /**
   * The number of the typed column of `audience` where its values are read; null: they are read in
   * `overflow`.
   */
  readonly slot: number | null;
  /** While the key moves: the slot that it moves into. */
  readonly moveSlot?: number | null;
  readonly movePhase?: MovePhase | null;
}

/**
 * The phase of a key that moves from the overflow into a slot.
 *
 * - `filling`: values are written to both places, and the overflow is copied to the slot.
 * - `switched`: the slot is read; both are written, for processes that know the old catalog.
 * - `clearing`, in the version before alone: only the place that is read is written.
 */
export type MovePhase = 'filling' | 'switched' | 'clearing';

/** Values by catalog number, as they are stored. */
export type StoredProperties = Readonly<Record<string, PropertyValue>>;

/** The changes that a request makes to properties, by key; null deletes. */
export type PropertyChanges = ReadonlyMap<string, PropertyValue | null>;
export const noChanges: PropertyChanges = new Map();

/** A value whose type differs from the catalog's. It is neither written nor converted. */
export interface PropertyConflict {
  readonly property: Property;
  readonly value: PropertyValue;
}

/** Keys stored for one user, or for one device itself (contract 9). */
export const propertiesPerOwnerMax = 100;
/** Keys in an app's catalog. */
export const propertiesPerAppMax = 1_000;

export const keyPattern = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const stringBytesMax = 1_024;
const sampleLengthMax = 64;
export const samplesMax = 5;

export function typeOfValue(value: PropertyValue): PropertyType {
  return typeof value as PropertyType;
}

/**
 * The `properties` field of a request. The result is a Map and not an object, because `__proto__`
 * and `constructor` are ordinary keys, and zod's records drop `__proto__`.
 */
export const propertyChanges: z.ZodType<PropertyChanges> = z
  .unknown()
  .transform(readChanges)
  .meta({
    type: 'object',
    propertyNames: { pattern: keyPattern.source },
    additionalProperties: { type: ['string', 'number', 'boolean', 'null'], maxLength: stringBytesMax },
  });

function readChanges(input: unknown, context: z.core.$RefinementCtx): PropertyChanges {
  const changes = new Map<string, PropertyValue | null>();
  const refuse = (path: string[], code: IssueCode, message: string): void => {
    context.issues.push(issueOf({ path, code, message }, input));
  };
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    refuse([], 'invalid_type', 'properties must be an object.');
    return z.NEVER;
  }
  for (const [key, value] of Object.entries(input)) {
    if (context.issues.length >= issuesMax) break;
    if (!keyPattern.test(key)) {
      refuse([key], 'invalid_format', 'A property key has 1 to 64 of A-Z a-z 0-9 _ - and begins with a letter or _.');
    } else if (value === null || typeof value === 'boolean') changes.set(key, value);
    else if (typeof value === 'number') {
      if (Number.isFinite(value)) changes.set(key, value === 0 ? 0 : value);
      else refuse([key], 'invalid_value', 'A number must be finite.');
    } else if (typeof value === 'string') {
      if (Buffer.byteLength(value) <= stringBytesMax) changes.set(key, value);
      else refuse([key], 'too_big', `A string value has at most ${stringBytesMax} bytes.`);
    } else refuse([key], 'invalid_type', 'A property is a string, a number, a boolean or null.');
  }
  return changes;
}

/**
 * Merges changes into stored values. Values under numbers that the catalog no longer has (`isLive`)
 * are dropped, so they count for no limit.
 */
export function mergeProperties(
  stored: StoredProperties,
  changes: ReadonlyMap<number, PropertyValue | null>,
  isLive: (id: number) => boolean,
): StoredProperties {
  const merged = new Map<string, PropertyValue>();
  for (const [id, value] of Object.entries(stored)) {
    if (isLive(Number(id))) merged.set(id, value);
  }
  for (const [id, value] of changes) {
    if (value === null) merged.delete(String(id));
    else merged.set(String(id), value);
  }
  return Object.fromEntries(merged);
}

/**
 * Returns whether two states of an owner show the same values. Values under numbers that the catalog
 * no longer has (`isLive`) are not shown.
 */
export function showsSame(one: StoredProperties, other: StoredProperties, isLive: (id: number) => boolean): boolean {
  const ids = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...ids].every((id) => one[id] === other[id] || !isLive(Number(id)));
}

/** A text that an owner had under a property, as a sample shows it. */
export interface TextGone {
  readonly id: number;
  readonly sample: string;
}

/**
 * Lists the texts that an owner no longer has after a change. A text whose sample looks the same as
 * before is not listed.
 */
export function textsGone(former: StoredProperties, stored: StoredProperties): TextGone[] {
  return Object.entries(former).flatMap(([id, value]) => {
    if (typeof value !== 'string') return [];
    const sample = sampleOf(value);
    const now = stored[id];
    return now !== undefined && sampleOf(now) === sample ? [] : [{ id: Number(id), sample: String(sample) }];
  });
}

export const propertyValue = component('PropertyValue', z.union([z.string(), z.number(), z.boolean()]));
export const propertyValues = component('PropertyValues', z.record(z.string(), propertyValue));
export const propertyConflict = component(
  'PropertyConflict',
  z
    .strictObject({
      key: z.string(),
      expected: z.enum(propertyTypes),
      received: z.enum(propertyTypes),
      value: propertyValue,
      kept: propertyValue.nullable(),
    })
    .describe('A value of another type than its key has in the catalog: neither written nor converted.'),
);

/**
 * Stored values by key, as an answer shows them. The object has no prototype, so that every key is
 * an own key.
 */
export function presentProperties(
  stored: StoredProperties,
  catalog: ReadonlyMap<number, Property>,
): Record<string, PropertyValue> {
  const shown: Record<string, PropertyValue> = Object.create(null);
  for (const [id, value] of Object.entries(stored)) {
    const property = catalog.get(Number(id));
    if (property) shown[property.key] = value;
  }
  return shown;
}

/**
 * An item of `property_conflicts`. `stored` has the values that were kept; null hides them from
 * client keys.
 */
export function presentConflict(conflict: PropertyConflict, stored: StoredProperties | null) {
  const { property, value } = conflict;
  return {
    key: property.key,
    expected: property.type,
    received: typeOfValue(value),
    value,
    kept: stored?.[property.id] ?? null,
  };
}

/**
 * Shortens a value to a sample. The cut never splits a surrogate pair, because the database could
 * not store half of one.
 */
export function sampleOf(value: PropertyValue): PropertyValue {
  return typeof value === 'string' && value.length > sampleLengthMax
    ? value
        .slice(0, sampleLengthMax)
        .toWellFormed()
        .replace(/\uFFFD$/, '')
    : value;
}
