// POST /v1/segments/preview: counts an audience before anything is sent.

import type { Sql } from '@carillon/postgres';
import { z } from 'zod';
import type { Clock } from '../../ground/database/clock.ts';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component, count, instant } from '../../ground/http/schemas.ts';
import type { Turns } from '../../ground/http/turns.ts';
import { issueOf } from '../../ground/values/issue.ts';
import type { Caller } from '../../teams/apps/caller.ts';
import { audienceSchema, filterField, usersEstimated } from '../audience/audience.ts';
import { fieldsOf } from '../audience/check-filter.ts';
import type { FieldUses } from '../audience/follow-use.ts';
import { preview } from './preview.ts';
import { resolveAudience } from './resolve-audience.ts';
import { readStoredFilter } from './segment.ts';

export interface PreviewRouteDeps {
  /** The pool of reads. */
  readonly sql: Sql;
  /** The pool of counts, which delay nothing else. */
  readonly countSql: Sql;
  readonly countTurns: Turns;
  readonly clock: Clock;
  readonly fieldUses: FieldUses;
}

const previewed = ['filter', 'segment_id', 'audience'] as const;

const previewRequest = component(
  'PreviewRequest',
  z
    .strictObject({
      filter: filterField.nullish(),
      segment_id: z.string().nullish(),
      audience: audienceSchema.nullish(),
      exclude_segment_id: z.string().nullish(),
    })
    .superRefine((given, context) => {
      if (previewed.filter((name) => given[name] !== undefined && given[name] !== null).length === 1) return;
      const message = `Name exactly one of ${previewed.join(', ')}.`;
      context.issues.push(issueOf({ path: [], code: 'exactly_one_required', message, allowed: previewed }, given));
    }),
  { filter: { field: 'country', op: 'eq', value: 'DE' } },
);
const previewAnswer = component(
  'Preview',
  z.strictObject({
    count: count.describe('Active devices that a send would reach now.'),
    users: count.describe('Distinct users among them: exact up to 100,000 devices, else estimated.'),
    users_estimated: usersEstimated,
    by_channel: z.strictObject({ webpush: count, apns: count, fcm: count }),
    evaluated_at: instant,
  }),
  {
    count: 1234,
    users: 1101,
    by_channel: { webpush: 800, apns: 300, fcm: 134 },
    evaluated_at: '2026-11-21T10:15:30.123Z',
  },
);

const route = routesWith<PreviewRouteDeps, Caller>({ tag: 'Segments', access: 'server' });

export const previewRoutes = [
  route('previewAudience', 'POST /v1/segments/preview', {
    bodyBytesMax: 1024 * 1024,
    summary: 'Count exactly the devices that a filter, a segment or any audience reaches now',
    description: 'A count that takes more than two seconds is 503; `path` leads to its slowest leaf.',
    body: previewRequest,
    answers: ok('The count.', previewAnswer),
    refusals: ['not_found'],
  }).handle(async (deps, { caller: { appId }, body, gone }) => {
    const { filter, segment_id, audience, exclude_segment_id } = body;
    const named = audience ?? (typeof segment_id === 'string' ? { segment_id } : { filter });
    const at = audience ? ['audience'] : [];
    const resolved = await resolveAudience(deps.sql, appId, named, exclude_segment_id ?? null, {
      audience: at,
      exclude: ['exclude_segment_id'],
    });
    // The leaf of a segment is not in the request, so the path can only point at the segment's id.
    const [word] = ['segment_id', 'filter'].filter((name) => name in named);
    const filterPath = word === undefined ? at : [...at, word];
    // A segment's fields are in use as long as it exists.
    if ('filter' in named) deps.fieldUses.note(appId, fieldsOf(readStoredFilter(named.filter)));
    const place = { path: filterPath, isInRequest: 'filter' in named };
    const { sql, countSql, clock } = deps;
    const cancel = { signal: gone(), sql };
    const { evaluatedAt, web, ios, android, devices, users, isEstimated } = await deps.countTurns.run(
      appId,
      async () => {
        const evaluatedAt = clock.date();
        return { evaluatedAt, ...(await preview({ sql: countSql, clock, cancel }, appId, resolved, place)) };
      },
    );
    return {
      count: devices,
      users,
      ...(isEstimated && { users_estimated: true as const }),
      by_channel: { webpush: web, apns: ios, fcm: android },
      evaluated_at: evaluatedAt,
    };
  }),
];
