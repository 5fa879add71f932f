import { afterEach, describe, expect, it } from 'vitest';
import { compareFilters, randomOf } from '../../../rig/src/filters/compare-filters.ts';
import { numbers, texts } from '../../../rig/src/filters/random-filter.ts';
import { makeWorld, type World } from '../../../rig/src/filters/world.ts';
import { armFailpoints } from '../../src/ground/host/failpoint.ts';
import { mintUuid, type Uuid } from '../../src/ground/values/ids.ts';
import { moveSlots } from '../../src/people/audience/move-slots.ts';
import { copyProfile } from '../../src/people/audience/profile-copy.ts';
import { listMoves } from '../../src/people/properties/move-queries.ts';
import type { Property } from '../../src/people/properties/property.ts';
import { readCatalog } from '../../src/people/properties/queries.ts';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });
const deps = { sql: t.sql, clock: t.clock, log: t.service.run.log };
const seed = Number(process.env['FILTER_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** Smaller than the world, so that a walk takes several chunks. */
const rowsAtOnce = 25;
const filtersEachTime = 12;

afterEach(() => armFailpoints(() => undefined)());

/** Stores a catalog in which the second slot of each type alone is free. */
async function storeCatalog(appId: Uuid, { catalog }: World): Promise<void> {
  const kept = [...catalog.values()];
  const fillers: Property[] = [];
  for (const [type, slots] of [
    ['string', 30],
    ['number', 30],
    ['boolean', 10],
  ] as const) {
    for (let slot = 3; slot <= slots; slot++) {
      if (kept.some((one) => one.type === type && one.slot === slot)) continue;
      const id = 100 + fillers.length;
      fillers.push({ id, key: `filler_${id}`, type, slot });
    }
  }
  await t.sql`INSERT INTO property_catalogs (app_id, next_property_id) VALUES (${appId}, 1000)`;
  const properties = [...kept, ...fillers].map(({ id, key, type, slot }) => ({ id, key, type, slot }));
  await t.sql`
    INSERT INTO properties (app_id, id, key, type, slot)
    SELECT ${appId}, id, key, type, slot
    FROM jsonb_populate_recordset(NULL::properties, ${t.sql.json(properties)})`;
  const fields = ['properties.far', 'properties.far_number', 'properties.far_flag'];
  await t.sql`
    INSERT INTO segments (app_id, id, name, filter, fields, created_at, updated_at)
    VALUES (${appId}, ${mintUuid()}, 'Far', '{}', ${fields}, now(), now())`;
}

async function readByKey(appId: Uuid, { catalog }: World): Promise<ReadonlyMap<string, Property>> {
  const ids = [...catalog.values()].map(({ id }) => id);
  const found = await readCatalog(t.sql, appId, ids);
  return new Map([...found.values()].map((one) => [one.key, one]));
}

/**
 * Rewrites a device's properties as the service does, by a writer that had read the catalog
 * `known`.
 */
async function rewrite(
  appId: Uuid,
  world: World,
  known: ReadonlyMap<string, Property>,
  random: () => number,
): Promise<void> {
  const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)] as Value;
  const [deviceId, device] = pick([...world.devices]);
  const values = {
    string: [...texts, null, null],
    number: [...numbers, null, null],
    boolean: [true, false, null],
  } as const;
  const fields = device.fields as Map<string, string | number | boolean | Date>;
  const stored: Record<string, string | number | boolean> = {};
  for (const { id, key, type } of world.catalog.values()) {
    const value = pick<string | number | boolean | null>(values[type]);
    if (value === null) fields.delete(`properties.${key}`);
    else {
      stored[id] = value;
      fields.set(`properties.${key}`, value);
    }
  }
  const { columns, overflow } = copyProfile(null, stored, [...known.values()]);
  const slots = Object.fromEntries(Object.entries(columns).filter(([name]) => /^(text|number|bool)_\d\d$/.test(name)));
  await t.sql`
    UPDATE audience SET ${t.sql({ ...slots, overflow: t.sql.json(overflow) })}
    WHERE app_id = ${appId} AND device_id = ${deviceId}`;
}

describe('R-73 while slots follow use', () => {
  it(`a filter selects exactly the same devices as before, during writes and after any interruption of a move (seed ${seed})`, async () => {
    const app = await t.newApp();
    const random = randomOf(seed);
    const place = { sql: t.sql, appId: app.id, now: new Date('2026-06-15T13:37:00.123Z') };
    const world = await makeWorld(t.sql, app.id, place.now, random, 60);
    await storeCatalog(app.id, world);
    let before = await readByKey(app.id, world);
    const seen = new Set<string>();
    let turns = 0;
    let brokenOff = 0;
    for (; turns < 400; turns++) {
      // Half of the turns are interrupted at some point.
      let passes = Math.floor(random() * 8);
      const disarm = armFailpoints((name) => {
        if (!name.startsWith('slots.') || passes-- !== 0) return;
        brokenOff++;
        throw new Error('broken off');
      });
      await moveSlots(deps, rowsAtOnce).catch(() => undefined);
      disarm();
      const now = await readByKey(app.id, world);
      for (const { key, slot, movePhase } of now.values()) seen.add(`${key} ${slot === null} ${movePhase}`);
      // Once with the catalog from before this turn, and once with the current catalog.
      await compareFilters(place, world, [before, now], { runs: filtersEachTime, seed: seed + turns });
      for (const known of [before, now]) for (let i = 0; i < 4; i++) await rewrite(app.id, world, known, random);
      await compareFilters(place, world, [before, now], { runs: filtersEachTime, seed: seed - turns });
      const isDone = ['far', 'far_number', 'far_flag'].every((key) => now.get(key)?.slot != null);
      if (isDone && (await listMoves(t.sql, t.clock, 0)).length === 0) break;
      before = now;
      t.clock.advance(61_000);
    }
    const after = await readByKey(app.id, world);
    expect(['far', 'far_number', 'far_flag'].map((key) => after.get(key)?.slot)).toEqual([2, 2, 2]);
    expect(seen).toContain('far true filling');
    expect(seen).toContain('far false switched');
    expect(brokenOff).toBeGreaterThan(0);
  });
});
