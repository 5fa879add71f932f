// Real values of a field, for people who write a condition. Reads a bounded number of rows: the
// newest devices, and an index for names of people. Neither contains values of erased people.

import type { Sql } from '@carillon/postgres';
import { invalid } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { listFrequentValues } from '../audience/value-queries.ts';
import { type BuiltinField, builtinFields } from '../properties/fields.ts';
import type { PropertyValue } from '../properties/property.ts';
import { findPropertiesByKeys } from '../properties/queries.ts';
import { listProfileTexts } from '../users/queries.ts';

export const suggestionsMax = 20;
const propertyPrefix = 'properties.';

/**
 * Lists values of a field, the most frequent first. `search`: the beginning of a value, letter case
 * ignored. Throws the 400 for an unknown field.
 */
export async function suggestValues(
  sql: Sql,
  appId: Uuid,
  field: string,
  search: string | null,
): Promise<readonly PropertyValue[]> {
  if (field.startsWith(propertyPrefix)) {
    const [property] = await findPropertiesByKeys(sql, appId, [field.slice(propertyPrefix.length)]);
    if (!property)
      throw invalid([{ path: ['field'], code: 'unknown_property', message: 'The app has no such property.' }]);
    if (property.type === 'boolean') return [true, false];
    return listFrequentValues({ sql, appId }, { operand: { property }, type: property.type, search }, suggestionsMax);
  }
  if (!isBuiltin(field)) {
    throw invalid([{ path: ['field'], code: 'invalid_value', message: 'This is no field of a filter.' }]);
  }
  const type = builtinFields[field];
  if (type === 'boolean') return [true, false];
  if (type === 'datetime') return [];
  const isName = field === 'external_id' || field === 'first_name';
  // The newest devices belong to few of all people. An index finds the others.
  if (isName && search !== null) return listProfileTexts(sql, appId, field, search, suggestionsMax);
  return listFrequentValues({ sql, appId }, { operand: { builtin: field }, type, search }, suggestionsMax);
}

function isBuiltin(field: string): field is BuiltinField {
  return Object.hasOwn(builtinFields, field);
}
