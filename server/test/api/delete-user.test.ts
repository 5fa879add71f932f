import { describe, expect, it } from 'vitest';
import { decodeId } from '../../src/ground/values/ids.ts';
import { exchange } from '../raw-http.ts';
import { setup } from '../setup.ts';

const t = await setup({ workers: false });

describe('200', () => {
  it('erases the profile and opts out its devices', async () => {
    const devices = [await t.registerDevice(), await t.registerDevice()];
    for (const device_id of devices) {
      await t.server.post('/v1/users', {
        external_id: 'u-42',
        first_name: 'Ada',
        device_id,
        properties: { plan: 'pro' },
      });
    }
    const response = await t.server.delete('/v1/users/u-42');
    expect(response).toMatchObject({ status: 200, body: { external_id: 'u-42', deleted: true, devices_removed: 2 } });
    expect(Object.keys(response.body)).toEqual(['external_id', 'deleted', 'devices_removed']);
    expect((await t.server.get('/v1/users/u-42')).status).toBe(404);
    const { body } = await t.server.get('/v1/devices');
    expect(body.data).toHaveLength(2);
    for (const device of body.data) {
      expect(device).toMatchObject({ status: 'unsubscribed', external_id: null, token_hint: null });
    }
  });

  it('leaves nothing of the person in any table of this room or its neighbours', async () => {
    const device_id = await t.registerDevice();
    const properties = { mail: 'ada@private.example', plan: 'pro' };
    await t.server.post('/v1/users', { external_id: 'private-person', first_name: 'Augusta', properties, device_id });
    await t.server.delete('/v1/users/private-person');
    for (const table of ['people', 'users', 'devices', 'device_tokens', 'device_changes', 'audience', 'properties']) {
      const rows = await t.sql`SELECT * FROM ${t.sql(table)} WHERE app_id = ${t.app.id}`;
      const text = JSON.stringify(rows);
      for (const trace of ['private-person', 'Augusta', 'ada@private.example'])
        expect(text, table).not.toContain(trace);
    }
  });

  it('leaves no sample of values that the person or a device of theirs had, even if replaced or cleared before', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const register = (properties: object | null) =>
      server.post('/v1/devices', { platform: 'android', token: 'traces', properties });
    const { body } = await register({ seat: 'device-first', mail: 'device-mail' });
    const external_id = 'traced';
    const long = `person-long${'x'.repeat(80)}`;
    const upsert = (properties: object | null) =>
      server.post('/v1/users', { external_id, device_id: body.id, properties });
    await upsert({ mail: 'person-first', note: 'person-note', city: 'person-city', long });
    await upsert({ mail: 'person-second', note: null, long: `${long}y` });
    await register({ seat: 'device-second', mail: null });
    const samples = async () =>
      Object.fromEntries(
        (await server.get('/v1/properties')).body.data.map((entry: { key: string; samples: unknown }) => [
          entry.key,
          entry.samples,
        ]),
      );
    expect(await samples()).toEqual({
      mail: ['person-second'],
      note: [],
      city: ['person-city'],
      long: [long.slice(0, 64)],
      seat: ['device-second'],
    });
    await server.delete('/v1/users/traced');
    expect(await samples()).toEqual({ mail: [], note: [], city: [], long: [], seat: [] });
    await upsert({ mail: 'person-third', note: 'person-third' }).then(({ status }) => expect(status).toBe(200));
    await upsert(null);
    expect(await samples()).toMatchObject({ mail: [], note: [] });
  });

  it('gives the same external id a new user afterwards, without the former values', async () => {
    const { body: former } = await t.server.post('/v1/users', { external_id: 'again', properties: { plan: 'pro' } });
    await t.server.delete('/v1/users/again');
    const { body } = await t.server.post('/v1/users', { external_id: 'again' });
    expect(body).toMatchObject({ created: true, properties: {} });
    expect(body.id).not.toBe(former.id);
  });

  it('does not touch a device that had moved to another user', async () => {
    const device_id = await t.registerDevice();
    await t.server.post('/v1/users', { external_id: 'mover', device_id });
    await t.server.post('/v1/users', { external_id: 'keeper', device_id });
    expect((await t.server.delete('/v1/users/mover')).body.devices_removed).toBe(0);
    expect((await t.server.get('/v1/users/keeper')).body.devices).toEqual([device_id]);
  });

  it('erases a person who has no profile and is named only by events', async () => {
    const [app] =
      await t.sql`SELECT ${t.app.id}::uuid AS id, ${decodeId('usr', 'usr_02y9GVDsTuJUi2BOoCH5G3') ?? ''}::uuid AS user_id`;
    await t.sql`INSERT INTO people (app_id, external_id, user_id) VALUES (${app?.['id']}, 'only-events', ${app?.['userId']})`;
    expect((await t.server.get('/v1/users/only-events')).status).toBe(404);
    expect(await t.server.delete('/v1/users/only-events')).toMatchObject({ status: 200, body: { devices_removed: 0 } });
    expect((await t.server.delete('/v1/users/only-events')).status).toBe(404);
  });

  it('racing with upserts of the same user leaves either no user or a complete new one', async () => {
    for (let round = 0; round < 10; round++) {
      const external_id = `phoenix-${round}`;
      const device_id = await t.registerDevice();
      const { body: former } = await t.server.post('/v1/users', { external_id, first_name: 'Old', device_id });
      const [erased, upserted] = await Promise.all([
        t.server.delete(`/v1/users/${external_id}`),
        t.server.post('/v1/users', { external_id, country: 'DE' }),
      ]);
      expect([erased.status, upserted.status]).toEqual([200, 200]);
      const found = await t.server.get(`/v1/users/${external_id}`);
      if (found.status === 200) {
        expect(found.body).toMatchObject({ first_name: null, country: 'DE', devices: [] });
        expect(found.body.id).not.toBe(former.id);
      } else expect(found.status).toBe(404);
    }
  });

  it('takes a percent-encoded external id', async () => {
    await t.server.post('/v1/users', { external_id: 'a/b c' });
    expect(await t.server.delete('/v1/users/a%2Fb%20c')).toMatchObject({ status: 200, body: { external_id: 'a/b c' } });
  });
});

