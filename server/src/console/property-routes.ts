// The area Properties: the catalog with what uses each key, and its changes. Each answer names the
// values and the segments that it concerns, and a person can ask for them before a change.
import { z } from 'zod';
import type { Clock } from '../database/clock.ts';
import { type Sql, type Tx, transaction } from '../database/db.ts';
import { encodeId, type Uuid } from '../ground/ids.ts';
import { invalid, notFound } from '../http/api-error.ts';
import { type Cursors, toPage } from '../http/page.ts';
import { routesWith } from '../http/route.ts';
import { component, count, pageEnd, segmentId } from '../http/schemas.ts';
import type { Turns } from '../http/turns.ts';
import {
  changePropertyType,
  countHeldValues,
  declareProperty,
  type EditedProperty,
  type HeldValues,
  PropertyEditError,
  retireProperty,
} from '../properties/edit-property.ts';
import { listCatalog, readCatalogKey } from '../properties/list-catalog.ts';
import { propertyTypes } from '../properties/property.ts';
import { type CatalogRow, conflictDaysKept, countValues } from '../properties/queries.ts';
import {
  builtinField,
  builtins,
  exampleBuiltin,
  exampleProperty,
  presentProperty,
  propertySchema,
} from '../properties/routes.ts';
import { listSegmentsNaming, type SegmentNaming } from '../segments/queries.ts';
import type { AppCaller } from './caller.ts';
import { hideable } from './hide-values.ts';
import { searchedListQuery } from './list.ts';
import { appParam, lastPage } from './schemas.ts';

export interface PropertyAreaDeps {
  readonly sql: Sql;
  readonly txSql: Sql;
  readonly countSql: Sql;
  readonly countTurns: Turns;
  readonly clock: Clock;
  readonly cursors: Cursors;
}

const segmentName = component('SegmentName', z.strictObject({ id: segmentId, name: z.string() }));
const type = z.enum(propertyTypes);
const cataloguedProperty = component(
  'CataloguedProperty',
  propertySchema.extend({
    samples: hideable('properties.samples', propertySchema.shape.samples),
    segments: z.array(segmentName).describe('Segments whose filters compare it.'),
    conflict_days: z
      .array(z.strictObject({ day: z.string(), count }))
      .describe(`Days in UTC, of the last ${conflictDaysKept}, on which a value of another type came.`),
  }),
);
const values = z.strictObject({ users: count, devices: count });
const consequences = component(
  'PropertyConsequences',
  z.strictObject({ key: z.string(), type, values, segments: z.array(segmentName) }),
);
const editedProperty = component(
  'EditedProperty',
  z.strictObject({
    key: z.string(),
    type,
    removed: values.describe('Values that are no longer seen.'),
    segments: z.array(segmentName).describe('Segments whose filters compare it, checked again from now on.'),
  }),
);

const exampleSegments = [{ id: 'seg_02y9GVDsTuJUi2BOoCH5G3', name: 'Pro users in DE' }];
const exampleCatalogued = {
  ...exampleProperty,
  segments: exampleSegments,
  conflict_days: [{ day: '2026-11-20', count: 3 }],
};
const exampleEdited = {
  key: 'plan',
  type: 'string',
  removed: { users: 41230, devices: 12 },
  segments: exampleSegments,
};

const route = routesWith<PropertyAreaDeps, AppCaller>('Properties');
const params = { ...appParam, key: { description: 'A key of the catalog.', example: 'plan' } };
const edited = {
  200: { description: 'The values and segments that are affected.', schema: editedProperty, example: exampleEdited },
};

