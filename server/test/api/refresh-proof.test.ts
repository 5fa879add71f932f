// A device id alone gives no access to a device (contract 8): ids appear in webhooks, logs and
// answers, and a client key is in every app. A refresh by client key is accepted only with the
// token that the device has now.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { decodeId } from '../../src/ground/values/ids.ts';
import { rotateIdentifySecret } from '../../src/teams/apps/identify-secrets.ts';
import { setup, unknownId } from '../setup.ts';

const lines: string[] = [];
const t = await setup({ environment: { LOG_LEVEL: 'info' }, logTo: { write: (line) => void lines.push(line) } });

const androidToken = () => `fcm:${randomBytes(24).toString('base64url')}`;
const iosToken = () => randomBytes(32).toString('hex');

type Subscription = ReturnType<typeof t.pushSubscription>;
const web = (token: unknown, fields: object = {}) => ({ platform: 'web', token, ...fields });
const register = async (token: unknown) => (await t.client.post('/v1/devices', web(token))).body.id as string;

async function tokenOf(id: string): Promise<string | null> {
  const [row] = await t.sql<{ token: string | null }[]>`
    SELECT token FROM devices WHERE id = ${decodeId('dev', id) ?? ''}`;
  return row?.token ?? null;
}

async function endpointOf(id: string): Promise<string> {
  return JSON.parse((await tokenOf(id)) ?? '{}').endpoint;
}

async function unproven(): Promise<number> {
  const families = await t.service.snapshotMetrics({ includesDatabase: false });
  const family = families.find(({ name }) => name === 'carillon_unproven_refreshes_total');
  return family?.series[0]?.values[0] ?? Number.NaN;
}

