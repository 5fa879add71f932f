// The audience of a message: a request names it by exactly one selector (contract 5.1). Pure;
// `queries.ts` asks the database which devices it selects.
import { z } from 'zod';
import { component, list, text } from '../../ground/http/schemas.ts';
import { issueOf } from '../../ground/values/issue.ts';
import { parseFilter } from './filter.ts';

/**
 * The selector in the caller's own spelling, because an answer shows it as the caller's document.
 */
export type Audience =
  | { readonly all: true }
  | { readonly device_ids: readonly string[] }
  | { readonly external_ids: readonly string[] }
  | { readonly segment_id: string }
  | { readonly filter: unknown };

/** A field beside `users`. */
export const usersEstimated = z.literal(true).optional().describe('Only where `users` is an estimate.');

const selectors = ['all', 'device_ids', 'external_ids', 'segment_id', 'filter'] as const;
const idsMax = 10_000;

/**
 * A filter in a request. Only its form is checked here, and the filter is kept as it was written.
 * Whether the filter fits the catalog depends on stored data and is checked later (contract 1).
 */
export const filterField = z
  .unknown()
  .superRefine((value, context) => {
    if (value === undefined) {
      context.issues.push(issueOf({ path: [], code: 'required', message: 'A filter is required.' }, value));
      return;
    }
    const parsed = parseFilter(value);
    if ('issues' in parsed) for (const issue of parsed.issues) context.issues.push(issueOf(issue, value));
  })
  .meta({
    type: 'object',
    shape: 'Filter',
    description:
      'A node: {and: […]}, {or: […]}, {not: …}, a comparison {field, op, value}, or events {event, count, within, last, where}.',
  });

/**
 * Accepts duplicate ids and ids that match nothing: neither adds a device to the audience. Exactly
 * one selector is allowed, because the union of two would reach more people than either selector
 * alone.
 */
export const audienceSchema = component(
  'Audience',
  z
    .strictObject({
      all: z.literal(true).nullish(),
      device_ids: list(z.string(), { least: 1, most: idsMax }).nullish(),
      external_ids: list(text(256, 1), { least: 1, most: idsMax }).nullish(),
      segment_id: z.string().nullish(),
      filter: filterField.nullish(),
    })
    .transform((given, context): Audience => {
      const { all, device_ids, external_ids, segment_id, filter } = given;
      const audiences: Audience[] = [];
      if (all) audiences.push({ all });
      if (device_ids) audiences.push({ device_ids });
      if (external_ids) audiences.push({ external_ids });
      if (typeof segment_id === 'string') audiences.push({ segment_id });
      if (filter !== undefined && filter !== null) audiences.push({ filter });
      const [audience] = audiences;
      if (audience && audiences.length === 1) return audience;
      const message = `The audience must name exactly one of ${selectors.join(', ')}.`;
      context.issues.push(issueOf({ path: [], code: 'exactly_one_required', message, allowed: selectors }, given));
      return z.NEVER;
    })
    .meta({
      oneOf: [
        { type: 'object', properties: { all: { const: true } }, required: ['all'] },
        { type: 'object', properties: { device_ids: { type: 'array' } }, required: ['device_ids'] },
        { type: 'object', properties: { external_ids: { type: 'array' } }, required: ['external_ids'] },
        { type: 'object', properties: { segment_id: { type: 'string' } }, required: ['segment_id'] },
        { type: 'object', properties: { filter: { type: 'object' } }, required: ['filter'] },
      ],
    }),
);
