// GET /v1/properties: the catalog, which says what can be filtered on.
import { z } from 'zod';
import type { Caller } from '../apps/caller.ts';
import type { Sql } from '../platform/db.ts';
import type { Route } from '../platform/http-server.ts';
import { type Cursors, limitField, toPage } from '../platform/page.ts';
import { validate } from '../platform/validate.ts';
import { builtinFields, operatorsOfType } from './fields.ts';
import { listCatalog } from './list-catalog.ts';
import type { CatalogRow } from './queries.ts';
import { slotColumn } from './slots.ts';

export const propertyListQuery = z.strictObject({
  limit: limitField(200),
  cursor: z.string().optional(),
});

const builtins = Object.entries(builtinFields).map(([field, type]) => ({
  field,
  type,
  operators: operatorsOfType[type],
}));

export function propertyRoutes({ sql, cursors }: { sql: Sql; cursors: Cursors }): Route<Caller>[] {
  return [
    {
      method: 'GET',
      path: '/v1/properties',
      access: 'server',
      async handle({ caller, query: given }) {
        const { limit, cursor } = validate(propertyListQuery, given);
        const scope = [caller.appId, 'properties'];
        const after = cursor === undefined ? undefined : cursors.read(cursor, scope);
        const { rows, indexedColumns } = await listCatalog(
          sql,
          caller.appId,
          after ? String(after[0]) : null,
          limit + 1,
        );
        const page = toPage(
          rows,
          limit,
          (row) => present(row, indexedColumns),
          (last) => cursors.write([last.key], scope),
        );
        return { data: page.data, builtins, has_more: page.has_more, next_cursor: page.next_cursor };
      },
    },
  ];
}

function present(row: CatalogRow, indexedColumns: ReadonlySet<string>): object {
  return {
    key: row.key,
    field: `properties.${row.key}`,
    type: row.type,
    filterable: true,
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
