import { describe, expect, it } from 'vitest';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { decodeId } from '../../src/ground/values/ids.ts';
import { rotateIdentifySecret } from '../../src/teams/apps/identify-secrets.ts';
import { hashVectors } from '../fixtures/identify-vectors.ts';
import { type Response, setup, type TestApp, unknownId } from '../setup.ts';

const t = await setup({ workers: false });
const path = '/v1/identify';

async function rowOf(deviceId: string) {
  const [row] = await t.sql`
    SELECT a.user_id, a.external_id, a.first_name, d.identified_at, d.status FROM audience a
    JOIN devices d ON d.app_id = a.app_id AND d.id = a.device_id WHERE a.device_id = ${decodeId('dev', deviceId) ?? ''}`;
  return row ?? {};
}

/** A client of an app that requires a proof for identify. */
async function provenClient() {
  const app = await t.newApp();
  await rotateIdentifySecret({ ...t, seal: createSeal(t.masterKey) }, app.id, { form: 'token' });
  return t.clientOf(app.clientKey);
}

describe('200', () => {
  it('links a device to a user, creates the user, and answers in the shape of the contract', async () => {
    const device_id = await t.registerDevice();
    const { status, body } = await t.client.post(path, { device_id, external_id: 'u-42' });
    expect(status).toBe(200);
    expect(body).toEqual({
      device_id,
      external_id: 'u-42',
      user_id: expect.stringMatching(/^usr_[0-9A-Za-z]{22}$/),
      previous_external_id: null,
      identified_at: expect.stringMatching(/^\d{4}-.{5}T.{8}\.\d{3}Z$/),
    });
    expect(Object.keys(body)).toEqual(['device_id', 'external_id', 'user_id', 'previous_external_id', 'identified_at']);
    const { body: user } = await t.server.get('/v1/users/u-42');
    expect(user).toMatchObject({ id: body.user_id, first_name: null, properties: {}, devices: [device_id] });
  });

  it('gives the device the existing profile, and messages to the user reach it', async () => {
    const device_id = await t.registerDevice();
    const profile = { external_id: 'known', first_name: 'Ada', country: 'AT', properties: { plan: 'pro' } };
    const { body: user } = await t.server.post('/v1/users', profile);
    const { body } = await t.client.post(path, { device_id, external_id: 'known' });
    expect(body.user_id).toBe(user.id);
    expect(await rowOf(device_id)).toMatchObject({ externalId: 'known', firstName: 'Ada' });
    expect((await t.server.get('/v1/users/known')).body).toMatchObject({ ...profile, devices: [device_id] });
    const filter = { and: [{ field: 'properties.plan', op: 'eq', value: 'pro' }] };
    expect((await t.server.post('/v1/segments/preview', { filter })).body.count).toBe(1);
  });

  it('moves a device to the last named user, and tells only a server key the former user', async () => {
    const device_id = await t.registerDevice();
    await t.client.post(path, { device_id, external_id: 'first' });
    const { body } = await t.server.post(path, { device_id, external_id: 'second' });
    expect(body).toMatchObject({ external_id: 'second', previous_external_id: 'first' });
    expect((await t.server.get('/v1/users/first')).body.devices).toEqual([]);
    expect((await t.server.get('/v1/users/second')).body.devices).toEqual([device_id]);
    const again = await t.client.post(path, { device_id, external_id: 'third' });
    expect(again.body).toMatchObject({ external_id: 'third', previous_external_id: null });
  });

  it('changes nothing when repeated, and returns since when the link exists', async () => {
    const device_id = await t.registerDevice();
    const { body: first } = await t.server.post(path, { device_id, external_id: 'again' });
    const versions = () => t.sql`
      SELECT xmin::text FROM audience WHERE device_id = ${decodeId('dev', device_id) ?? ''}
      UNION ALL SELECT xmin::text FROM devices WHERE id = ${decodeId('dev', device_id) ?? ''}
      UNION ALL SELECT xmin::text FROM users WHERE app_id = ${t.app.id} AND external_id = 'again'`;
    const before = await versions();
    t.clock.advance(5000);
    const { body: second } = await t.server.post(path, { device_id, external_id: 'again' });
    expect(second).toEqual(first);
    expect(await versions()).toEqual(before);
  });

  it('null logs the device out: it keeps its own properties and loses those of the user', async () => {
    const { body: device } = await t.server.post('/v1/devices', {
      platform: 'android',
      token: 'leaves',
      properties: { topic: 'sport' },
    });
    const device_id = device.id;
    await t.server.post('/v1/users', { external_id: 'leaver', first_name: 'Ada', properties: { topic: 'news' } });
    await t.client.post(path, { device_id, external_id: 'leaver' });
    const { body } = await t.server.post(path, { device_id, external_id: null });
    expect(body).toEqual({
      device_id,
      external_id: null,
      user_id: null,
      previous_external_id: 'leaver',
      identified_at: null,
    });
    expect(await rowOf(device_id)).toMatchObject({ userId: null, externalId: null, firstName: null, status: 'active' });
    const filter = { field: 'properties.topic', op: 'eq', value: 'sport' };
    expect((await t.server.post('/v1/segments/preview', { filter })).body.count).toBe(1);
    const repeated = await t.server.post(path, { device_id, external_id: null });
    expect(repeated).toMatchObject({ status: 200, body: { external_id: null, previous_external_id: null } });
  });

  it('makes the same link as POST /v1/users', async () => {
    const device_id = await t.registerDevice();
    await t.server.post('/v1/users', { external_id: 'upserted', device_id });
    const { body } = await t.server.post(path, { device_id, external_id: 'upserted' });
    expect(body).toMatchObject({ external_id: 'upserted', previous_external_id: null });
    expect(body.identified_at).toEqual(expect.any(String));
    const moved = await t.server.post('/v1/users', { external_id: 'other', device_id });
    expect(moved.body.devices).toEqual([device_id]);
    expect((await t.server.post(path, { device_id, external_id: 'identified' })).body).toMatchObject({
      previous_external_id: 'other',
    });
  });

  it('compares external ids exactly: composed and decomposed Unicode are two users', async () => {
    for (const [, external_id] of hashVectors) {
      const device_id = await t.registerDevice();
      const { body } = await t.client.post(path, { device_id, external_id });
      expect(body.external_id).toBe(external_id);
    }
    const ids = hashVectors.map(([, externalId]) => externalId);
    const rows = await t.sql`SELECT external_id FROM users WHERE app_id = ${t.app.id} AND external_id = ANY(${ids})`;
    expect(rows).toHaveLength(ids.length);
  });

  it('a device that opted out stays opted out', async () => {
    const device_id = await t.registerDevice();
    await t.client.delete(`/v1/devices/${device_id}`);
    expect((await t.client.post(path, { device_id, external_id: 'opted-out' })).status).toBe(200);
    expect(await rowOf(device_id)).toMatchObject({ externalId: 'opted-out', status: 'unsubscribed' });
    expect((await t.server.get('/v1/users/opted-out')).body.devices).toEqual([]);
  });
});

