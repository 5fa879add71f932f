// A filter on a language finds it in every spelling that may be stored.
import { expect, it } from 'vitest';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });

it('a filter on a language or locale finds each spelling of it, and its negation all others', async () => {
  const locales = ['iw-IL', 'pt_BR', 'tl', 'no', 'nb'];
  for (const locale of locales) await t.registerDevice({ locale });
  const former = await t.registerDevice();
  // As a process of the former version stored it.
  await t.sql`UPDATE audience SET locale = 'iw-IL' WHERE locale IS NULL`;
  await t.server.post('/v1/users', { external_id: 'u-1', language: 'iw', device_id: former });
  const count = async (field: string, op: string, value: unknown): Promise<number> =>
    (await t.server.post('/v1/segments/preview', { filter: { field, op, value } })).body.count;
  for (const value of ['iw-IL', 'he-IL', 'IW-il', 'iw_IL']) {
    expect(await count('device.locale', 'eq', value)).toBe(2);
    expect(await count('device.locale', 'neq', value)).toBe(4);
  }
  expect(await count('device.locale', 'in', ['fil', 'pt-br'])).toBe(2);
  expect(await count('device.locale', 'not_in', ['tl', 'he-IL'])).toBe(3);
  expect(await count('device.locale', 'eq', 'no')).toBe(1);
  expect(await count('device.locale', 'starts_with', 'pt-')).toBe(1);
  for (const value of ['iw', 'he', 'HE']) expect(await count('language', 'eq', value)).toBe(1);
});

it('a segment with a former code is stored with the present one, and selects the same devices', async () => {
  const filter = { field: 'device.locale', op: 'eq', value: 'iw-IL' };
  const { body } = await t.server.post('/v1/segments', { name: 'Hebrew', filter });
  const shown = await t.server.get(`/v1/segments/${body.id}`);
  expect(shown.body.filter).toEqual({ ...filter, value: 'he-IL' });
  expect((await t.server.post('/v1/segments/preview', { segment_id: body.id })).body.count).toBe(2);
});
