import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkFilter } from '../../src/audience/check-filter.ts';
import { parseFilter } from '../../src/audience/filter.ts';
import { filterToSql } from '../../src/audience/filter-to-sql.ts';
import type { Uuid } from '../../src/platform/ids.ts';
import { setup } from '../setup.ts';
import { matches } from './evaluate-filter.ts';
import { randomFilter } from './random-filter.ts';
import { makeWorld } from './world.ts';

const t = await setup({ workers: false });
const runs = Number(process.env['FILTER_RUNS'] ?? 300);
const seed = Number(process.env['FILTER_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** mulberry32: small, and the same everywhere. */
function randomOf(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe('R-73 a filter', () => {
  it(`selects just the devices that an evaluator in memory selects (${runs} filters, seed ${seed})`, async () => {
    const app = await t.newApp();
    // In whole milliseconds, like every instant that a caller writes.
    const now = new Date('2026-06-15T13:37:00.123Z');
    const world = await makeWorld(t.sql, app.id, now, randomOf(seed), 60);
    const select = async (json: unknown): Promise<Uuid[]> => {
      const parsed = parseFilter(json);
      if ('issues' in parsed) throw new Error(JSON.stringify(parsed.issues));
      const checked = checkFilter(parsed.filter, world.catalog);
      if ('issues' in checked) throw new Error(JSON.stringify(checked.issues));
      const context = { tx: t.sql, appId: app.id, now: t.sql`${now}::timestamptz` };
      const rows = await t.sql<{ deviceId: Uuid }[]>`
        SELECT a.device_id FROM audience a WHERE a.app_id = ${app.id} AND ${filterToSql(context, checked.filter)}
        ORDER BY a.device_id`;
      return rows.map(({ deviceId }) => deviceId);
    };
    let some = 0;
    await fc.assert(
      fc.asyncProperty(randomFilter(now), async (json) => {
        const expected = [...world.devices].flatMap(([id, device]) =>
          matches(json, device, world.events, now) ? [id] : [],
        );
        expect(await select(json)).toEqual(expected.sort());
        expect(await select({ not: json })).toHaveLength(world.devices.size - expected.length);
        if (expected.length > 0 && expected.length < world.devices.size) some++;
      }),
      { numRuns: runs, seed },
    );
    // A world in which every filter matched everybody or nobody would prove little.
    expect(some).toBeGreaterThan(runs / 4);
  });
});