describe('races', () => {
  /** Expects one link and an audience row that agrees with it. */
  async function expectOneLink(app: TestApp, deviceId: string): Promise<string | null> {
    const row = await rowOf(deviceId);
    const users = await t.sql`SELECT id, external_id, first_name FROM users WHERE app_id = ${app.id}`;
    const people = await t.sql`SELECT user_id, external_id FROM people WHERE app_id = ${app.id}`;
    const user = users.find((one) => one['externalId'] === row['externalId']);
    expect({ userId: row['userId'], firstName: row['firstName'], isSince: row['identifiedAt'] !== null }).toEqual({
      userId: user?.['id'] ?? null,
      firstName: user?.['firstName'] ?? null,
      isSince: user !== undefined,
    });
    for (const one of users) {
      expect(people.filter((person) => person['externalId'] === one['externalId'])).toEqual([
        { userId: one['id'], externalId: one['externalId'] },
      ]);
    }
    return row['externalId'];
  }

  it('50 equal requests for one device make one user and one link (R-46)', async () => {
    const app = await t.newApp();
    const client = t.clientOf(app.clientKey);
    const device_id = await t.registerDevice({}, app);
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => client.post(path, { device_id, external_id: 'same' })),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(await expectOneLink(app, device_id)).toBe('same');
    expect(await t.sql`SELECT 1 FROM users WHERE app_id = ${app.id}`).toHaveLength(1);
  });

  it('50 different users for one device end with one of them, and each request learned its predecessor', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const device_id = await t.registerDevice({}, app);
    const names = Array.from({ length: 50 }, (_, i) => `racer-${i}`);
    const answers = await Promise.all(names.map((external_id) => server.post(path, { device_id, external_id })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const last = await expectOneLink(app, device_id);
    // Each request followed exactly one other: the answers are a chain from nobody to the last
    // identity.
    const followed = new Map(answers.map(({ body }) => [body.previous_external_id, body.external_id]));
    const chain: string[] = [];
    for (let next = followed.get(null); next !== undefined; next = followed.get(next)) chain.push(next);
    expect(chain.toSorted()).toEqual(names.toSorted());
    expect(chain.at(-1)).toBe(last);
  });

  it('with upserts, log-outs, opt-outs and erasures the audience row is correct at the end', async () => {
    for (let round = 0; round < 5; round++) {
      const app = await t.newApp();
      const server = t.clientOf(app.serverKey);
      const device_id = await t.registerDevice({}, app);
      const requests = Array.from({ length: 40 }, (_, i): Promise<Response> => {
        const external_id = `mixed-${i % 3}`;
        if (i % 8 === 1) return server.post('/v1/users', { external_id, first_name: `name ${i}` });
        if (i % 8 === 2) return server.post('/v1/users', { external_id, first_name: `name ${i}`, device_id });
        if (i % 8 === 3) return server.post(path, { device_id, external_id: null });
        if (i % 8 === 4) return server.delete(`/v1/users/${external_id}`);
        if (i % 8 === 5) return server.delete(`/v1/devices/${device_id}`);
        return server.post(path, { device_id, external_id });
      });
      for (const { status, body } of await Promise.all(requests)) {
        expect(status === 200 || (status === 404 && body.error === 'not_found'), JSON.stringify(body)).toBe(true);
      }
      await expectOneLink(app, device_id);
    }
  });
});

