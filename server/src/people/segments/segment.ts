// A segment: a filter with a name. The filter is stored as its author wrote it and checked against
// the catalog at every use. A deleted key therefore makes the segment invalid at once, and the
// key's return makes it valid again. Pure.
import { z } from 'zod';
import { component, pathName, shownName, text } from '../../ground/http/schemas.ts';
import type { IssueCode } from '../../ground/values/issue.ts';
import { filterField } from '../audience/audience.ts';
import { type CheckedFilter, checkFilter } from '../audience/check-filter.ts';
import { type Filter, parseFilter } from '../audience/filter.ts';
import type { Property } from '../properties/property.ts';

/** Segments of one app at most. */
export const segmentsMax = 1_000;

export const segmentName = shownName(pathName(text(128, 1)));

export const exampleFilter = {
  and: [
    { field: 'country', op: 'eq', value: 'DE' },
    { field: 'properties.plan', op: 'eq', value: 'pro' },
  ],
};

export const segmentRequestSchema = component(
  'SegmentRequest',
  z.strictObject({
    name: segmentName,
    description: text(1_024).nullish(),
    filter: filterField,
  }),
  { name: 'Pro users in DE', filter: exampleFilter },
);

/** Reasons why a segment selects nobody now (contract 5.5). */
export const invalidReasons = ['unknown_property', 'operator_not_allowed', 'value_type_mismatch'] as const;
export type InvalidReason = (typeof invalidReasons)[number];

export type SegmentState =
  | { readonly isValid: true; readonly filter: CheckedFilter }
  | { readonly isValid: false; readonly reason: InvalidReason };

/**
 * Checks a stored filter against the catalog, which must hold at least the keys that the filter
 * names.
 */
export function stateOfFilter(stored: Filter, catalog: ReadonlyMap<string, Property>): SegmentState {
  const checked = checkFilter(stored, catalog);
  if ('filter' in checked) return { isValid: true, filter: checked.filter };
  return { isValid: false, reason: reasonOf(checked.issues[0]?.code) };
}

function reasonOf(code: IssueCode | undefined): InvalidReason {
  return invalidReasons.find((reason) => reason === code) ?? 'value_type_mismatch';
}

/**
 * Reads a stored filter again. Every filter that was once accepted is valid in the same grammar.
 */
export function readStoredFilter(json: unknown): Filter {
  const parsed = parseFilter(json);
  if ('filter' in parsed) return parsed.filter;
  throw new Error(`a stored filter is invalid: ${parsed.issues[0]?.message}`);
}