export const propertyAreaRoutes = [
  route({
    id: 'listProperties',
    method: 'GET',
    path: '/console/api/apps/:app/properties',
    access: 'session-or-token',
    least: 'viewer',
    summary: 'List the catalog of properties by key',
    params: appParam,
    query: searchedListQuery('The beginning of a key.'),
    answers: {
      200: {
        description: 'A page of keys; `builtins`, the fields that are always there, is on every page.',
        schema: component(
          'CatalogPage',
          z.strictObject({ data: z.array(cataloguedProperty), builtins: z.array(builtinField), ...pageEnd }),
        ),
        example: { data: [exampleCatalogued], builtins: [exampleBuiltin], ...lastPage },
      },
    },
    refusals: ['not_found'],
  }).handle(async ({ sql, clock, cursors }, { caller: { app }, query: { limit, cursor, q = null } }) => {
    const scope = [app.id, 'console properties', q];
    const [after = null] = cursor === undefined ? [] : cursors.read(cursor, scope);
    const { rows, indexedColumns } = await listCatalog(
      sql,
      app.id,
      after === null ? null : String(after),
      limit + 1,
      q,
    );
    const segments = await segmentsByKey(sql, app.id, rows);
    const { data, ...end } = toPage(
      rows,
      limit,
      (row) => present(row, indexedColumns, segments, clock),
      (last) => cursors.write([last.key], scope),
    );
    return { data, builtins, ...end };
  }),
  route({
    id: 'declareProperty',
    method: 'POST',
    path: '/console/api/apps/:app/properties',
    access: 'session-or-token',
    least: 'admin',
    summary: 'Declare a key before its first value',
    params: appParam,
    body: {
      schema: component('NewProperty', z.strictObject({ key: z.string(), type })),
      example: { key: 'plan', type: 'string' },
    },
    answers: edited,
    refusals: ['not_found'],
  }).handle(async (deps, { caller, body }) =>
    edit(deps, caller, body.key, (context) => declareProperty(context, body.key, body.type)),
  ),
  route({
    id: 'getProperty',
    method: 'GET',
    path: '/console/api/apps/:app/properties/:key',
    access: 'session-or-token',
    least: 'viewer',
    summary: 'Read a key of the catalog',
    params,
    answers: { 200: { description: 'The key.', schema: cataloguedProperty, example: exampleCatalogued } },
    refusals: ['not_found'],
  }).handle(async ({ sql, clock }, { caller: { app }, params: { key } }) => {
    const { row, indexedColumns } = await readKey(sql, app.id, key);
    return present(row, indexedColumns, await segmentsByKey(sql, app.id, [row]), clock);
  }),
  route({
    id: 'getPropertyConsequences',
    method: 'GET',
    path: '/console/api/apps/:app/properties/:key/consequences',
    access: 'session-or-token',
    least: 'admin',
    summary: 'List the values and segments that a change of type or a deletion affects',
    params,
    answers: {
      200: {
        description: 'Exact at this moment.',
        schema: consequences,
        example: { key: 'plan', type: 'string', values: exampleEdited.removed, segments: exampleSegments },
      },
    },
    refusals: ['not_found'],
    within: ({ countTurns }, { caller, aside }, work) => aside(() => countTurns.run(caller.organisationId, work)),
  }).handle(async ({ sql, countSql }, { caller: { app }, params: { key } }) => {
    const { row } = await readKey(sql, app.id, key);
    return {
      key,
      type: row.type,
      values: await countValues(countSql, app.id, row.id),
      segments: (await listSegmentsNaming(sql, app.id, [key])).map(presentName),
    };
  }),
  route({
    id: 'changeProperty',
    method: 'PATCH',
    path: '/console/api/apps/:app/properties/:key',
    access: 'session-or-token',
    least: 'admin',
    summary: 'Change the type of a key',
    description: 'Nothing is converted: values of the former type are no longer seen.',
    params,
    body: { schema: component('PropertyEdit', z.strictObject({ type })), example: { type: 'number' } },
    answers: edited,
    refusals: ['not_found'],
    within: ({ countTurns }, { caller, aside }, work) => aside(() => countTurns.run(caller.organisationId, work)),
  }).handle(async (deps, { caller, params: { key }, body }) =>
    edit(deps, caller, key, (context, held) => changePropertyType(context, key, body.type, held)),
  ),
  route({
    id: 'deleteProperty',
    method: 'DELETE',
    path: '/console/api/apps/:app/properties/:key',
    access: 'session-or-token',
    least: 'admin',
    summary: 'Delete a key with its values',
    description: 'Old values are hidden at once; the next value registers the key again.',
    params,
    answers: edited,
    refusals: ['not_found'],
    within: ({ countTurns }, { caller, aside }, work) => aside(() => countTurns.run(caller.organisationId, work)),
  }).handle(async (deps, { caller, params: { key } }) =>
    edit(deps, caller, key, (context, held) => retireProperty(context, key, held)),
  ),
];

async function readKey(sql: Sql, appId: Uuid, key: string) {
  const { rows, indexedColumns } = await readCatalogKey(sql, appId, key);
  const [row] = rows;
  if (!row) throw notFound(`No property ${key.slice(0, 80)} in this app.`);
  return { row, indexedColumns };
}

type Edit = (context: Parameters<typeof retireProperty>[0], held: HeldValues) => Promise<EditedProperty>;

/**
 * Changes the catalog, and names the segments in the transaction of the change. The values are
 * counted before, so that no lock is held while all users are read.
 */
async function edit({ txSql, countSql, clock }: PropertyAreaDeps, { app, by }: AppCaller, key: string, work: Edit) {
  const held = await countHeldValues(countSql, app.id, key);
  try {
    return await transaction(txSql, async (tx) => {
      const { type: typeNow, removed } = await work({ tx, clock, by, appId: app.id }, held);
      const segments = (await listSegmentsNaming(tx, app.id, [key])).map(presentName);
      return { key, type: typeNow, removed, segments };
    });
  } catch (error) {
    if (!(error instanceof PropertyEditError)) throw error;
    const { code, message } = error;
    if (code === 'not_found') throw notFound(message);
    throw invalid([{ path: [code === 'invalid_value' ? 'type' : 'key'], code, message }]);
  }
}

async function segmentsByKey(tx: Tx, appId: Uuid, rows: readonly CatalogRow[]): Promise<readonly SegmentNaming[]> {
  if (rows.length === 0) return [];
  return listSegmentsNaming(
    tx,
    appId,
    rows.map(({ key }) => key),
  );
}

const dayMs = 86_400_000;

function present(
  row: CatalogRow,
  indexedColumns: ReadonlySet<string>,
  segments: readonly SegmentNaming[],
  clock: Clock,
) {
  const shown = presentProperty(row, indexedColumns);
  // A key without a new conflict keeps the counts of former days.
  const since = new Date(clock.nowMs() - conflictDaysKept * dayMs).toISOString().slice(0, 10);
  return {
    ...shown,
    segments: segments.filter(({ fields }) => fields.includes(shown.field)).map(presentName),
    conflict_days: Object.entries(row.conflictDays)
      .map(([day, of]) => ({ day, count: of }))
      .filter(({ day }) => day > since)
      .toSorted((a, b) => (a.day < b.day ? -1 : 1)),
  };
}

function presentName({ id, name }: SegmentNaming) {
  return { id: encodeId('seg', id), name };
}
