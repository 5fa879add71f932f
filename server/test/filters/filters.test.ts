import { describe, expect, it } from 'vitest';
import { compareFilters, randomOf } from '../../../rig/src/filters/compare-filters.ts';
import { makeWorld } from '../../../rig/src/filters/world.ts';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });
const runs = Number(process.env['FILTER_RUNS'] ?? 300);
const seed = Number(process.env['FILTER_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** Many filters take long, and longer on a slow machine. */
const timeoutMs = 60_000 + runs * 50;

describe('R-73 a filter', () => {
  it(
    `selects exactly the devices that an evaluator in memory selects (${runs} filters, seed ${seed})`,
    async () => {
      const app = await t.newApp();
      const place = { sql: t.sql, appId: app.id, now: new Date('2026-06-15T13:37:00.123Z') };
      const world = await makeWorld(t.sql, app.id, place.now, randomOf(seed), 60);
      const some = await compareFilters(place, world, [world.catalog], { runs, seed });
      // A world in which every filter matched everybody or nobody would prove little.
      expect(some).toBeGreaterThan(runs / 4);
    },
    timeoutMs,
  );
});
