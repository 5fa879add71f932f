// Lists the columns of `audience` that filters compare, the apps that compare them, and the apps'
// numbers of devices. Indexes are planned from this list. App sizes are cached, because a plan is
// made every minute.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { BuiltinField } from '../properties/fields.ts';
import { slotColumn } from '../properties/slots.ts';
import { builtinColumns } from './filter-to-sql.ts';
import { countDevicesUpTo, listFieldsInUse, listFieldsTogether, listSlotsOfKeys } from './index-queries.ts';
import type { ColumnsTogether } from './plan-carried.ts';
import type { ColumnUse } from './plan-indexes.ts';

/**
 * The number of noted previews, at most one a minute, from which a field deserves an index and a
 * slot.
 */
export const previewsMin = 3;

const propertyPrefix = 'properties.';
/** Columns that have an index since the first migration. */
const alwaysIndexed: readonly BuiltinField[] = ['external_id', 'device.created_at'];

/** Selects the fields that are properties and returns their keys. */
export function keysAmong(fields: readonly { appId: Uuid; field: string }[]): { appId: Uuid; key: string }[] {
  return fields.flatMap(({ appId, field }) =>
    field.startsWith(propertyPrefix) ? [{ appId, key: field.slice(propertyPrefix.length) }] : [],
  );
}

/** The number of devices of each app, cached. */
export interface AppSizes {
  /** Counts at most `countedMax` devices: all larger apps are treated alike. */
  devicesOf(appId: Uuid): Promise<number>;
}

/** Devices that are counted at most; an app with more counts as one with this many. */
const countedMax = 200_000;
/**
 * An app with fewer devices grows fast and is quick to count, so its cached count is kept for a
 * shorter time.
 */
const smallMax = 10_000;
const keptMs = { small: 300_000, great: 3_600_000 };

export function createAppSizes({ sql, clock }: { sql: Sql; clock: Pick<Clock, 'steadyMs'> }): AppSizes {
  const known = new Map<Uuid, { readonly devices: number; readonly untilMs: number }>();
  return {
    async devicesOf(appId) {
      const nowMs = clock.steadyMs();
      const last = known.get(appId);
      if (last && nowMs < last.untilMs) return last.devices;
      const devices = await countDevicesUpTo(sql, appId, countedMax);
      known.set(appId, { devices, untilMs: nowMs + (devices < smallMax ? keptMs.small : keptMs.great) });
      return devices;
    },
  };
}

/**
 * Lists the columns that segments compare and that previews compare repeatedly. Properties without
 * a slot are omitted, because they have no column.
 */
export async function listColumnUses(sql: Sql, sizes: AppSizes): Promise<ColumnUse[]> {
  const fields = await listFieldsInUse(sql, previewsMin);
  const columnOf = await findColumns(sql, fields);
  const uses: ColumnUse[] = [];
  for (const { appId, field, uses: count } of fields) {
    const column = (alwaysIndexed as readonly string[]).includes(field) ? undefined : columnOf(appId, field);
    if (column === undefined) continue;
    uses.push({ appId, field, column, uses: count, devices: await sizes.devicesOf(appId) });
  }
  return uses;
}

/**
 * Lists the columns that segments compare together under one `and`, for apps with at least
 * `devicesMin` devices. A list in which one field has no column is omitted.
 */
export async function listColumnsTogether(sql: Sql, sizes: AppSizes, devicesMin: number): Promise<ColumnsTogether[]> {
  const lists = await listFieldsTogether(sql);
  const columnOf = await findColumns(
    sql,
    lists.flatMap(({ appId, fields }) => fields.map((field) => ({ appId, field }))),
  );
  const together: ColumnsTogether[] = [];
  for (const { appId, fields } of lists) {
    const columns = new Set<string>();
    for (const field of fields) columns.add(columnOf(appId, field) ?? '');
    // Every index includes the platform.
    columns.delete(builtinColumns['device.platform']);
    if (columns.has('') || columns.size < 2) continue;
    const devices = await sizes.devicesOf(appId);
    if (devices >= devicesMin) together.push({ columns: [...columns], devices });
  }
  return together;
}

/**
 * Finds the column of each field of an app. The returned function answers undefined for a field
 * without a column.
 */
async function findColumns(
  sql: Sql,
  fields: readonly { readonly appId: Uuid; readonly field: string }[],
): Promise<(appId: Uuid, field: string) => string | undefined> {
  const keys = keysAmong(fields);
  const slots = keys.length === 0 ? [] : await listSlotsOfKeys(sql, keys);
  const slotOf = new Map(slots.map(({ appId, key, type, slot }) => [`${appId} ${key}`, slotColumn(type, slot)]));
  const builtins = new Map<string, string>(Object.entries(builtinColumns));
  return (appId, field) =>
    field.startsWith(propertyPrefix)
      ? slotOf.get(`${appId} ${field.slice(propertyPrefix.length)}`)
      : builtins.get(field);
}
