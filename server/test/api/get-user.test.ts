import { describe, expect, it } from 'vitest';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });

describe('200', () => {
  it('returns the profile, without the fields that only an upsert returns', async () => {
    const device_id = await t.registerDevice();
    const upserted = await t.server.post('/v1/users', {
      external_id: 'u-42',
      first_name: 'Ada',
      country: 'DE',
      language: 'de',
      timezone: 'Europe/Berlin',
      properties: { plan: 'pro' },
      device_id,
    });
    const { created: _created, property_conflicts: _conflicts, ...profile } = upserted.body;
    const { status, body } = await t.server.get('/v1/users/u-42');
    expect(status).toBe(200);
    expect(body).toEqual(profile);
    expect(Object.keys(body)).toEqual([
      ...['id', 'external_id', 'first_name', 'country', 'language', 'timezone', 'properties', 'devices'],
      ...['created_at', 'updated_at'],
    ]);
  });

  it('lists active devices only, newest first', async () => {
    const devices: string[] = [];
    for (let i = 0; i < 3; i++) {
      const device_id = await t.registerDevice();
      await t.server.post('/v1/users', { external_id: 'several', device_id });
      devices.unshift(device_id);
    }
    await t.server.delete(`/v1/devices/${devices[1]}`);
    expect((await t.server.get('/v1/users/several')).body.devices).toEqual([devices[0], devices[2]]);
  });

  it.each([
    'with/slash',
    'with space',
    'x?y#z%',
    'Zo\u00eb',
    'Zoe\u0308',
    '🔔-carillon',
    '\u{1F514}'.repeat(128),
    '字'.repeat(256),
    '%2F',
    '\u0001',
  ])('finds the external id %j, percent-encoded', async (external_id) => {
    const { body: upserted } = await t.server.post('/v1/users', { external_id });
    const { status, body } = await t.server.get(`/v1/users/${encodeURIComponent(external_id)}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ id: upserted.id, external_id });
  });
});

describe('400', () => {
  it('refuses an unknown query parameter', async () => {
    const response = await t.server.get('/v1/users/u-42?expand=devices');
    expect(response).toMatchObject({
      status: 400,
      body: { issues: [{ path: ['expand'], code: 'unrecognized_keys' }] },
    });
  });
});

describe('401', () => {
  it('without a key', async () => {
    expect((await t.request('GET', '/v1/users/u-42')).status).toBe(401);
  });
});

describe('403', () => {
  it('with a client key', async () => {
    expect(await t.client.get('/v1/users/u-42')).toMatchObject({ status: 403, body: { error: 'wrong_key_scope' } });
  });
});

describe('404', () => {
  it.each([
    ['unknown', 'nobody'],
    ['of another letter case', 'U-42'],
    ['too long', 'a'.repeat(257)],
    ['U+0000', '%00'],
    ['empty', ''],
  ])('for an external id that is %s', async (_name, external_id) => {
    expect(await t.server.get(`/v1/users/${external_id}`)).toMatchObject({ status: 404, body: { error: 'not_found' } });
  });

  it("for another app's user (R-60)", async () => {
    const other = await t.newApp();
    await t.clientOf(other.serverKey).post('/v1/users', { external_id: 'theirs' });
    expect((await t.server.get('/v1/users/theirs')).status).toBe(404);
  });
});
