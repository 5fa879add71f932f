// The operators of each type, and the built-in fields of a filter (contract 6).
import type { PropertyType } from './property.ts';

export type FieldType = PropertyType | 'datetime';

const operatorsOfString = [
  'eq',
  'neq',
  'in',
  'not_in',
  'contains',
  'not_contains',
  'starts_with',
  'ends_with',
  'exists',
  'not_exists',
] as const;
const operatorsOfNumber = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'not_in', 'exists', 'not_exists'] as const;
const operatorsOfBoolean = ['eq', 'neq', 'exists', 'not_exists'] as const;
const operatorsOfDatetime = ['before', 'after', 'within_last', 'exists', 'not_exists'] as const;

export type Operator =
  | (typeof operatorsOfString)[number]
  | (typeof operatorsOfNumber)[number]
  | (typeof operatorsOfDatetime)[number];

export const operatorsOfType: Readonly<Record<FieldType, readonly Operator[]>> = {
  string: operatorsOfString,
  number: operatorsOfNumber,
  boolean: operatorsOfBoolean,
  datetime: operatorsOfDatetime,
};

/** Every field of a filter that is not a property, in the order of contract 6. */
export const builtinFields = {
  external_id: 'string',
  first_name: 'string',
  country: 'string',
  language: 'string',
  timezone: 'string',
  created_at: 'datetime',
  'device.platform': 'string',
  'device.locale': 'string',
  'device.timezone': 'string',
  'device.app_version': 'string',
  'device.sdk': 'string',
  'device.os': 'string',
  'device.os_version': 'string',
  'device.model': 'string',
  'device.created_at': 'datetime',
  'device.last_seen_at': 'datetime',
  'device.identified': 'boolean',
} as const satisfies Record<string, FieldType>;

export type BuiltinField = keyof typeof builtinFields;