describe('R-47 taking over a device by its id', () => {
  it('moves no push to the attacker: the victim still gets them, and the attacker gets a device without a user', async () => {
    await rotateIdentifySecret({ ...t, seal: createSeal(t.masterKey) }, t.app.id);
    const mine = t.pushSubscription();
    const victim = await register(mine);
    await t.server.post('/v1/users', { external_id: 'victim', device_id: victim });

    const evil = t.pushSubscription();
    const { status, body } = await t.client.post('/v1/devices', web(evil, { device_id: victim, locale: 'en-GB' }));
    expect({ status, created: body.created }).toEqual({ status: 200, created: true });
    expect(body.id).not.toBe(victim);
    expect(await endpointOf(victim)).toBe(mine.endpoint);

    const audience = { external_ids: ['victim'] };
    const sent = await t.server.post('/v1/messages', { audience, content: { title: 'Your balance' } });
    expect(sent.body.report).toEqual({ accepted: 1, sent: 1, failed: 0, skipped: 0 });
    const requestsTo = ({ endpoint }: Subscription) => t.push.requestsOf(endpoint.split('/').at(-1) ?? '').length;
    expect([requestsTo(mine), requestsTo(evil)]).toEqual([1, 0]);
    const { data } = (await t.server.get('/v1/devices?limit=200')).body;
    expect(data.find(({ id }: { id: string }) => id === victim)).toMatchObject({ locale: null, external_id: 'victim' });
  });

  it.each<[string, (present: Subscription, other: Subscription) => unknown]>([
    ['none', () => undefined],
    ['null', () => null],
    [
      'the endpoint with another auth',
      ({ endpoint, keys }, other) => ({ endpoint, keys: { ...keys, auth: other.keys.auth } }),
    ],
    ['the auth with another endpoint', ({ keys }, other) => ({ endpoint: other.endpoint, keys })],
    ['the endpoint alone', ({ endpoint }) => ({ endpoint })],
    ['the endpoint as text', ({ endpoint }) => endpoint],
    ["another device's token", (_present, other) => other],
    ['the new token itself', () => 'new'],
    ['half a JSON', (present) => JSON.stringify(present).slice(0, -1)],
    ['no token at all', () => ({ keys: null })],
    ['an empty text', () => ''],
    ['a list in JSON', () => '[]'],
    ['null in JSON', () => 'null'],
  ])('fails with any other proof: %s', async (_what, proofOf) => {
    const present = t.pushSubscription();
    const other = t.pushSubscription();
    const [id] = [await register(present), await register(other)];
    const token = t.pushSubscription();
    const proof = proofOf(present, other);
    const previous = proof === 'new' ? token : proof;
    const { status, body } = await t.client.post(
      '/v1/devices',
      web(token, { device_id: id, previous_token: previous }),
    );
    expect({ status, created: body.created }).toEqual({ status: 200, created: true });
    expect(body.id).not.toBe(id);
    expect(await endpointOf(id)).toBe(present.endpoint);
  });

  it('fails with the endpoint and keys of the own making, also after these were registered', async () => {
    const present = t.pushSubscription();
    const id = await register(present);
    const forged = { endpoint: present.endpoint, keys: t.pushSubscription().keys };
    const own = await register(forged);
    expect(own).not.toBe(id);
    const together = await Promise.all([0, 1, 2].map(() => register(forged)));
    expect(new Set(together)).toEqual(new Set([own]));
    const refresh = web(t.pushSubscription(), { device_id: id, previous_token: forged });
    const { body } = await t.client.post('/v1/devices', refresh);
    expect(body.id).not.toBe(id);
    expect(JSON.parse((await tokenOf(id)) ?? '{}')).toEqual(present);
    expect(await register(present)).toBe(id);
  });

  it("moves no endpoint of another device to one's own, unless its keys are known, too", async () => {
    const [present, mine] = [t.pushSubscription(), t.pushSubscription()];
    const [victim, own] = [await register(present), await register(mine)];
    await t.server.post('/v1/users', { external_id: `of ${victim}`, device_id: victim });
    const refreshTo = (token: unknown) =>
      t.client.post('/v1/devices', web(token, { device_id: own, previous_token: mine }));
    const forged = { endpoint: present.endpoint, keys: t.pushSubscription().keys };
    const refused = (await refreshTo(forged)).body;
    expect(refused.created).toBe(true);
    expect([victim, own]).not.toContain(refused.id);
    expect([await tokenOf(victim), await tokenOf(own)]).toEqual([present, mine].map((token) => JSON.stringify(token)));
    const { devices } = (await t.server.get(`/v1/users/${encodeURIComponent(`of ${victim}`)}`)).body;
    expect(devices).toEqual([victim]);
    // Two devices of one browser: the whole subscription proves both.
    expect((await refreshTo(present)).body).toMatchObject({ id: own, created: false });
    expect([await tokenOf(victim), await tokenOf(own)]).toEqual([null, JSON.stringify(present)]);
  });

  it('of a device that opted out or was replaced fails, because there is nothing to prove', async () => {
    const gone = t.pushSubscription();
    const optedOut = await register(gone);
    await t.client.delete(`/v1/devices/${optedOut}`);
    const { body } = await t.client.post(
      '/v1/devices',
      web(t.pushSubscription(), { device_id: optedOut, previous_token: gone }),
    );
    expect(body.id).not.toBe(optedOut);
    expect(await tokenOf(optedOut)).toBeNull();
  });
});

function inBase64({ p256dh, auth }: Subscription['keys']): Subscription['keys'] {
  const convert = (text: string) => Buffer.from(text, 'base64url').toString('base64');
  return { p256dh: convert(p256dh), auth: convert(auth) };
}

