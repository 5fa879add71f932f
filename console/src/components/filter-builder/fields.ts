// Fields, operators and units in words, and the form of the value that each operator takes. The
// service decides what is allowed. Nothing is refused here.
import type { Json } from './tree.ts';

export type FieldType = 'string' | 'number' | 'boolean' | 'datetime';

export interface Field {
  readonly field: string;
  readonly type: FieldType;
  readonly operators: readonly string[];
}

const fieldNames: Readonly<Record<string, string>> = {
  external_id: 'external id',
  first_name: 'first name',
  country: 'country',
  language: 'language',
  timezone: 'time zone',
  created_at: 'first known',
  'device.platform': 'platform',
  'device.locale': 'device language',
  'device.timezone': 'device time zone',
  'device.app_version': 'app version',
  'device.sdk': 'SDK',
  'device.os': 'system',
  'device.os_version': 'system version',
  'device.model': 'model',
  'device.created_at': 'device registered',
  'device.last_seen_at': 'device last seen',
  'device.identified': 'device belongs to a user',
};

const propertyPrefix = 'properties.';
export const isProperty = (field: string): boolean => field.startsWith(propertyPrefix);
export const propertyOf = (key: string): string => propertyPrefix + key;
export const keyOf = (field: string): string => field.slice(propertyPrefix.length);

/** The name of a field as people read it. */
export const nameOfField = (field: string): string => (isProperty(field) ? keyOf(field) : (fieldNames[field] ?? field));

const operatorNames: Readonly<Record<string, string>> = {
  eq: 'is',
  neq: 'is not',
  in: 'is one of',
  not_in: 'is none of',
  contains: 'contains',
  not_contains: 'does not contain',
  starts_with: 'begins with',
  ends_with: 'ends with',
  exists: 'has a value',
  not_exists: 'has no value',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  before: 'is before',
  after: 'is after',
  within_last: 'is within the last',
};
export const nameOfOperator = (op: unknown): string => operatorNames[String(op)] ?? String(op);

export const countNames: Readonly<Record<string, string>> = {
  gte: 'at least',
  lte: 'at most',
  gt: 'more than',
  lt: 'less than',
  eq: 'exactly',
};

/** The operators of each type, for properties of events, which have no catalog. */
export const operatorsOfType: Readonly<Record<Exclude<FieldType, 'datetime'>, readonly string[]>> = {
  string: ['eq', 'neq', 'in', 'not_in', 'contains', 'not_contains', 'starts_with', 'ends_with', 'exists', 'not_exists'],
  number: ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'not_in', 'exists', 'not_exists'],
  boolean: ['eq', 'neq', 'exists', 'not_exists'],
};

export const latestNames: Readonly<Record<string, string>> = {
  within_last: 'within the last',
  before: 'before',
  after: 'after',
};

export const platforms = ['web', 'ios', 'android'] as const;

export const unitNames = { m: 'minutes', h: 'hours', d: 'days' } as const;
export type Unit = keyof typeof unitNames;

/** The parts of a duration such as `30d`; undefined when the text is none. */
export function readDuration(text: unknown): { readonly number: number; readonly unit: Unit } | undefined {
  const [, digits, unit] = /^(\d+)([mhd])$/.exec(String(text)) ?? [];
  return digits === undefined ? undefined : { number: Number(digits), unit: unit as Unit };
}

type Form = 'none' | 'one' | 'list' | 'instant' | 'duration';

/** The form of the value of an operator. */
export function formOf(op: unknown): Form {
  switch (op) {
    case 'exists':
    case 'not_exists':
      return 'none';
    case 'in':
    case 'not_in':
      return 'list';
    case 'before':
    case 'after':
      return 'instant';
    case 'within_last':
      return 'duration';
    default:
      return 'one';
  }
}

/** Converts a value to the form of another operator. Everything that the form can hold is kept. */
export function valueFor(op: string, value: unknown): unknown {
  const items: readonly unknown[] = Array.isArray(value) ? value : value === undefined ? [] : [value];
  switch (formOf(op)) {
    case 'none':
      return undefined;
    case 'list':
      return items.length === 0 ? undefined : items;
    case 'duration':
      return readDuration(value) ? value : '30d';
    case 'instant':
      return Number.isNaN(Date.parse(String(value))) ? undefined : value;
    default:
      return readDuration(value) || items.length === 0 ? undefined : items[0];
  }
}

/** Whether a comparison has all its parts, so that it can be counted. */
export function isComparisonComplete({ field, op, value }: Json): boolean {
  if (typeof field !== 'string' || field === '' || field === propertyPrefix) return false;
  if (formOf(op) === 'none') return true;
  if (Array.isArray(value)) return value.length > 0;
  if (value === undefined || value === null) return false;
  return value !== '' || op === 'eq' || op === 'neq';
}

/** Whether a condition on events has all its parts. */
export function isEventComplete({ event, where }: Json): boolean {
  if (typeof event !== 'string' || event === '') return false;
  return !Array.isArray(where) || where.every((condition) => isComparisonComplete(condition as Json));
}
