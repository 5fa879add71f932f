// Which columns of `audience` filters compare, of which apps, and how many devices these have: what indexes are planned by. Sizes are
// remembered for a while, since a plan is made every minute.
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { BuiltinField } from '../properties/fields.ts';
import { slotColumn } from '../properties/slots.ts';
import { builtinColumns } from './filter-to-sql.ts';
import { countDevicesUpTo, listFieldsInUse, listFieldsTogether, listSlotsOfKeys } from './index-queries.ts';
import type { ColumnsTogether } from './plan-carried.ts';
import type { ColumnUse } from './plan-indexes.ts';

/** Previews of a field, a minute apart, that are worth an index and a slot. */
export const previewsMin = 3;

const propertyPrefix = 'properties.';
/** These have indexes of their own, from the first migration on. */
const alwaysIndexed: readonly BuiltinField[] = ['external_id', 'device.created_at'];

/** Of fields those that are properties, by their keys. */
export function keysAmong(fields: readonly { appId: Uuid; field: string }[]): { appId: Uuid; key: string }[] {
  return fields.flatMap(({ appId, field }) =>
    field.startsWith(propertyPrefix) ? [{ appId, key: field.slice(propertyPrefix.length) }] : [],
  );
}

/** How many devices an app has. */
export interface AppSizes {
  /** Counted up to a great number, by which all great apps are alike. */
  devicesOf(appId: Uuid): Promise<number>;
}

/** An app with more is among the greatest. */
const countedMax = 200_000;
/** An app with fewer grows fast, and is counted fast. */
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

/** What segments compare, and previews again and again. Properties without a slot are not among it. */
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

/** What segments of apps with so many devices or more compare under one `and`, where each of it has a column. */
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
    // Every index has it.
    columns.delete(builtinColumns['device.platform']);
    if (columns.has('') || columns.size < 2) continue;
    const devices = await sizes.devicesOf(appId);
    if (devices >= devicesMin) together.push({ columns: [...columns], devices });
  }
  return together;
}

/** The columns in which fields of apps stand; undefined: it has none. */
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
