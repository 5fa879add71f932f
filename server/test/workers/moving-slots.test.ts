import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { createAppSizes } from '../../src/people/audience/column-uses.ts';
import { followUse } from '../../src/people/audience/follow-use.ts';
import { moveSlots } from '../../src/people/audience/move-slots.ts';
import { indexLimits } from '../../src/people/audience/plan-indexes.ts';
import { retireProperty } from '../../src/people/properties/edit-property.ts';
import { listMoves } from '../../src/people/properties/move-queries.ts';
import { createPropertyClearing } from '../../src/people/users/worker.ts';
import { setup, type TestApp } from '../setup.ts';

const t = await setup({ workers: false });
const deps = { sql: t.sql, clock: t.clock, log: t.service.run.log };

/**
 * Runs turns of the job, a minute apart, until `isDone`. Transactions of other databases on the
 * server may delay it.
 */
async function turnUntil(isDone: () => Promise<boolean>): Promise<void> {
  await expect
    .poll(
      async () => {
        await moveSlots(deps);
        t.clock.advance(61_000);
        return isDone();
      },
      { interval: 50 },
    )
    .toBe(true);
}
const movesOf = async (app: TestApp) => (await listMoves(t.sql, t.clock, 0)).filter(({ appId }) => appId === app.id);
const isAtRest = async (app: TestApp): Promise<boolean> => (await movesOf(app)).length === 0;

/**
 * An app with eleven flags, of which ten had a slot, and a user with a device for each. The slot of
 * `flag_3` is free, because the key was deleted.
 */
async function newShop() {
  const app = await t.newApp();
  const server = t.clientOf(app.serverKey);
  const flags = Array.from({ length: 11 }, (_, i) => `flag_${i + 1}`);
  await server.post('/v1/users', {
    external_id: 'all',
    properties: Object.fromEntries(flags.map((key) => [key, true])),
  });
  for (const [i, key] of flags.entries()) {
    const { body: device } = await server.post('/v1/devices', { platform: 'android', token: `${app.id}-${i}` });
    await server.post('/v1/users', { external_id: key, properties: { [key]: i % 2 === 0 }, device_id: device.id });
  }
  await retire(app, 'flag_3');
  t.clock.advance(61_000);
  await createPropertyClearing(deps).runOnce();
  // Counted by a dry run, because a preview would mark the key as used.
  const count = async (key: string, value: boolean): Promise<number> => {
    const audience = { filter: { field: `properties.${key}`, op: 'eq', value } };
    return (await server.post('/v1/messages', { audience, content: { title: 'Count' }, dry_run: true })).body.count;
  };
  return { app, server, flags: flags.filter((key) => key !== 'flag_3'), count };
}

async function retire(app: TestApp, key: string): Promise<void> {
  await transaction(t.sql, (tx) => retireProperty({ ...t, tx, appId: app.id }, key, { users: 0, devices: 0 }));
}

async function slotsOf(app: TestApp): Promise<Record<string, number | null>> {
  const rows = await t.sql<{ key: string; slot: number | null }[]>`
    SELECT key, slot FROM properties WHERE app_id = ${app.id} ORDER BY id`;
  return Object.fromEntries(rows.map(({ key, slot }) => [key, slot]));
}

const uses = (key: string) => ({ field: `properties.${key}`, op: 'eq', value: true });

