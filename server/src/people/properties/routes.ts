// GET /v1/properties: the catalog, which says what can be filtered on.
import { z } from 'zod';
import { type Cursors, pageQuery, toPage } from '../../ground/http/page.ts';
import { ok, routesWith } from '../../ground/http/route.ts';
import { component, count, exampleOf, instant, lastPage, pageEnd, type Shown } from '../../ground/http/schemas.ts';
import { type Answer, writtenAnswer } from '../../ground/http/server.ts';
import type { Caller } from '../../teams/apps/caller.ts';
import { builtinFields, operatorsOfType } from './fields.ts';
import type { CatalogPage, ReadCatalog } from './list-catalog.ts';
import { propertyTypes, propertyValue, samplesMax } from './property.ts';
import type { CatalogRow } from './queries.ts';
import { slotColumn } from './slots.ts';

export interface PropertyRouteDeps {
  readonly readCatalog: ReadCatalog;
  readonly cursors: Cursors;
}

const operators = z.array(component('Operator', z.enum([...new Set(Object.values(operatorsOfType).flat())])));
export const propertySchema = component(
  'Property',
  z.strictObject({
    key: z.string(),
    field: z.string().describe('Its name in a filter.'),
    type: z.enum(propertyTypes),
    filterable: z.literal(true),
    operators,
    indexed: z.boolean(),
    users_count: count,
    samples: z.array(propertyValue).max(samplesMax),
    conflicts_count: count,
    last_conflict_at: instant.nullable(),
    first_seen_at: instant.nullable(),
    last_seen_at: instant.nullable(),
  }),
  {
    key: 'plan',
    field: 'properties.plan',
    type: 'string',
    filterable: true,
    operators: operatorsOfType.string,
    indexed: true,
    users_count: 41230,
    samples: ['pro', 'free', 'team'],
    conflicts_count: 3,
    last_conflict_at: '2026-11-20T09:00:00.000Z',
    first_seen_at: '2026-10-01T08:00:00.000Z',
    last_seen_at: '2026-11-21T10:00:00.000Z',
  },
);
export const builtinField = component(
  'BuiltinField',
  z.strictObject({ field: z.string(), type: z.enum([...propertyTypes, 'datetime']), operators }),
  { field: 'country', type: 'string', operators: operatorsOfType.string },
);
const propertyPage = component(
  'PropertyPage',
  z.strictObject({ data: z.array(propertySchema), builtins: z.array(builtinField), ...pageEnd }),
  { data: [exampleOf(propertySchema)], builtins: [exampleOf(builtinField)], ...lastPage },
);

export const builtins = Object.entries(builtinFields).map(([field, type]) => ({
  field,
  type,
  operators: operatorsOfType[type],
}));

/**
 * Requests that shared a read also share its written answer, because writing takes a third of a
 * request's CPU time.
 */
const presented = new WeakMap<CatalogPage, Answer<200, string>>();

const route = routesWith<PropertyRouteDeps, Caller>({ tag: 'Properties', access: 'server' });

export const propertyRoutes = [
  route('listProperties', 'GET /v1/properties', {
    summary: 'List the catalog of properties by key',
    query: z.strictObject(pageQuery(200)),
    answers: ok('A page of keys; `builtins`, the fields that are always there, is on every page.', propertyPage),
  }).handle(async ({ readCatalog, cursors }, { caller, query: { limit, cursor } }) => {
    const scope = [caller.appId, 'properties'];
    const after = cursor === undefined ? undefined : cursors.read(cursor, scope);
    const afterKey = after ? String(after[0]) : null;
    const found = await readCatalog(caller.appId, { afterKey, limit: limit + 1 });
    const known = presented.get(found);
    if (known) return known;
    const { rows, indexedColumns } = found;
    const { data, has_more, next_cursor } = toPage(
      rows,
      limit,
      (row) => presentProperty(row, indexedColumns),
      (last) => cursors.write([last.key], scope),
    );
    const page: Shown<z.output<typeof propertyPage>> = { data, builtins, has_more, next_cursor };
    const answer = writtenAnswer(page);
    presented.set(found, answer);
    return answer;
  }),
];

/** Shapes a key of the catalog. */
export function presentProperty(row: CatalogRow, indexedColumns: ReadonlySet<string>) {
  return {
    key: row.key,
    field: `properties.${row.key}`,
    type: row.type,
    filterable: true as const,
    operators: operatorsOfType[row.type],
    indexed: row.slot !== null && indexedColumns.has(slotColumn(row.type, row.slot)),
    users_count: row.usersCount,
    samples: row.samples,
    conflicts_count: row.conflictsCount,
    last_conflict_at: row.lastConflictAt,
    first_seen_at: row.firstSeenAt,
    last_seen_at: row.lastSeenAt,
  };
}
