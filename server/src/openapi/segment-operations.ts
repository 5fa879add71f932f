// Segments and previews as the API's description tells them.
import { z } from 'zod';
import { countOperators, listMax } from '../audience/filter.ts';
import { component, count, instant, pageFields, segmentId } from '../platform/schemas.ts';
import { operatorsOfType } from '../properties/fields.ts';
import { previewRequestSchema, segmentListQuery } from '../segments/routes.ts';
import { invalidReasons, segmentRequestSchema } from '../segments/segment.ts';
import type { Operation } from './operation-form.ts';

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const comparison = component(
  'Comparison',
  z.strictObject({
    field: z.string().describe('A field of GET /v1/properties.'),
    op: z.enum([...new Set(Object.values(operatorsOfType).flat())]),
    value: z.union([scalar, z.array(scalar).min(1).max(listMax)]).optional(),
  }),
);
const eventLeaf = component(
  'EventLeaf',
  z.strictObject({
    event: z.string(),
    count: z.strictObject({ op: z.enum(countOperators), value: z.int().min(0) }).nullish(),
    within: z.string().nullish(),
    last: z.strictObject({ op: z.enum(['before', 'after', 'within_last']), value: z.string() }).nullish(),
    where: z.array(comparison).min(1).nullish(),
  }),
);
const filterNode: z.ZodType = component(
  'Filter',
  z.lazy(() =>
    z.union([
      z.strictObject({ and: z.array(filterNode).min(1) }),
      z.strictObject({ or: z.array(filterNode).min(1) }),
      z.strictObject({ not: filterNode }),
      comparison,
      eventLeaf,
    ]),
  ),
);
const segmentRequest = component('SegmentRequest', segmentRequestSchema);
const previewRequest = component('PreviewRequest', previewRequestSchema);

const segment = component(
  'Segment',
  z.strictObject({
    id: segmentId,
    name: z.string(),
    description: z.string().nullable(),
    filter: filterNode,
    fields: z.array(z.string()).describe('What the filter compares, each once.'),
    valid: z.boolean().describe('False while the catalog lacks a key of it, or has it with another type.'),
    invalid_reason: z.enum(invalidReasons).nullable(),
    created_at: instant,
    updated_at: instant,
  }),
);
const segmentPage = component('SegmentPage', z.strictObject(pageFields(segment)));
const deletedSegment = component('DeletedSegment', z.strictObject({ id: segmentId, deleted: z.literal(true) }));
const previewed = component(
  'Preview',
  z.strictObject({
    count: count.describe('Active devices that a send would reach now.'),
    users: count.describe('Distinct users among them.'),
    by_channel: z.strictObject({ webpush: count, apns: count, fcm: count }),
    evaluated_at: instant,
  }),
);

const filter = {
  and: [
    { field: 'country', op: 'eq', value: 'DE' },
    { field: 'properties.plan', op: 'eq', value: 'pro' },
  ],
};
const request = { name: 'Pro users in DE', filter };
const example = {
  id: 'seg_02y9GVDsTuJUi2BOoCH5G3',
  name: 'Pro users in DE',
  description: null,
  filter,
  fields: ['country', 'properties.plan'],
  valid: true,
  invalid_reason: null,
  created_at: '2026-11-21T10:15:30.123Z',
  updated_at: '2026-11-21T10:15:30.123Z',
};
const shown = { description: 'The segment.', schema: segment, example };
const path = '/v1/segments/{id}';
const pathParameters = { id: { description: 'A segment.', example: example.id } };
const tag = 'Segments';

export const segmentOperations: readonly Operation[] = [
  {
    id: 'createSegment',
    method: 'post',
    path: '/v1/segments',
    tag,
    summary: 'Give a filter a name',
    description: 'The filter is kept and evaluated anew at each use.',
    access: 'server',
    body: { schema: segmentRequest, example: request },
    answers: { 200: shown },
  },
  {
    id: 'previewAudience',
    method: 'post',
    path: '/v1/segments/preview',
    tag,
    summary: 'Count exactly whom a filter, a segment or any audience reaches now',
    description: 'A count that takes more than two seconds is 503; `path` says where its slowest leaf stands.',
    access: 'server',
    body: { schema: previewRequest, example: { filter: { field: 'country', op: 'eq', value: 'DE' } } },
    answers: {
      200: {
        description: 'The count.',
        schema: previewed,
        example: {
          count: 1234,
          users: 1101,
          by_channel: { webpush: 800, apns: 300, fcm: 134 },
          evaluated_at: '2026-11-21T10:15:30.123Z',
        },
      },
    },
    refusals: [404],
  },
  {
    id: 'listSegments',
    method: 'get',
    path: '/v1/segments',
    tag,
    summary: 'List the segments, newest first',
    access: 'server',
    query: segmentListQuery,
    answers: {
      200: {
        description: 'A page of segments.',
        schema: segmentPage,
        example: { data: [example], has_more: false, next_cursor: null },
      },
    },
  },
  {
    id: 'getSegment',
    method: 'get',
    path,
    tag,
    summary: 'Read a segment',
    access: 'server',
    pathParameters,
    answers: { 200: shown },
    refusals: [404],
  },
  {
    id: 'replaceSegment',
    method: 'put',
    path,
    tag,
    summary: 'Replace name, description and filter of a segment',
    access: 'server',
    pathParameters,
    body: { schema: segmentRequest, example: request },
    answers: { 200: shown },
    refusals: [404],
  },
  {
    id: 'deleteSegment',
    method: 'delete',
    path,
    tag,
    summary: 'Delete a segment',
    description: 'One that a scheduled message uses is kept: 400 `in_use` names the messages.',
    access: 'server',
    pathParameters,
    answers: {
      200: { description: 'It is gone.', schema: deletedSegment, example: { id: example.id, deleted: true } },
    },
    refusals: [404],
  },
];
