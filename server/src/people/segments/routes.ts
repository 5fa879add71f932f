// POST and GET /v1/segments and one segment; the preview has a file of its own.

import type { Sql, Tx } from '@carillon/postgres';
import { z } from 'zod';
import type { Clock } from '../../ground/database/clock.ts';
import { namingMissing, noSuch, readId } from '../../ground/http/api-error.ts';
import { type Cursors, pageQuery, toPage } from '../../ground/http/page.ts';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component, exampleOf, instant, pageComponent, segmentId, stored } from '../../ground/http/schemas.ts';
import { decodeId, encodeId, type Uuid } from '../../ground/values/ids.ts';
import { actorOf, type Caller } from '../../teams/apps/caller.ts';
import { fieldsOf, propertyKeysOf } from '../audience/check-filter.ts';
import { conditionsMax, countOperators, listMax, nodesMax } from '../audience/filter.ts';
import { operatorsOfType } from '../properties/fields.ts';
import type { Property } from '../properties/property.ts';
import { findPropertiesByKeys } from '../properties/queries.ts';
import { previewRoutes } from './preview-routes.ts';
import { findSegment, listSegments, type StoredSegment } from './queries.ts';
import { createSegment, editSegment, removeSegment, type SegmentGiven } from './save-segment.ts';
import { exampleFilter, invalidReasons, readStoredFilter, segmentRequestSchema, stateOfFilter } from './segment.ts';

export interface SegmentRouteDeps {
  /** The pool of reads. */
  readonly sql: Sql;
  /** The pool of short transactions. */
  readonly txSql: Sql;
  readonly clock: Clock;
  readonly cursors: Cursors;
}

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const comparison = component(
  'Comparison',
  z.strictObject({
    field: z.string().describe('A field of GET /v1/properties.'),
    op: z.enum([...new Set(Object.values(operatorsOfType).flat())]),
    value: stored('segments.filter.value', z.union([scalar, z.array(scalar).min(1).max(listMax)]).optional()),
  }),
);
const eventLeaf = component(
  'EventLeaf',
  z.strictObject({
    event: z.string(),
    count: z.strictObject({ op: z.enum(countOperators), value: z.int().min(0) }).nullish(),
    within: z.string().nullish(),
    last: z.strictObject({ op: z.enum(['before', 'after', 'within_last']), value: z.string() }).nullish(),
    where: z.array(comparison).min(1).max(conditionsMax).nullish(),
  }),
);
export const filterNode: z.ZodType = component(
  'Filter',
  z.lazy(() =>
    z.union([
      z.strictObject({ and: z.array(filterNode).min(1).max(nodesMax) }),
      z.strictObject({ or: z.array(filterNode).min(1).max(nodesMax) }),
      z.strictObject({ not: filterNode }),
      comparison,
      eventLeaf,
    ]),
  ),
);

export const segmentSchema = component(
  'Segment',
  z.strictObject({
    id: segmentId,
    name: z.string(),
    description: z.string().nullable(),
    filter: filterNode,
    fields: z.array(z.string()).describe('The fields that the filter compares, each once.'),
    valid: z.boolean().describe('False while the catalog lacks a key of it, or has it with another type.'),
    invalid_reason: z.enum(invalidReasons).nullable(),
    created_at: instant,
    updated_at: instant,
  }),
  {
    id: 'seg_02y9GVDsTuJUi2BOoCH5G3',
    name: 'Pro users in DE',
    description: null,
    filter: exampleFilter,
    fields: ['country', 'properties.plan'],
    valid: true,
    invalid_reason: null,
    created_at: '2026-11-21T10:15:30.123Z',
    updated_at: '2026-11-21T10:15:30.123Z',
  },
);
export const segmentPage = pageComponent('SegmentPage', segmentSchema);
const deletedSegment = component('DeletedSegment', z.strictObject({ id: segmentId, deleted: z.literal(true) }), {
  id: exampleOf(segmentSchema).id,
  deleted: true,
});

const answers = ok('The segment.', segmentSchema);
const bodyBytesMax = 1024 * 1024;

const route = routesWith<SegmentRouteDeps, Caller, 'id'>({
  tag: 'Segments',
  access: 'server',
  params: { id: { description: 'A segment.', example: exampleOf(segmentSchema).id } },
});

