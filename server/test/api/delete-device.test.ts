import { describe, expect, it } from 'vitest';
import { decodeId } from '../../src/ground/values/ids.ts';
import { setup, unknownId } from '../setup.ts';

const t = await setup({ workers: false });

const rowOf = async (id: string) => {
  const [row] = await t.sql`SELECT * FROM devices WHERE app_id = ${t.app.id} AND id = ${decodeId('dev', id) ?? ''}`;
  return row;
};

describe('200', () => {
  it('opts a device out, with a client key as well', async () => {
    const id = await t.registerDevice();
    const response = await t.client.delete(`/v1/devices/${id}`);
    expect(response).toMatchObject({ status: 200, body: { id, status: 'unsubscribed' } });
    expect(Object.keys(response.body)).toEqual(['id', 'status']);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
  });

  it('erases the token and ends the link to the user', async () => {
    const id = await t.registerDevice({ locale: 'de-DE', properties: { topic: 'sport' } });
    await t.server.post('/v1/users', {
      external_id: 'leaving',
      first_name: 'Ada',
      properties: { plan: 'pro' },
      device_id: id,
    });
    await t.server.delete(`/v1/devices/${id}`);
    const { body } = await t.server.get('/v1/devices?status=unsubscribed');
    expect(body.data.find((device: { id: string }) => device.id === id)).toMatchObject({
      status: 'unsubscribed',
      status_reason: null,
      token_hint: null,
      external_id: null,
      locale: 'de-DE',
      properties: { topic: 'sport' },
    });
    expect(await rowOf(id)).toMatchObject({ token: null, identifiedAt: null });
    const [audience] = await t.sql`SELECT * FROM audience WHERE device_id = ${decodeId('dev', id) ?? ''}`;
    expect(audience).toMatchObject({
      active: false,
      userId: null,
      externalId: null,
      firstName: null,
      userCreatedAt: null,
    });
    expect(Object.values(audience ?? {})).not.toContain('pro');
    expect(Object.values(audience ?? {})).toContain('sport');
    expect((await t.server.get('/v1/users/leaving')).body.devices).toEqual([]);
  });

  it('returns 200 again when repeated, and changes nothing', async () => {
    const id = await t.registerDevice();
    t.clock.advance(1000);
    await t.server.delete(`/v1/devices/${id}`);
    expect(await t.server.delete(`/v1/devices/${id}`)).toMatchObject({
      status: 200,
      body: { id, status: 'unsubscribed' },
    });
    const changes =
      await t.sql`SELECT status FROM device_changes WHERE device_id = ${decodeId('dev', id) ?? ''} ORDER BY id`;
    expect(changes.map((change) => change['status'])).toEqual(['active', 'unsubscribed']);
  });

  it('races with registrations: the device ends completely in one state or the other', async () => {
    for (let round = 0; round < 10; round++) {
      const device = { platform: 'android', token: `racing-${round}` };
      const { body } = await t.server.post('/v1/devices', device);
      const answers = await Promise.all([
        t.server.delete(`/v1/devices/${body.id}`),
        t.server.post('/v1/devices', device),
        t.server.post('/v1/users', { external_id: `racing-${round}`, device_id: body.id }),
        t.server.delete(`/v1/devices/${body.id}`),
      ]);
      expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200]);
      const row = await rowOf(body.id);
      const [audience] = await t.sql`SELECT active FROM audience WHERE device_id = ${decodeId('dev', body.id) ?? ''}`;
      expect(audience?.['active']).toBe(row?.['status'] === 'active');
      expect(row?.['token'] === null).toBe(row?.['status'] === 'unsubscribed');
    }
  });
});

describe('400', () => {
  it('refuses an unknown query parameter', async () => {
    const id = await t.registerDevice();
    const response = await t.server.delete(`/v1/devices/${id}?force=1`);
    expect(response).toMatchObject({ status: 400, body: { issues: [{ path: ['force'], code: 'unrecognized_keys' }] } });
  });
});

describe('401', () => {
  it('without a key', async () => {
    expect((await t.request('DELETE', `/v1/devices/${unknownId('dev')}`)).status).toBe(401);
  });
});

describe('403', () => {
  it('while the app is suspended', async () => {
    const app = await t.newApp();
    await t.sql`UPDATE apps SET suspended_at = now() WHERE id = ${app.id}`;
    const response = await t.clientOf(app.clientKey).delete(`/v1/devices/${unknownId('dev')}`);
    expect(response).toMatchObject({ status: 403, body: { error: 'app_suspended' } });
  });
});

describe('404', () => {
  it("for an unknown, a malformed and another app's device the same, and the other app's device stays (R-60)", async () => {
    const other = await t.newApp();
    const foreign = await t.registerDevice({}, other);
    for (const id of [
      unknownId('dev'),
      foreign,
      foreign.replace('dev_', 'usr_'),
      'dev_',
      'dev_%00',
      '0',
      `dev_${'z'.repeat(22)}`,
    ]) {
      const response = await t.server.delete(`/v1/devices/${id}`);
      expect(response.status).toBe(404);
      expect(response.body).toEqual({
        error: 'not_found',
        message: expect.any(String),
        request_id: expect.any(String),
      });
    }
    const { body } = await t.clientOf(other.serverKey).get('/v1/devices');
    expect(body.data).toMatchObject([{ id: foreign, status: 'active' }]);
  });
});