describe('an endpoint by client key', () => {
  const facts = { locale: 'de-DE', timezone: 'Europe/Berlin', app_version: '1.2.3', model: 'Pixel 9' };
  const withOtherKeys = ({ endpoint, keys }: Subscription, other: Partial<Subscription['keys']>) => ({
    endpoint,
    keys: { ...keys, ...other },
  });

  it.each<[string, (present: Subscription, other: Subscription) => Subscription]>([
    ['other keys', (present, { keys }) => withOtherKeys(present, keys)],
    ['another auth', (present, { keys: { auth } }) => withOtherKeys(present, { auth })],
  ])('with %s reads and changes nothing of the device that has it', async (_what, forge) => {
    const present = t.pushSubscription();
    const { body: victim } = await t.client.post('/v1/devices', web(present, facts));
    const before = await t.sql`SELECT d::text, a::text FROM devices d JOIN audience a ON a.device_id = d.id
      WHERE d.id = ${decodeId('dev', victim.id) ?? ''}`;
    const forged = forge(present, t.pushSubscription());
    const requests = [
      web(forged, { model: 'mine', locale: null }),
      web(JSON.stringify(forged), { model: 'mine' }),
      web(forged, { model: 'mine', properties: {} }),
      web(forged, { model: 'mine', device_id: victim.id }),
      web(forged, { model: 'mine', device_id: victim.id, previous_token: forged }),
    ];
    const nothing = { locale: null, timezone: null, app_version: null, model: 'mine' };
    const ids = new Set<string>();
    for (const [place, request] of requests.entries()) {
      const { status, body } = await t.client.post('/v1/devices', request);
      expect({ status, body }).toMatchObject({ status: 200, body: { created: place === 0, ...nothing } });
      ids.add(body.id);
    }
    expect(ids.size).toBe(1);
    expect(ids).not.toContain(victim.id);
    const after = await t.sql`SELECT d::text, a::text FROM devices d JOIN audience a ON a.device_id = d.id
      WHERE d.id = ${decodeId('dev', victim.id) ?? ''}`;
    expect(after).toEqual(before);
  });

  it('with its auth is the device, whatever p256dh is shown, and keeps the stored one', async () => {
    const present = t.pushSubscription();
    const id = await register(present);
    const { p256dh } = t.pushSubscription().keys;
    expect(await register(withOtherKeys(present, { p256dh }))).toBe(id);
    expect(JSON.parse((await tokenOf(id)) ?? '{}')).toEqual(present);
  });

  it('that a stranger registered first is a device of its own for the browser, and both stay', async () => {
    const present = t.pushSubscription();
    const forged = withOtherKeys(present, t.pushSubscription().keys);
    const ids = await Promise.all([forged, present, forged, present].map(register));
    expect(new Set(ids).size).toBe(2);
    expect([ids[2], ids[3]]).toEqual([ids[0], ids[1]]);
    expect(JSON.parse((await tokenOf(ids[1] ?? '')) ?? '{}')).toEqual(present);
  });
});