export const segmentRoutes = [
  route('createSegment', 'POST /v1/segments', {
    bodyBytesMax,
    summary: 'Give a filter a name',
    description: 'The filter is stored, and evaluated again at each use.',
    body: segmentRequestSchema,
    answers,
  }).handle(async ({ sql, txSql, clock }, { caller, address, body }) => {
    const deps = { sql: txSql, clock, by: actorOf(caller, address) };
    return presentSegment(sql, caller.appId, await createSegment(deps, caller.appId, readFields(body)));
  }),
  ...previewRoutes,
  route('listSegments', 'GET /v1/segments', {
    summary: 'List the segments, newest first',
    query: z.strictObject(pageQuery(200)),
    answers: ok('A page of segments.', segmentPage),
  }).handle(async ({ sql, cursors }, { caller, query: { limit, cursor } }) => {
    const scope = [caller.appId, '/v1/segments'];
    const position = cursor === undefined ? undefined : cursors.read(cursor, scope);
    const after = position ? { createdAt: String(position[0]), id: String(position[1]) } : null;
    const rows = await listSegments(sql, caller.appId, after, limit + 1);
    const presentOne = await presentSegments(sql, caller.appId, rows);
    return toPage(rows, limit, presentOne, (last) => cursors.write([last.createdAt.toISOString(), last.id], scope));
  }),
  route('getSegment', 'GET /v1/segments/:id', {
    summary: 'Read a segment',
    answers,
  }).handle(async ({ sql }, { caller, params }) => {
    const found = await findSegment(sql, caller.appId, readId('segment', params.id));
    if (!found) throw noSuch('segment', params.id);
    return presentSegment(sql, caller.appId, found);
  }),
  route('replaceSegment', 'PUT /v1/segments/:id', {
    bodyBytesMax,
    summary: 'Replace name, description and filter of a segment',
    body: segmentRequestSchema,
    answers,
  }).handle(async ({ sql, txSql, clock }, { caller, address, params, body }) => {
    const deps = { sql: txSql, clock, by: actorOf(caller, address) };
    // A malformed id is treated as an unknown one: the 400s of stored data come before the 404
    // (contract 1).
    const replaced = editSegment(deps, caller.appId, decodeId('seg', params.id), readFields(body));
    return presentSegment(sql, caller.appId, await namingMissing('segment', params.id, replaced));
  }),
  route('deleteSegment', 'DELETE /v1/segments/:id', {
    summary: 'Delete a segment',
    description: 'A segment that a scheduled message uses is kept: 400 `in_use` names the messages.',
    answers: ok('Deleted.', deletedSegment),
  }).handle(async ({ txSql, clock }, { caller, address, params }) => {
    const id = readId('segment', params.id);
    const deps = { sql: txSql, clock, by: actorOf(caller, address) };
    await namingMissing('segment', params.id, removeSegment(deps, caller.appId, id));
    return { id: encodeId('seg', id), deleted: true };
  }),
];

function readFields({ name, description, filter }: z.output<typeof segmentRequestSchema>): SegmentGiven {
  return { name, description: description ?? null, filter };
}

/** Shapes a segment, with whether it fits the catalog now. */
export async function presentSegment(tx: Tx, appId: Uuid, segment: StoredSegment) {
  return presentWith(await readCatalog(tx, appId, [segment]), segment);
}

/** Shapes the segments of a page. */
export async function presentSegments(tx: Tx, appId: Uuid, segments: readonly StoredSegment[]) {
  const catalog = await readCatalog(tx, appId, segments);
  return (segment: StoredSegment) => presentWith(catalog, segment);
}

async function readCatalog(
  tx: Tx,
  appId: Uuid,
  segments: readonly StoredSegment[],
): Promise<ReadonlyMap<string, Property>> {
  const keys = new Set(segments.flatMap(({ filter }) => propertyKeysOf(readStoredFilter(filter))));
  const entries = keys.size === 0 ? [] : await findPropertiesByKeys(tx, appId, [...keys]);
  return new Map(entries.map((entry) => [entry.key, entry]));
}

function presentWith(catalog: ReadonlyMap<string, Property>, segment: StoredSegment) {
  const filter = readStoredFilter(segment.filter);
  const state = stateOfFilter(filter, catalog);
  return {
    id: encodeId('seg', segment.id),
    name: segment.name,
    description: segment.description,
    filter: segment.filter,
    fields: fieldsOf(filter),
    valid: state.isValid,
    invalid_reason: state.isValid ? null : state.reason,
    created_at: segment.createdAt,
    updated_at: segment.updatedAt,
  };
}
