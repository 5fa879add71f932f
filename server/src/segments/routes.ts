// POST and GET /v1/segments, preview, one segment. Parses, calls one operation, shapes the answer.
import { z } from 'zod';
import { actorOf, type Caller } from '../apps/caller.ts';
import { audienceSchema, filterField } from '../audience/audience.ts';
import { fieldsOf, propertyKeysOf } from '../audience/check-filter.ts';
import type { FieldUses } from '../audience/follow-use.ts';
import { namingMissing, noSuch } from '../platform/api-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import type { ApiRequest, BoundRoute } from '../platform/http-server.ts';
import { decodeId, encodeId, type Uuid } from '../platform/ids.ts';
import { type Cursors, limitField, toPage } from '../platform/page.ts';
import type { Turns } from '../platform/turns.ts';
import { issueOf, noQuery, validate } from '../platform/validate.ts';
import type { Property } from '../properties/property.ts';
import { findPropertiesByKeys } from '../properties/queries.ts';
import { preview } from './preview.ts';
import { findSegment, listSegments, type SegmentFields, type StoredSegment } from './queries.ts';
import { resolveAudience } from './resolve-audience.ts';
import { createSegment, fieldsOfSegment, removeSegment, replaceSegment, type SegmentDeps } from './save-segment.ts';
import { readStoredFilter, segmentRequestSchema, stateOfFilter } from './segment.ts';

export interface SegmentRouteDeps {
  /** Reads. */
  readonly sql: Sql;
  /** Short transactions. */
  readonly txSql: Sql;
  /** The pool of counts, which stand in front of nothing else. */
  readonly countSql: Sql;
  readonly countTurns: Turns;
  readonly clock: Clock;
  readonly cursors: Cursors;
  readonly fieldUses: FieldUses;
}

const mebibyte = 1024 * 1024;

export const segmentListQuery = z.strictObject({ limit: limitField(200), cursor: z.string().optional() });

const previewed = ['filter', 'segment_id', 'audience'] as const;

export const previewRequestSchema = z
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
  });

export function segmentRoutes(deps: SegmentRouteDeps): BoundRoute<Caller>[] {
  const writesOf = ({ caller, address }: Pick<ApiRequest<Caller>, 'caller' | 'address'>): SegmentDeps => ({
    sql: deps.txSql,
    clock: deps.clock,
    by: actorOf(caller, address),
  });
  const one = (params: Readonly<Record<string, string>>): Uuid => {
    const id = decodeId('seg', params['id'] ?? '');
    if (id === undefined) throw noSuch('segment', params['id'] ?? '');
    return id;
  };
  return [
    {
      method: 'POST',
      path: '/v1/segments',
      access: 'server',
      bodyBytesMax: mebibyte,
      async handle({ caller, address, query, body }) {
        validate(noQuery, query);
        const fields = readFields(body);
        return present(
          deps.sql,
          caller.appId,
          await createSegment(writesOf({ caller, address }), caller.appId, fields),
        );
      },
    },
    {
      method: 'POST',
      path: '/v1/segments/preview',
      access: 'server',
      bodyBytesMax: mebibyte,
      handle: (request) => postPreview(deps, request),
    },
    {
      method: 'GET',
      path: '/v1/segments',
      access: 'server',
      handle: (request) => getSegments(deps, request),
    },
    {
      method: 'GET',
      path: '/v1/segments/:id',
      access: 'server',
      async handle({ caller, params, query }) {
        validate(noQuery, query);
        const segment = await findSegment(deps.sql, caller.appId, one(params));
        if (!segment) throw noSuch('segment', params['id'] ?? '');
        return present(deps.sql, caller.appId, segment);
      },
    },
    {
      method: 'PUT',
      path: '/v1/segments/:id',
      access: 'server',
      bodyBytesMax: mebibyte,
      async handle({ caller, address, params, query, body }) {
        validate(noQuery, query);
        const fields = readFields(body);
        // What is no id is as unknown as any other: the 400s of stored data come before the 404 (contract 1).
        const id = decodeId('seg', params['id'] ?? '');
        return present(
          deps.sql,
          caller.appId,
          await namingMissing(
            'segment',
            params['id'],
            replaceSegment(writesOf({ caller, address }), caller.appId, id, fields),
          ),
        );
      },
    },
    {
      method: 'DELETE',
      path: '/v1/segments/:id',
      access: 'server',
      async handle({ caller, address, params, query }) {
        validate(noQuery, query);
        const id = one(params);
        await namingMissing('segment', params['id'], removeSegment(writesOf({ caller, address }), caller.appId, id));
        return { id: encodeId('seg', id), deleted: true };
      },
    },
  ];
}

