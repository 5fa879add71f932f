import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import {
  changePropertyType,
  countHeldValues,
  type HeldValues,
  retireProperty,
} from '../../src/people/properties/edit-property.ts';
import { createPropertyClearing } from '../../src/people/users/worker.ts';
import { setup, type TestApp } from '../setup.ts';

const t = await setup({ workers: false });
const clearing = createPropertyClearing({ sql: t.sql, clock: t.clock });
type Edit<Result> = (deps: Parameters<typeof retireProperty>[0], held: HeldValues) => Promise<Result>;

async function edit<Result>(app: TestApp, work: Edit<Result>): Promise<Result> {
  const held = await countHeldValues(t.sql, app.id, 'plan');
  return transaction(t.sql, (tx) => work({ ...t, tx, appId: app.id }, held));
}

/** An app whose user and whose device both have a value under `plan`. */
async function newShop() {
  const app = await t.newApp();
  const server = t.clientOf(app.serverKey);
  const { body: device } = await server.post('/v1/devices', {
    platform: 'android',
    token: `a-${app.id}`,
    properties: { plan: 'own' },
  });
  await server.post('/v1/users', { external_id: 'u-1', properties: { plan: 'pro' }, device_id: device.id });
  const count = async (filter: object) => {
    const { status, body } = await server.post('/v1/segments/preview', { filter });
    return status === 200 ? body.count : body.issues[0].code;
  };
  return { app, server, count };
}

const isPro = { field: 'properties.plan', op: 'eq', value: 'pro' };

describe('a deleted key', () => {
  it('is unknown at once, and no former value appears when it returns with the same type', async () => {
    const { app, server, count } = await newShop();
    expect(await count(isPro)).toBe(1);
    expect((await edit(app, (deps, held) => retireProperty(deps, 'plan', held))).removed).toEqual({
      users: 1,
      devices: 1,
    });
    expect(await count(isPro)).toBe('unknown_property');
    expect((await server.get('/v1/users/u-1')).body.properties).toEqual({});
    expect((await server.get('/v1/properties')).body.data).toEqual([]);
    // The key returns: another person has the first value.
    await server.post('/v1/users', { external_id: 'u-2', properties: { plan: 'pro' } });
    expect(await count(isPro)).toBe(0);
    expect((await server.get('/v1/users/u-1')).body.properties).toEqual({});
  });

  it('gives its slot to others only when no value is left in it', async () => {
    const { app, server, count } = await newShop();
    const slots = async () =>
      (await t.sql`SELECT key, slot FROM properties WHERE app_id = ${app.id} ORDER BY key`).map((row) => ({ ...row }));
    await edit(app, (deps, held) => retireProperty(deps, 'plan', held));
    await server.post('/v1/users', { external_id: 'u-2', properties: { tier: 'x' } });
    expect(await slots()).toEqual([{ key: 'tier', slot: 2 }]);
    // A writer that read the catalog before may still be writing.
    await clearing.runOnce();
    await server.post('/v1/users', { external_id: 'u-2', properties: { zone: 'x' } });
    expect(await slots()).toEqual([
      { key: 'tier', slot: 2 },
      { key: 'zone', slot: 3 },
    ]);
    t.clock.advance(61_000);
    await clearing.runOnce();
    expect(await t.sql`SELECT 1 FROM retired_properties WHERE app_id = ${app.id}`).toHaveLength(0);
    const held = await t.sql`
      SELECT 1 FROM audience WHERE app_id = ${app.id} AND text_01 IS NOT NULL
      UNION ALL SELECT 1 FROM users WHERE app_id = ${app.id} AND external_id = 'u-1' AND properties <> '{}'
      UNION ALL SELECT 1 FROM devices WHERE app_id = ${app.id} AND properties <> '{}'`;
    expect(held).toHaveLength(0);
    await server.post('/v1/users', { external_id: 'u-3', properties: { plan: 'free' } });
    expect(await slots()).toContainEqual({ key: 'plan', slot: 1 });
    expect(await count(isPro)).toBe(0);
  });
});

describe('a key whose type is changed', () => {
  it('coerces nothing: values of the former type disappear, new ones are accepted', async () => {
    const { app, server, count } = await newShop();
    await edit(app, (deps, held) => changePropertyType(deps, 'plan', 'number', held));
    expect(await count(isPro)).toBe('value_type_mismatch');
    expect(await count({ field: 'properties.plan', op: 'exists' })).toBe(0);
    const { body } = await server.post('/v1/users', { external_id: 'u-1', properties: { plan: 7 } });
    expect([body.properties, body.property_conflicts]).toEqual([{ plan: 7 }, []]);
    expect(await count({ field: 'properties.plan', op: 'gte', value: 7 })).toBe(1);
  });
});
