// The area Segments: the list with its search, changes that overwrite no one else's, uses of a
// segment, live counts, and values for conditions.

import { z } from 'zod';
import { ApiError, namingMissing, noSuch, readId } from '../../ground/http/api-error.ts';
import { toPage } from '../../ground/http/page.ts';
import { ok, type Route } from '../../ground/http/route.ts';
import { component, exampleOf, instant, messageId, text } from '../../ground/http/schemas.ts';
import { encodeId } from '../../ground/values/ids.ts';
import { isRecord } from '../../ground/values/is-record.ts';
import { filterField } from '../../people/audience/audience.ts';
import { propertyValue } from '../../people/properties/property.ts';
import { findSegment, listScheduledUses, listSegments, type ScheduledUse } from '../../people/segments/queries.ts';
import {
  presentSegment,
  presentSegments,
  segmentPage,
  segmentRoutes,
  segmentSchema,
} from '../../people/segments/routes.ts';
import { editSegment } from '../../people/segments/save-segment.ts';
import { segmentName } from '../../people/segments/segment.ts';
import { suggestionsMax, suggestValues } from '../../people/segments/suggest-values.ts';
import { draftId } from '../../sending/drafts/draft.ts';
import { listDraftsNaming } from '../../sending/drafts/queries.ts';
import { isAtLeast } from '../../teams/accounts/roles.ts';
import { routesOfApp } from './area.ts';
import type { AppCaller } from './caller.ts';
import { lendRoutes } from './lent-route.ts';
import { searchedListQuery } from './list.ts';
import { checkSeen, searchField, seenAt } from './schemas.ts';

const segmentEdit = component(
  'SegmentEdit',
  z.strictObject({
    updated_at: seenAt,
    name: segmentName.optional(),
    description: text(1_024).nullable().optional(),
    filter: filterField.optional(),
  }),
  { updated_at: exampleOf(segmentSchema).updated_at, name: 'Pro users in Germany' },
);
const scheduledUse = component(
  'ScheduledUse',
  z.strictObject({
    id: messageId,
    name: z.string().nullable(),
    title: z.string().nullable(),
    run_at: instant,
    excludes: z.boolean().describe('True: the message leaves the segment out.'),
  }),
);
const segmentUses = component(
  'SegmentUses',
  z.strictObject({
    messages: z.array(scheduledUse).describe('Scheduled messages, the oldest 100: they keep the segment.'),
    drafts: z
      .array(z.strictObject({ id: draftId, name: z.string(), excludes: z.boolean() }))
      .describe('Drafts, for members: they do not keep the segment.'),
  }),
  {
    messages: [
      {
        id: 'msg_02y9GVDsTuJUi2BOoCH5G3',
        name: 'Autumn sale',
        title: 'Sale',
        excludes: false,
        run_at: '2026-11-28T09:00:00.000Z',
      },
    ],
    drafts: [{ id: 'drf_02y9GVDsTuJUi2BOoCH5G3', name: 'Winter sale', excludes: false }],
  },
);
const usesMax = 100;

const route = routesOfApp<'id'>('Segments', {
  params: { id: { description: 'The id of a segment.', example: exampleOf(segmentSchema).id } },
});

