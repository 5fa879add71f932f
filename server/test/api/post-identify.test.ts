import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  clearIdentifySecrets,
  finishIdentifyRotation,
  requireBoundIdentify,
  rotateIdentifySecret,
} from '../../src/apps/identify-secrets.ts';
import { decodeId } from '../../src/ground/ids.ts';
import { createSeal } from '../../src/ground/seal.ts';
import { simpleVectors } from '../fixtures/identify-vectors.ts';
import { type Response, setup, type TestApp, unknownId } from '../setup.ts';

const t = await setup({ workers: false });
const seal = createSeal(t.masterKey);
const path = '/v1/identify';

const simpleHash = (secret: string, externalId: string): string =>
  createHmac('sha256', secret).update(externalId).digest('hex');
function boundHash(secret: string, deviceId: string, externalId: string, at = t.clock.nowMs()): string {
  const seconds = Math.floor(at / 1000);
  return `t=${seconds},v1=${simpleHash(secret, `${seconds}.${deviceId}.${externalId}`)}`;
}

async function rowOf(deviceId: string) {
  const [row] = await t.sql`
    SELECT a.user_id, a.external_id, a.first_name, d.identified_at, d.status FROM audience a
    JOIN devices d ON d.app_id = a.app_id AND d.id = a.device_id WHERE a.device_id = ${decodeId('dev', deviceId) ?? ''}`;
  return row ?? {};
}

