// Compares random filters over a world: the database's answer with that of an evaluator in memory.
// Used by the test and, with larger numbers, by the proof of R-73.

import type { Sql } from '@carillon/postgres';
import fc from 'fast-check';
import type { Uuid } from '../../../server/src/ground/values/ids.ts';
import { checkFilter } from '../../../server/src/people/audience/check-filter.ts';
import { parseFilter } from '../../../server/src/people/audience/filter.ts';
import { filterToSql } from '../../../server/src/people/audience/filter-to-sql.ts';
import type { Property } from '../../../server/src/people/properties/property.ts';
import { matches } from './evaluate-filter.ts';
import { randomFilter } from './random-filter.ts';
import type { World } from './world.ts';

type Catalog = ReadonlyMap<string, Property>;

/**
 * The scene where filters are evaluated, and the instant that durations count from, in whole
 * milliseconds like every instant of a caller.
 */
export interface FilterScene {
  readonly sql: Sql;
  readonly appId: Uuid;
  readonly now: Date;
}

/** The devices that a filter selects in the database, by a catalog. */
export async function selectDevices(
  { sql, appId, now }: FilterScene,
  catalog: Catalog,
  json: unknown,
): Promise<Uuid[]> {
  const parsed = parseFilter(json);
  if ('issues' in parsed) throw new Error(JSON.stringify(parsed.issues));
  const checked = checkFilter(parsed.filter, catalog);
  if ('issues' in checked) throw new Error(JSON.stringify(checked.issues));
  const context = { tx: sql, appId, now: sql`${now}::timestamptz` };
  const rows = await sql<{ deviceId: Uuid }[]>`
    SELECT a.device_id FROM audience a WHERE a.app_id = ${appId} AND ${filterToSql(context, checked.filter)}
    ORDER BY a.device_id`;
  return rows.map(({ deviceId }) => deviceId);
}

/**
 * Compares random filters and their negations, with each of the catalogs, with the evaluator.
 * Throws with the smallest filter that differs. Returns how many filters matched some devices and
 * not all, because other filters prove little.
 */
export async function compareFilters(
  scene: FilterScene,
  world: Pick<World, 'devices' | 'events'>,
  catalogs: readonly Catalog[],
  { runs, seed }: { readonly runs: number; readonly seed: number },
): Promise<number> {
  let some = 0;
  await fc.assert(
    fc.asyncProperty(randomFilter(scene.now), async (json) => {
      const expected = [...world.devices].flatMap(([id, device]) =>
        matches(json, device, world.events, scene.now) ? [id] : [],
      );
      expected.sort();
      for (const catalog of catalogs) {
        requireSame(await selectDevices(scene, catalog, json), expected);
        const others = await selectDevices(scene, catalog, { not: json });
        if (others.length !== world.devices.size - expected.length) {
          throw new Error(`its negation selects ${others.length} of ${world.devices.size}, and it ${expected.length}`);
        }
      }
      if (expected.length > 0 && expected.length < world.devices.size) some++;
    }),
    { numRuns: runs, seed },
  );
  return some;
}

function requireSame(selected: readonly Uuid[], expected: readonly Uuid[]): void {
  const surplus = selected.filter((id) => !expected.includes(id));
  const missing = expected.filter((id) => !selected.includes(id));
  if (surplus.length + missing.length === 0 && selected.length === expected.length) return;
  throw new Error(`selected and should not: [${surplus}]; should be and are not: [${missing}]`);
}

/** mulberry32: small, and the same everywhere. */
export function randomOf(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
