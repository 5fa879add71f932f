// Translates a checked filter into one parameterised predicate over `audience` under the alias `a`
// (design 3). Every value is a parameter and every column name is one of ours; no part of a filter
// becomes SQL text. The logic is two-valued: a missing value fulfils no positive comparison, and a
// negation is exact. Therefore every negation is written `IS NOT TRUE`.
import type { Fragment, Tx } from '@carillon/postgres';
import type { BuiltinField } from '../properties/fields.ts';
import type { Property } from '../properties/property.ts';
import { slotColumn } from '../properties/slots.ts';
import type { CheckedFilter, CheckedLeaf, Operand } from './check-filter.ts';
import { eventToSql } from './event-to-sql.ts';
import { platformUnits } from './platform-units.ts';
import { type SqlContext, testToSql } from './test-to-sql.ts';

/**
 * The result is true or null for matching rows, and false or null for all other rows. Use it in a
 * WHERE, or before `IS TRUE`.
 */
export function filterToSql(context: SqlContext, filter: CheckedFilter): Fragment {
  const { tx } = context;
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const word = filter.kind === 'and' ? tx` AND ` : tx` OR `;
      const parts = filter.nodes.map((node, i) => tx`${i === 0 ? tx`` : word}${filterToSql(context, node)}`);
      return tx`(${parts})`;
    }
    case 'not':
      return tx`(${filterToSql(context, filter.node)}) IS NOT TRUE`;
    case 'event':
      return eventToSql(context, filter);
    case 'leaf':
      return leafToSql(context, filter);
  }
}

function leafToSql(context: SqlContext, leaf: CheckedLeaf): Fragment {
  const { tx } = context;
  // `device.identified` has no column of its own and is never missing.
  if ('builtin' in leaf.operand && leaf.operand.builtin === 'device.identified') {
    const wanted = leaf.test.kind === 'is' ? leaf.test.values[0] === true : null;
    if (wanted === null) return leaf.isNegated ? tx`false` : tx`true`;
    return wanted === leaf.isNegated ? tx`a.user_id IS NULL` : tx`a.user_id IS NOT NULL`;
  }
  const positive =
    'builtin' in leaf.operand && leaf.operand.builtin === 'device.platform' && leaf.test.kind === 'is'
      ? platformToSql(tx, leaf.test.values)
      : testToSql(tx, context.now, operandColumn(tx, leaf.operand), leaf.test);
  return leaf.isNegated ? tx`(${positive}) IS NOT TRUE` : positive;
}

/** Whole platforms are compared by their units, which every index includes. */
function platformToSql(tx: Tx, names: readonly unknown[]): Fragment {
  const units = Object.entries(platformUnits).flatMap(([name, unit]) => (names.includes(name) ? [unit] : []));
  const [unit] = units;
  if (units.length === 1) return tx`a.platform_unit = ${unit ?? null}::int`;
  return tx`(a.platform_unit IS NOT NULL AND a.platform_unit = ANY(${units}::int[]))`;
}

/** The column of each built-in field that has one. Indexes are named after these columns. */
export const builtinColumns: Readonly<Record<Exclude<BuiltinField, 'device.identified'>, string>> = {
  external_id: 'external_id',
  first_name: 'first_name',
  country: 'country',
  language: 'language',
  timezone: 'user_timezone',
  created_at: 'user_created_at',
  'device.platform': 'platform_unit',
  'device.locale': 'locale',
  'device.timezone': 'timezone',
  'device.app_version': 'app_version',
  'device.sdk': 'sdk',
  'device.os': 'os',
  'device.os_version': 'os_version',
  'device.model': 'model',
  'device.created_at': 'created_at',
  'device.last_seen_at': 'last_seen_at',
};

/** The column in which an operand's values are read. `device.identified` has none. */
export function operandColumn(tx: Tx, operand: Operand): Fragment {
  return 'builtin' in operand ? builtinColumn(tx, operand.builtin) : propertyColumn(tx, operand.property);
}

function builtinColumn(tx: Tx, field: BuiltinField): Fragment {
  if (field === 'device.identified') throw new Error('device.identified has no column');
  // A part of a platform's name is compared with the name itself.
  return field === 'device.platform' ? tx`a.platform` : tx`a.${tx(builtinColumns[field])}`;
}

function propertyColumn(tx: Tx, property: Property): Fragment {
  const { type, slot } = property;
  return slot === null ? overflowColumn(tx, property) : tx`a.${tx(slotColumn(type, slot))}`;
}

/**
 * A property's value in `overflow`. The value keeps its JSON type there; a value of another type
 * than the catalog's counts as missing.
 */
export function overflowColumn(tx: Tx, { id, type }: Pick<Property, 'id' | 'type'>): Fragment {
  const value = tx`a.overflow -> ${String(id)}::text`;
  if (type === 'string') {
    return tx`(CASE WHEN jsonb_typeof(${value}) = 'string' THEN a.overflow ->> ${String(id)}::text END)`;
  }
  return type === 'number'
    ? tx`(CASE WHEN jsonb_typeof(${value}) = 'number' THEN (${value})::float8 END)`
    : tx`(CASE WHEN jsonb_typeof(${value}) = 'boolean' THEN (${value})::boolean END)`;
}