/** An app that requires a proof for identify, with a device of its own. */
async function provenApp() {
  const app = await t.newApp();
  const { secret } = await rotateIdentifySecret({ ...t, seal }, app.id);
  return { app, secret, client: t.clientOf(app.clientKey), server: t.clientOf(app.serverKey) };
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
    for (const [, external_id] of simpleVectors) {
      const device_id = await t.registerDevice();
      const { body } = await t.client.post(path, { device_id, external_id });
      expect(body.external_id).toBe(external_id);
    }
    const ids = simpleVectors.map(([, externalId]) => externalId);
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

describe('403 identity_check_failed (R-46)', () => {
  it('has one body for every fault of the proof, for both kinds of keys', async () => {
    const { app, secret, client, server } = await provenApp();
    const other = await provenApp();
    const device_id = await t.registerDevice({}, app);
    const good = simpleHash(secret, 'u-42');
    const wrong: readonly (string | null | undefined)[] = [
      ...[undefined, null, '', good.slice(1), `${good}0`, good.toUpperCase(), `${good.slice(0, -1)}g`, 'ä'.repeat(64)],
      ...[simpleHash(secret, 'u-43'), simpleHash(other.secret, 'u-42'), `0x${good}`],
      ...[boundHash(other.secret, device_id, 'u-42'), boundHash(secret, unknownId('dev'), 'u-42')],
      ...[boundHash(secret, device_id, 'u-42', t.clock.nowMs() - 86_402_000), `t=x,v1=${good}`, `t=1,v1=${good}`],
    ];
    const bodies = new Set<string>();
    for (const by of [client, server]) {
      for (const user_hash of wrong) {
        const { status, headers, body } = await by.post(path, { device_id, external_id: 'u-42', user_hash });
        expect([status, body.error]).toEqual([403, 'identity_check_failed']);
        expect(body.request_id).toBe(headers.get('x-request-id'));
        bodies.add(JSON.stringify({ ...body, request_id: '' }));
      }
    }
    expect([...bodies]).toHaveLength(1);
    expect(await rowOf(device_id)).toMatchObject({ externalId: null });
    expect(await t.sql`SELECT 1 FROM people WHERE app_id = ${app.id}`).toHaveLength(0);
    for (const user_hash of [good, boundHash(secret, device_id, 'u-42')]) {
      expect((await client.post(path, { device_id, external_id: 'u-42', user_hash })).status).toBe(200);
    }
  });

  it('comes before the device is looked up: an unknown one is 404 only with a valid proof', async () => {
    const { app, secret, client } = await provenApp();
    const foreign = await t.registerDevice();
    const mine = await t.registerDevice({}, app);
    for (const device_id of [unknownId('dev'), 'dev_none', '', foreign]) {
      const refused = await client.post(path, { device_id, external_id: 'u-1' });
      expect(refused).toMatchObject({ status: 403, body: { error: 'identity_check_failed' } });
      const user_hash = boundHash(secret, device_id, 'u-1');
      const unknown = await client.post(path, { device_id, external_id: 'u-1', user_hash });
      expect(unknown).toMatchObject({ status: 404, body: { error: 'not_found' } });
    }
    expect(await t.sql`SELECT 1 FROM people WHERE app_id = ${app.id}`).toHaveLength(0);
    expect(await rowOf(mine)).toMatchObject({ externalId: null });
  });

  it('moving a device to another user needs a proof for the new one (R-47)', async () => {
    const { app, secret, client } = await provenApp();
    const device_id = await t.registerDevice({}, app);
    const first = simpleHash(secret, 'first');
    await client.post(path, { device_id, external_id: 'first', user_hash: first });
    const stolen = await client.post(path, { device_id, external_id: 'second', user_hash: first });
    expect(stolen.status).toBe(403);
    expect(await rowOf(device_id)).toMatchObject({ externalId: 'first' });
    const user_hash = simpleHash(secret, 'second');
    expect((await client.post(path, { device_id, external_id: 'second', user_hash })).status).toBe(200);
  });

  it('is not given for a log-out, nor without a secret', async () => {
    const { app, secret, client } = await provenApp();
    const device_id = await t.registerDevice({}, app);
    const user_hash = simpleHash(secret, 'u-1');
    await client.post(path, { device_id, external_id: 'u-1', user_hash });
    expect((await client.post(path, { device_id, external_id: null })).status).toBe(200);
    expect((await client.post(path, { device_id, external_id: null, user_hash: 'nonsense' })).status).toBe(200);
    await clearIdentifySecrets(t, app.id);
    expect((await client.post(path, { device_id, external_id: 'u-1', user_hash: 'nonsense' })).status).toBe(200);
  });

  it('both secrets of a rotation are valid, from the first moment to the last', async () => {
    const { app, secret: former, client } = await provenApp();
    const device_id = await t.registerDevice({}, app);
    const asks = async (...secrets: string[]): Promise<number[]> => {
      const statuses: number[] = [];
      for (const secret of secrets) {
        const user_hash = simpleHash(secret, 'u-1');
        statuses.push((await client.post(path, { device_id, external_id: 'u-1', user_hash })).status);
      }
      return statuses;
    };
    const { secret: next } = await rotateIdentifySecret({ ...t, seal }, app.id);
    expect(await asks(former, next)).toEqual([200, 200]);
    expect(await finishIdentifyRotation(t, app.id)).toBe(true);
    expect(await asks(former, next)).toEqual([403, 200]);
    expect(await finishIdentifyRotation(t, app.id)).toBe(false);
    const { secret: lost } = await rotateIdentifySecret({ ...t, seal }, app.id);
    const third = await rotateIdentifySecret({ ...t, seal }, app.id);
    expect(third).toMatchObject({ isRotation: true, hasReplacedNext: true });
    expect(await asks(next, lost, third.secret)).toEqual([200, 403, 200]);
  });

  it('accepts only the bound form when the app requires it, for its day', async () => {
    const { app, secret, client, server } = await provenApp();
    const device_id = await t.registerDevice({}, app);
    const simple = { device_id, external_id: 'u-1', user_hash: simpleHash(secret, 'u-1') };
    expect((await client.post(path, simple)).status).toBe(200);
    expect((await client.get('/v1/config')).body).toMatchObject({
      identify_required: true,
      identify_bound_required: false,
    });
    expect(await requireBoundIdentify(t, app.id, true)).toBe(true);
    expect((await client.get('/v1/config')).body).toMatchObject({
      identify_required: true,
      identify_bound_required: true,
    });
    for (const by of [client, server]) {
      expect(await by.post(path, simple)).toMatchObject({ status: 403, body: { error: 'identity_check_failed' } });
      const at = t.clock.nowMs();
      const statuses: number[] = [];
      for (const differenceMs of [0, -86_399_000, 86_399_000, -86_402_000, 86_402_000]) {
        const user_hash = boundHash(secret, device_id, 'u-1', at + differenceMs);
        statuses.push((await by.post(path, { ...simple, user_hash })).status);
      }
      expect(statuses).toEqual([200, 200, 200, 403, 403]);
    }
    expect(await requireBoundIdentify(t, app.id, false)).toBe(true);
    expect((await client.post(path, simple)).status).toBe(200);
  });

  it('a secret that cannot be opened admits nobody, without a reason (R-45)', async () => {
    const { app, secret, client } = await provenApp();
    const other = await provenApp();
    const device_id = await t.registerDevice({}, app);
    await t.sql`
      UPDATE apps SET identify_secret = (SELECT identify_secret FROM apps WHERE id = ${other.app.id}) WHERE id = ${app.id}`;
    for (const by of [secret, other.secret]) {
      const answer = await client.post(path, { device_id, external_id: 'u-1', user_hash: simpleHash(by, 'u-1') });
      expect(answer).toMatchObject({ status: 500, body: { error: 'internal_error' } });
      expect(JSON.stringify(answer.body)).not.toMatch(/seal|secret/i);
    }
    expect(await rowOf(device_id)).toMatchObject({ externalId: null });
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
      'an unknown field',
      { device_id: 'dev_x', external_id: 'u-1', user_id: 'usr_x' },
      ['user_id'],
      'unrecognized_keys',
    ],
    ['U+0000', { device_id: 'dev_x', external_id: 'a\u0000b' }, ['external_id'], 'invalid_format'],
    ['half a surrogate pair', { device_id: 'dev_x', external_id: 'a\ud800' }, ['external_id'], 'invalid_format'],
  ])('%s is 400, before any proof is asked for', async (_what, fields, at, code) => {
    const { client } = await provenApp();
    const { status, body } = await client.post(path, fields);
    expect(status).toBe(400);
    expect(body.issues.map((issue: { path: unknown; code: string }) => [issue.path, issue.code])).toEqual([[at, code]]);
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

describe('R-44 the secret', () => {
  it('is stored nowhere in clear text, and not in another app', async () => {
    const { app, secret } = await provenApp();
    const [row] = await t.sql<{ identifySecret: string; text: string }[]>`
      SELECT identify_secret, a::text AS text FROM apps a WHERE id = ${app.id}`;
    expect(row?.text).not.toContain(secret);
    expect(secret).toMatch(/^idsec_[A-Za-z0-9_-]{43}$/);
    const place = { table: 'apps', column: 'identify_secret', rowId: app.id, appId: app.id };
    expect(seal.open(row?.identifySecret ?? '', place).toString()).toBe(secret);
    expect(() => seal.open(row?.identifySecret ?? '', { ...place, rowId: t.app.id, appId: t.app.id })).toThrow();
  });
});