describe('slots follow use', () => {
  it('a key that a segment uses gets the slot of a deleted key, and its index, while upserts go on', async () => {
    const { app, server, flags, count } = await newShop();
    for (const key of flags) await server.post('/v1/segments', { name: key, filter: uses(key) });
    let turn = 0;
    const wrong: object[] = [];
    await turnUntil(async () => {
      turn++;
      // One request writes what another one reads at the same moment, whatever the phase.
      const value = turn % 2 === 0;
      await server.post('/v1/users', { external_id: 'flag_11', properties: { flag_11: value, flag_2: !value } });
      const counts = [await count('flag_11', value), await count('flag_11', !value), await count('flag_2', !value)];
      const expected = [1, 0, value ? 2 : 1];
      if (counts.join() !== expected.join()) wrong.push({ turn, counts, expected });
      return (await slotsOf(app))['flag_11'] !== null && (await isAtRest(app));
    });
    expect(wrong).toEqual([]);
    expect(await slotsOf(app)).toMatchObject({ flag_11: 3, flag_1: 1 });
    await followUse(
      { ...deps, indexSql: t.sql, sizes: createAppSizes({ sql: t.sql, clock: t.clock }) },
      { ...indexLimits, devicesMin: 0 },
    );
    const { body } = await server.get('/v1/properties?limit=200');
    expect(body.data.find((one: { key: string }) => one.key === 'flag_11')).toMatchObject({ indexed: true });
    const { body: user } = await server.get('/v1/users/flag_11');
    expect(Object.keys(user.properties).sort()).toEqual(['flag_11', 'flag_2']);
    // The next write of a row frees what stayed behind.
    await server.post('/v1/users', { external_id: 'flag_11', properties: { flag_2: null } });
    const [left] = await t.sql`
      SELECT count(*) FILTER (WHERE overflow ? '11') AS doubled, count(*) FILTER (WHERE bool_03 IS NOT NULL) AS held
      FROM audience WHERE app_id = ${app.id}`;
    expect({ ...left }).toEqual({ doubled: 0, held: 1 });
  });

  it('a used key stays without a slot when none is free: no key loses its slot, used or not', async () => {
    const { app, server } = await newShop();
    await server.post('/v1/users', { external_id: 'all', properties: { last: true } });
    const before = await slotsOf(app);
    expect(before).toMatchObject({ last: 3, flag_11: null });
    await server.post('/v1/segments', { name: 'S', filter: uses('flag_11') });
    await moveSlots(deps);
    expect(await isAtRest(app)).toBe(true);
    expect(await slotsOf(app)).toEqual(before);
  });

  it.each([
    ['began to move out of its slot', 3, 'filling', undefined],
    ['is read in the overflow', null, 'switched', { slot: 3, movePhase: 'switched' }],
    ['is written to the overflow alone', null, 'clearing', { slot: null, movePhase: 'filling' }],
  ])('a key that the version before demotes returns to its slot when it %s', async (_what, slot, phase, next) => {
    const { app, server, count } = await newShop();
    await server.post('/v1/users', { external_id: 'all', properties: { last: true } });
    await t.sql`
      UPDATE properties SET slot = ${slot}::int, move_slot = 3, move_phase = ${phase}, moved_at = ${t.clock.now},
        moved_by = pg_current_xact_id()
      WHERE app_id = ${app.id} AND key = 'last'`;
    await server.post('/v1/users', { external_id: 'flag_1', properties: { last: true } });
    if (phase === 'clearing') await t.sql`UPDATE audience SET bool_03 = NULL WHERE app_id = ${app.id}`;
    t.clock.advance(61_000);
    await turnUntil(async () => (await movesOf(app))[0]?.movePhase !== phase || (await slotsOf(app))['last'] !== slot);
    expect((await movesOf(app))[0]).toEqual(next && expect.objectContaining(next));
    await turnUntil(() => isAtRest(app));
    expect(await count('last', true)).toBe(1);
    expect((await slotsOf(app))['last']).toBe(3);
    expect(await t.sql`SELECT 1 FROM audience WHERE app_id = ${app.id} AND bool_03`).toHaveLength(1);
  });

  it('waits for transactions that read the catalog before a phase began, but for no locked row', async () => {
    const { app, server, count } = await newShop();
    await server.post('/v1/segments', { name: 'S', filter: uses('flag_11') });
    const phases = async () => (await movesOf(app)).map(({ key, movePhase }) => [key, movePhase]);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    // A writer that began before the key started to move, and that runs for long.
    let hasBegun = (): void => undefined;
    const begun = new Promise<void>((resolve) => {
      hasBegun = resolve;
    });
    const writer = transaction(t.sql, async (tx) => {
      await tx`SET LOCAL idle_in_transaction_session_timeout = 0`;
      await tx`SELECT 1 FROM people WHERE app_id = ${app.id} AND external_id = 'flag_1' FOR UPDATE`;
      hasBegun();
      await held;
    });
    await begun;
    await moveSlots(deps);
    const [[moving = '', phase] = []] = await phases();
    expect(phase).toBe('filling');
    for (let i = 0; i < 3; i++) {
      t.clock.advance(61_000);
      await moveSlots(deps);
    }
    expect(await phases()).toEqual([[moving, 'filling']]);
    release();
    await writer;

    let releaseRow = (): void => undefined;
    const rowHeld = new Promise<void>((resolve) => {
      releaseRow = resolve;
    });
    let hasRow = (): void => undefined;
    const gotRow = new Promise<void>((resolve) => {
      hasRow = resolve;
    });
    const holder = transaction(t.sql, async (tx) => {
      await tx`SET LOCAL idle_in_transaction_session_timeout = 0`;
      await tx`SELECT 1 FROM audience WHERE app_id = ${app.id} AND external_id = ${moving} FOR UPDATE`;
      hasRow();
      await rowHeld;
    });
    await gotRow;
    t.clock.advance(61_000);
    // The move starts over, without that row, and does not continue.
    await moveSlots(deps);
    expect(await phases()).toEqual([[moving, 'filling']]);
    expect((await count(moving, true)) + (await count(moving, false))).toBe(1);
    releaseRow();
    await holder;
    await turnUntil(() => isAtRest(app));
    expect((await slotsOf(app))['flag_11']).not.toBeNull();
  });

  it('a key that is deleted during its move leaves nothing behind, and its slot is free only then', async () => {
    const { app, server } = await newShop();
    await server.post('/v1/segments', { name: 'S', filter: uses('flag_11') });
    await moveSlots(deps);
    const [move] = await movesOf(app);
    expect(move).toMatchObject({ key: 'flag_11', moveSlot: 3 });
    await turnUntil(async () => (await movesOf(app))[0]?.movePhase === 'switched');
    await retire(app, 'flag_11');
    const added = async (key: string) => {
      await server.post('/v1/users', { external_id: 'new', properties: { [key]: true } });
      return (await slotsOf(app))[key];
    };
    expect(await added('before_it_is_clear')).toBeNull();
    t.clock.advance(61_000);
    await createPropertyClearing(deps).runOnce();
    const column = `bool_${String(move?.moveSlot).padStart(2, '0')}`;
    const [left] = await t.sql`
      SELECT count(*) AS count FROM audience
      WHERE app_id = ${app.id} AND (${t.sql(column)} IS NOT NULL OR overflow ? ${String(move?.id)}::text)`;
    expect(left?.['count']).toBe(0);
    expect(await added('after_it_is_clear')).toBe(move?.moveSlot);
  });

  it('two processes do not move the same key', async () => {
    const { app, server } = await newShop();
    await server.post('/v1/segments', { name: 'S', filter: uses('flag_11') });
    await turnUntil(async () => {
      await Promise.all([moveSlots(deps), moveSlots(deps)]);
      return (await slotsOf(app))['flag_11'] !== null && (await isAtRest(app));
    });
    const taken = Object.values(await slotsOf(app));
    expect(new Set(taken).size).toBe(10);
  });
});
