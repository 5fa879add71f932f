// The area Properties: the catalog with what uses each key, and its changes. Each answer names the
// values and the segments that it concerns, and a person can ask for them before a change.

import { type Sql, type Tx, transaction } from '@carillon/postgres';
import { z } from 'zod';
import type { Clock } from '../../ground/database/clock.ts';
import { invalid, notFound } from '../../ground/http/api-error.ts';
import { toPage } from '../../ground/http/page.ts';
import { ok } from '../../ground/http/route.ts';
import { component, count, exampleOf, lastPage, pageEnd, segmentId } from '../../ground/http/schemas.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import {
  changePropertyType,
  countHeldValues,
  declareProperty,
  type EditedProperty,
  type HeldValues,
  PropertyEditError,
  retireProperty,
} from '../../people/properties/edit-property.ts';
import { listCatalog, readCatalogKey } from '../../people/properties/list-catalog.ts';
import { propertyTypes } from '../../people/properties/property.ts';
import { type CatalogRow, conflictDaysKept, countValues } from '../../people/properties/queries.ts';
import { builtinField, builtins, presentProperty, propertySchema } from '../../people/properties/routes.ts';
import { listSegmentsNaming, type SegmentNaming } from '../../people/segments/queries.ts';
import { type AreaDeps, inCountTurn, routesOfApp } from './area.ts';
import type { AppCaller } from './caller.ts';
import { hideable } from './hide-values.ts';
import { searchedListQuery } from './list.ts';

const segmentName = component('SegmentName', z.strictObject({ id: segmentId, name: z.string() }));
const type = z.enum(propertyTypes);
const exampleSegments = [{ id: 'seg_02y9GVDsTuJUi2BOoCH5G3', name: 'Pro users in DE' }];
const cataloguedProperty = component(
  'CataloguedProperty',
  propertySchema.extend({
    samples: hideable('properties.samples', propertySchema.shape.samples),
    segments: z.array(segmentName).describe('Segments whose filters compare it.'),
    conflict_days: z
      .array(z.strictObject({ day: z.string(), count }))
      .describe(`Days in UTC, of the last ${conflictDaysKept}, on which a value of another type came.`),
  }),
  {
    ...exampleOf(propertySchema),
    segments: exampleSegments,
    conflict_days: [{ day: '2026-11-20', count: 3 }],
  },
);
const values = z.strictObject({ users: count, devices: count });
const editedProperty = component(
  'EditedProperty',
  z.strictObject({
    key: z.string(),
    type,
    removed: values.describe('Values that are no longer seen.'),
    segments: z.array(segmentName).describe('Segments whose filters compare it, checked again from now on.'),
  }),
  { key: 'plan', type: 'string', removed: { users: 41230, devices: 12 }, segments: exampleSegments },
);

const consequences = component(
  'PropertyConsequences',
  z.strictObject({ key: z.string(), type, values, segments: z.array(segmentName) }),
  { key: 'plan', type: 'string', values: exampleOf(editedProperty).removed, segments: exampleSegments },
);
const route = routesOfApp<'key'>('Properties', {
  params: { key: { description: 'A key of the catalog.', example: 'plan' } },
});
const edited = ok('The values and segments that are affected.', editedProperty);

export const propertyAreaRoutes = [
  route('listProperties', 'GET /properties', {
    least: 'viewer',
    summary: 'List the catalog of properties by key',
    query: searchedListQuery('The beginning of a key.'),
    answers: ok(
      'A page of keys; `builtins`, the fields that are always there, is on every page.',
      component(
        'CatalogPage',
        z.strictObject({ data: z.array(cataloguedProperty), builtins: z.array(builtinField), ...pageEnd }),
        { data: [exampleOf(cataloguedProperty)], builtins: [exampleOf(builtinField)], ...lastPage },
      ),
    ),
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
  route('declareProperty', 'POST /properties', {
    least: 'admin',
    summary: 'Declare a key before its first value',
    body: component('NewProperty', z.strictObject({ key: z.string(), type }), { key: 'plan', type: 'string' }),
    answers: edited,
  }).handle(async (deps, { caller, body }) =>
    edit(deps, caller, body.key, (context) => declareProperty(context, body.key, body.type)),
  ),
  route('getProperty', 'GET /properties/:key', {
    least: 'viewer',
    summary: 'Read a key of the catalog',
    answers: ok('The key.', cataloguedProperty),
  }).handle(async ({ sql, clock }, { caller: { app }, params: { key } }) => {
    const { row, indexedColumns } = await readKey(sql, app.id, key);
    return present(row, indexedColumns, await segmentsByKey(sql, app.id, [row]), clock);
  }),
  route('getPropertyConsequences', 'GET /properties/:key/consequences', {
    least: 'admin',
    summary: 'List the values and segments that a change of type or a deletion affects',
    answers: ok('Exact at this moment.', consequences),
    within: inCountTurn,
  }).handle(async ({ sql, countSql }, { caller: { app }, params: { key } }) => {
    const { row } = await readKey(sql, app.id, key);
    return {
      key,
      type: row.type,
      values: await countValues(countSql, app.id, row.id),
      segments: (await listSegmentsNaming(sql, app.id, [key])).map(presentName),
    };
  }),
  route('changeProperty', 'PATCH /properties/:key', {
    least: 'admin',
    summary: 'Change the type of a key',
    description: 'Nothing is converted: values of the former type are no longer seen.',
    body: component('PropertyEdit', z.strictObject({ type }), { type: 'number' }),
    answers: edited,
    within: inCountTurn,
  }).handle(async (deps, { caller, params: { key }, body }) =>
    edit(deps, caller, key, (context, held) => changePropertyType(context, key, body.type, held)),
  ),
  route('deleteProperty', 'DELETE /properties/:key', {
    least: 'admin',
    summary: 'Delete a key with its values',
    description: 'Old values are hidden at once; the next value registers the key again.',
    answers: edited,
    within: inCountTurn,
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
async function edit(
  { txSql, countSql, clock }: Pick<AreaDeps, 'txSql' | 'countSql' | 'clock'>,
  { app, by }: AppCaller,
  key: string,
  work: Edit,
) {
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