describe('a refresh by client key', () => {
  it.each<[string, (present: Subscription) => unknown]>([
    ['an object', (present) => present],
    ['JSON text', (present) => JSON.stringify(present)],
    ['what a browser says, with more than the service keeps', (present) => ({ ...present, expirationTime: null })],
    ['an object with keys in Base64', ({ endpoint, keys }) => ({ endpoint, keys: inBase64(keys) })],
  ])('with the present subscription as %s keeps id, user and history', async (_what, proofOf) => {
    const present = t.pushSubscription();
    const id = await register(present);
    await t.server.post('/v1/users', { external_id: `owner ${id}`, device_id: id });
    const token = t.pushSubscription();
    const previous_token = proofOf(present);
    const { body } = await t.client.post('/v1/devices', web(token, { device_id: id, previous_token }));
    expect(body).toMatchObject({ id, created: false });
    expect(await endpointOf(id)).toBe(token.endpoint);
    expect((await t.server.get(`/v1/users/${encodeURIComponent(`owner ${id}`)}`)).body.devices).toEqual([id]);
  });

  it.each([
    ['android', androidToken, (token: string) => token, (token: string) => token.toUpperCase()],
    ['ios', iosToken, (token: string) => token.toUpperCase(), (token: string) => `${token}00`],
  ] as const)('of %s is accepted with the present token, and with no other', async (platform, make, same, other) => {
    const token = make();
    const { body: first } = await t.client.post('/v1/devices', { platform, token });
    const refresh = (previous_token: string) =>
      t.client.post('/v1/devices', { platform, token: make(), device_id: first.id, previous_token });
    expect((await refresh(other(token))).body).toMatchObject({ created: true });
    expect((await refresh(same(token))).body).toMatchObject({ id: first.id, created: false });
  });

  it('with the token that the device already has needs no proof', async () => {
    const present = t.pushSubscription();
    const id = await register(present);
    const before = await unproven();
    const { body } = await t.client.post('/v1/devices', web(present, { device_id: id, locale: 'de-DE' }));
    expect(body).toMatchObject({ id, created: false, locale: 'de-DE' });
    expect(await unproven()).toBe(before);
  });

  it('with a used proof is a new registration: of 20 concurrent ones, one keeps the device', async () => {
    const present = t.pushSubscription();
    const id = await register(present);
    const tokens = Array.from({ length: 20 }, () => t.pushSubscription());
    const answers = await Promise.all(
      tokens.map((token) => t.client.post('/v1/devices', web(token, { device_id: id, previous_token: present }))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    const kept = answers.flatMap(({ body }, i) => (body.id === id ? [tokens[i]?.endpoint] : []));
    expect(kept).toEqual([await endpointOf(id)]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(20);
  });

  it('by server key needs no proof', async () => {
    const id = await register(t.pushSubscription());
    const token = t.pushSubscription();
    for (const previous_token of [undefined, t.pushSubscription()]) {
      const { body } = await t.server.post('/v1/devices', web(token, { device_id: id, previous_token }));
      expect(body).toMatchObject({ id, created: false });
    }
  });

  it('looks for the device before it checks the proof: unknown is 404, another platform 400', async () => {
    const previous_token = t.pushSubscription();
    const unknown = web(t.pushSubscription(), { device_id: unknownId('dev'), previous_token });
    expect((await t.client.post('/v1/devices', unknown)).status).toBe(404);
    const { body } = await t.client.post('/v1/devices', { platform: 'android', token: androidToken() });
    const other = await t.client.post('/v1/devices', web(t.pushSubscription(), { device_id: body.id }));
    expect({ status: other.status, issues: other.body.issues }).toMatchObject({
      status: 400,
      issues: [{ path: ['device_id'], code: 'invalid_value', allowed: ['android'] }],
    });
  });

  it.each<[string, object, object]>([
    ['without device_id', {}, { path: ['previous_token'], code: 'unrecognized_keys' }],
    ['with a device_id of null', { device_id: null }, { path: ['previous_token'], code: 'unrecognized_keys' }],
    ['as a number', { device_id: 'dev_x', previous_token: 5 }, { path: ['previous_token'], code: 'invalid_type' }],
    ['as a list', { device_id: 'dev_x', previous_token: [1] }, { path: ['previous_token'], code: 'invalid_type' }],
    ['too long', { device_id: 'dev_x', previous_token: 'x'.repeat(8193) }, { path: ['previous_token'] }],
  ])('with previous_token %s is 400, with either key', async (_what, fields, issue) => {
    for (const by of [t.client, t.server]) {
      const body = { platform: 'web', token: t.pushSubscription(), previous_token: t.pushSubscription(), ...fields };
      const answer = await by.post('/v1/devices', body);
      expect({ status: answer.status, issues: answer.body.issues }).toMatchObject({ status: 400, issues: [issue] });
    }
  });

  it('without proof is counted, and logged once a minute', async () => {
    const id = await register(t.pushSubscription());
    t.clock.advance(61_000);
    lines.length = 0;
    const before = await unproven();
    for (let i = 0; i < 5; i++) await t.client.post('/v1/devices', web(t.pushSubscription(), { device_id: id }));
    expect(await unproven()).toBe(before + 5);
    const told = () => lines.filter((line) => line.includes('refreshes without proof'));
    expect(told()).toHaveLength(1);
    expect(told().join('')).not.toContain(id);
    t.clock.advance(61_000);
    await t.client.post('/v1/devices', web(t.pushSubscription(), { device_id: id }));
    expect(told().map((line) => JSON.parse(line).refreshes)).toEqual([expect.any(Number), 5]);
  });
});