describe('the external ids . and .. of a former version', () => {
  it.each([
    ['.', '/v1/users/.'],
    ['.', '/v1/users/%2E'],
    ['..', '/v1/users/..'],
    ['..', '/v1/users/%2e%2e'],
  ])('%j is read and erased by a client that sends the path unchanged: %s', async (external_id, path) => {
    await t.server.post('/v1/users', { external_id: 'u-dots' });
    await t.sql`UPDATE users SET external_id = ${external_id} WHERE external_id = 'u-dots'`;
    await t.sql`UPDATE people SET external_id = ${external_id} WHERE external_id = 'u-dots'`;
    const send = (method: string) =>
      exchange(t.url, `${method} ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${t.app.serverKey}\r\n\r\n`);
    expect(await send('GET')).toMatchObject({ status: 200, body: { external_id } });
    expect(await send('DELETE')).toMatchObject({ status: 200, body: { external_id, deleted: true } });
    expect(await send('GET')).toMatchObject({ status: 404 });
  });
});

describe('400', () => {
  it('refuses an unknown query parameter, and erases nothing', async () => {
    await t.server.post('/v1/users', { external_id: 'careful' });
    expect((await t.server.delete('/v1/users/careful?dry_run=true')).status).toBe(400);
    expect((await t.server.get('/v1/users/careful')).status).toBe(200);
  });
});

describe('401', () => {
  it('without a key', async () => {
    expect((await t.request('DELETE', '/v1/users/u-42')).status).toBe(401);
  });
});

describe('403', () => {
  it('with a client key', async () => {
    expect(await t.client.delete('/v1/users/u-42')).toMatchObject({ status: 403, body: { error: 'wrong_key_scope' } });
  });
});

describe('404', () => {
  it("for an unknown external id, for another app's, and for the second time", async () => {
    const other = await t.newApp();
    await t.clientOf(other.serverKey).post('/v1/users', { external_id: 'theirs' });
    await t.server.post('/v1/users', { external_id: 'twice' });
    await t.server.delete('/v1/users/twice');
    for (const external_id of ['nobody', 'theirs', 'twice', '%00', 'a'.repeat(257)]) {
      expect((await t.server.delete(`/v1/users/${external_id}`)).status).toBe(404);
    }
    expect((await t.clientOf(other.serverKey).get('/v1/users/theirs')).status).toBe(200);
  });
});