export const segmentAreaRoutes = [
  route('listSegments', 'GET /segments', {
    least: 'viewer',
    summary: 'List segments, newest first',
    query: searchedListQuery('An id, or the beginning of a name.'),
    answers: ok('A page of segments.', segmentPage),
  }).handle(async ({ sql, cursors }, { caller: { app }, query: { limit, cursor, q = null } }) => {
    const scope = [app.id, 'console segments', q];
    const position = cursor === undefined ? undefined : cursors.read(cursor, scope);
    const after = position ? { createdAt: String(position[0]), id: String(position[1]) } : null;
    const rows = await listSegments(sql, app.id, after, limit + 1, q);
    const presentOne = await presentSegments(sql, app.id, rows);
    return toPage(rows, limit, presentOne, (last) => cursors.write([last.createdAt.toISOString(), last.id], scope));
  }),
  ...lendRoutes(segmentRoutes, { previewAudience: 'viewer' }).map(withoutProbing),
  ...lendRoutes(segmentRoutes, {
    createSegment: 'member',
    getSegment: 'viewer',
    deleteSegment: 'admin',
  }),
  route('editSegment', 'PATCH /segments/:id', {
    least: 'member',
    bodyBytesMax: 1024 * 1024,
    summary: 'Rename a segment, or change its filter or description',
    body: segmentEdit,
    answers: ok('The segment as it is now.', segmentSchema),
    refusals: ['changed_meanwhile'],
  }).handle(async ({ sql, txSql, clock }, { caller: { app, by }, params, body }) => {
    const { updated_at: seen, name, description, filter } = body;
    const edit = {
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
      ...(filter !== undefined && { filter }),
    };
    const deps = { sql: txSql, clock, by };
    const edited = editSegment(deps, app.id, readId('segment', params.id), edit, async (former, tx) => {
      const shown = await presentSegment(tx, app.id, former);
      checkSeen(seen, former.updatedAt, () => shown);
    });
    return presentSegment(sql, app.id, await namingMissing('segment', params.id, edited));
  }),
  route('getSegmentUses', 'GET /segments/:id/uses', {
    least: 'viewer',
    summary: 'List what uses a segment',
    answers: ok('A segment with scheduled messages cannot be deleted.', segmentUses),
  }).handle(async ({ sql }, { caller: { app, role }, params }) => {
    const id = readId('segment', params.id);
    if (!(await findSegment(sql, app.id, id))) throw noSuch('segment', params.id);
    const drafts = isAtLeast(role, 'member') ? await listDraftsNaming(sql, app.id, encodeId('seg', id), usesMax) : [];
    return {
      messages: (await listScheduledUses(sql, app.id, id, usesMax)).map(presentUse),
      drafts: drafts.map((draft) => ({
        id: encodeId('drf', draft.id),
        name: draft.name,
        excludes: draft.isExclusion,
      })),
    };
  }),
  route('suggestValues', 'GET /values', {
    least: 'member',
    summary: 'Suggest values of a field for a condition',
    description: 'Values of the newest devices, the most frequent first. Others may exist.',
    query: z.strictObject({
      field: text(128).describe('A field of a filter.'),
      q: searchField.describe('The beginning of a value.').optional(),
    }),
    answers: ok(
      `At most ${suggestionsMax} values.`,
      component('ValueList', z.strictObject({ data: z.array(propertyValue) }), { data: ['DE', 'FR'] }),
    ),
  }).handle(async ({ sql }, { caller: { app }, query: { field, q = null } }) => ({
    data: await suggestValues(sql, app.id, field, q),
  })),
];

/**
 * A viewer may count only stored segments. Counts of a viewer's own filters would reveal any
 * property of any person, value by value.
 */
function withoutProbing<Deps>(lent: Route<Deps, AppCaller>): Route<Deps, AppCaller> {
  return {
    ...lent,
    description: `${lent.description ?? ''} A viewer names a segment alone; other counts need the role member.`.trim(),
    async answer(deps, request) {
      const asked = isRecord(request.body) ? request.body : {};
      const isOwn = ownQuestions.some((name) => (asked[name] ?? null) !== null);
      if (!isOwn || isAtLeast(request.caller.role, 'member')) return lent.answer(deps, request);
      throw new ApiError('role_too_low', { message: 'A viewer counts a segment by segment_id alone.' });
    },
  };
}
const ownQuestions = ['filter', 'audience', 'exclude_segment_id'] as const;

function presentUse({ id, name, title, runAt, isExclusion }: ScheduledUse) {
  return { id: encodeId('msg', id), name, title, run_at: runAt, excludes: isExclusion };
}