describe('400 and 404', () => {
  it.each<[what: string, fields: object, path: unknown[], code: string]>([
    ['no device_id', { external_id: 'u-1' }, ['device_id'], 'required'],
    ['a device_id that is no text', { device_id: 7, external_id: 'u-1' }, ['device_id'], 'invalid_type'],
    ['no external_id', { device_id: 'dev_x' }, ['external_id'], 'required'],
    ['an external_id that is empty', { device_id: 'dev_x', external_id: '' }, ['external_id'], 'too_small'],
    [
      'an external_id that is too long',
      { device_id: 'dev_x', external_id: 'a'.repeat(257) },
      ['external_id'],
      'too_big',
    ],
    ['an external_id that is a number', { device_id: 'dev_x', external_id: 42 }, ['external_id'], 'invalid_type'],
    [
      'a user_hash that is no text',
      { device_id: 'dev_x', external_id: 'u-1', user_hash: 1 },
      ['user_hash'],
      'invalid_type',
    ],
    [
      'a user_token that is no text',
      { device_id: 'dev_x', external_id: 'u-1', user_token: ['x'] },
      ['user_token'],
      'invalid_type',
    ],
    [
      'a user_token beside a user_hash',
      { device_id: 'dev_x', external_id: 'u-1', user_token: 'x', user_hash: '' },
      [],
      'exactly_one_required',
    ],
    [
      'both proofs of a log-out',
      { device_id: 'dev_x', external_id: null, user_token: '', user_hash: '' },
      [],
      'exactly_one_required',
    ],
    [
      'an unknown field',
      { device_id: 'dev_x', external_id: 'u-1', user_id: 'usr_x' },
      ['user_id'],
      'unrecognized_keys',
    ],
    ['U+0000', { device_id: 'dev_x', external_id: 'a\u0000b' }, ['external_id'], 'invalid_format'],
    ['half a surrogate pair', { device_id: 'dev_x', external_id: 'a\ud800' }, ['external_id'], 'invalid_format'],
  ])('%s is 400, before any proof is asked for', async (_what, fields, at, code) => {
    const client = await provenClient();
    const { status, body } = await client.post(path, fields);
    expect(status).toBe(400);
    expect(body.issues.map((issue: { path: unknown; code: string }) => [issue.path, issue.code])).toEqual([[at, code]]);
  });

  it('both proofs at once are 400 without a secret, too, and null is no proof', async () => {
    const device_id = await t.registerDevice();
    const link = { device_id, external_id: 'u-both' };
    const both = await t.server.post(path, { ...link, user_token: 'x', user_hash: 'y' });
    expect([both.status, both.body.issues[0].allowed]).toEqual([400, ['user_token', 'user_hash']]);
    expect((await t.client.post(path, { ...link, user_token: 'x', user_hash: null })).status).toBe(200);
  });

  it("an unknown, malformed or another app's device is 404, and no user is made", async () => {
    const other = await t.newApp();
    const client = t.clientOf(other.clientKey);
    const foreign = await t.registerDevice();
    for (const device_id of [unknownId('dev'), 'dev_none', '', foreign, foreign.replace('dev_', 'usr_')]) {
      for (const external_id of ['u-1', null]) {
        expect(await client.post(path, { device_id, external_id })).toMatchObject({
          status: 404,
          body: { error: 'not_found' },
        });
      }
    }
    expect(await t.sql`SELECT 1 FROM people WHERE app_id = ${other.id}`).toHaveLength(0);
    expect(await rowOf(foreign)).toMatchObject({ externalId: null });
  });

  it('is readable from any origin, like all endpoints that browsers call', async () => {
    const { headers } = await t.client.post(path, {});
    expect(headers.get('access-control-allow-origin')).toBe('*');
  });
});