function readFields(body: unknown): SegmentFields {
  const { name, description, filter } = validate(segmentRequestSchema, body);
  return fieldsOfSegment({ name, description: description ?? null, filter });
}

async function postPreview(deps: SegmentRouteDeps, { caller, query, body }: ApiRequest<Caller>): Promise<object> {
  validate(noQuery, query);
  const { filter, segment_id, audience, exclude_segment_id } = validate(previewRequestSchema, body);
  const named = audience ?? (typeof segment_id === 'string' ? { segment_id } : { filter });
  const at = audience ? ['audience'] : [];
  const resolved = await resolveAudience(deps.sql, caller.appId, named, exclude_segment_id ?? null, {
    audience: at,
    exclude: ['exclude_segment_id'],
  });
  // The leaf of a segment is not in the request: there its name is all that can be pointed at.
  const [word] = ['segment_id', 'filter'].filter((name) => name in named);
  const filterPath = word === undefined ? at : [...at, word];
  // A segment's fields are in use as long as it exists.
  if ('filter' in named) deps.fieldUses.note(caller.appId, fieldsOf(readStoredFilter(named.filter)));
  const { appId } = caller;
  const place = { path: filterPath, isInRequest: 'filter' in named };
  const { evaluatedAt, web, ios, android, users } = await deps.countTurns.run(appId, async () => {
    const evaluatedAt = deps.clock.date();
    return { evaluatedAt, ...(await preview({ sql: deps.countSql, clock: deps.clock }, appId, resolved, place)) };
  });
  return {
    count: web + ios + android,
    users,
    by_channel: { webpush: web, apns: ios, fcm: android },
    evaluated_at: evaluatedAt,
  };
}

async function getSegments(deps: SegmentRouteDeps, { caller, query }: ApiRequest<Caller>): Promise<object> {
  const { limit, cursor } = validate(segmentListQuery, query);
  const scope = [caller.appId, '/v1/segments'];
  const position = cursor === undefined ? undefined : deps.cursors.read(cursor, scope);
  const after = position ? { createdAt: String(position[0]), id: String(position[1]) as Uuid } : null;
  const rows = await listSegments(deps.sql, caller.appId, after, limit + 1);
  const catalog = await readCatalog(deps.sql, caller.appId, rows);
  return toPage(
    rows,
    limit,
    (row) => presentWith(catalog, row),
    (last) => deps.cursors.write([last.createdAt.toISOString(), last.id], scope),
  );
}

async function present(sql: Sql, appId: Uuid, segment: StoredSegment): Promise<object> {
  return presentWith(await readCatalog(sql, appId, [segment]), segment);
}

async function readCatalog(
  sql: Sql,
  appId: Uuid,
  segments: readonly StoredSegment[],
): Promise<ReadonlyMap<string, Property>> {
  const keys = new Set(segments.flatMap(({ filter }) => propertyKeysOf(readStoredFilter(filter))));
  const entries = keys.size === 0 ? [] : await findPropertiesByKeys(sql, appId, [...keys]);
  return new Map(entries.map((entry) => [entry.key, entry]));
}

function presentWith(catalog: ReadonlyMap<string, Property>, segment: StoredSegment): object {
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
