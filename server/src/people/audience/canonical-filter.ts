// Brings the values of a filter to canonical form (contract 6), in which filters are stored. Only
// whole values have one: a part of a text stays as written. A rewritten filter selects the same
// devices. Pure.

import { isRecord } from '../../ground/values/is-record.ts';
import { canonicalLocale, spellingsOf } from '../../sending/content/locales.ts';
import type { Audience } from './audience.ts';

/** The fields whose values have a canonical form. */
export const canonicalFields = ['country', 'language', 'device.locale'];

const wholeOperators: readonly unknown[] = ['eq', 'neq', 'in', 'not_in'];

/**
 * Returns the same object when nothing changes. A value that is no filter is returned unchanged.
 */
export function canonicalFilter(filter: unknown): unknown {
  if (Array.isArray(filter)) return changed(filter, filter.map(canonicalFilter));
  if (!isRecord(filter)) return filter;
  const { field, op, value } = filter;
  if (typeof field === 'string') {
    if (!canonicalFields.includes(field) || !wholeOperators.includes(op)) return filter;
    const values = Array.isArray(value) ? value : [value];
    const forms = changed(values, [...new Set(values.map((each) => canonicalValue(field, each)))]);
    return forms === values ? filter : { ...filter, value: Array.isArray(value) ? forms : forms[0] };
  }
  for (const form of ['and', 'or', 'not']) {
    const inner = canonicalFilter(filter[form]);
    if (inner !== filter[form]) return { ...filter, [form]: inner };
  }
  return filter;
}

export function canonicalAudience(audience: Audience): Audience {
  if (!('filter' in audience)) return audience;
  const filter = canonicalFilter(audience.filter);
  return filter === audience.filter ? audience : { filter };
}

function canonicalValue(field: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (field === 'country') return value.toUpperCase();
  const form = canonicalLocale(value) ?? value;
  if (field === 'device.locale') return form;
  // A user's language is stored as its writer spelled it (contract 9). `en-UK` stays, because the
  // value `en-GB` would no longer select a user who is stored as `en-UK`.
  const selected = spellingsOf(form);
  return spellingsOf(value).every((spelling) => selected.includes(spelling)) ? form : value;
}

function changed(former: readonly unknown[], after: readonly unknown[]): readonly unknown[] {
  const isSame = former.length === after.length && former.every((each, index) => each === after[index]);
  return isSame ? former : after;
}
