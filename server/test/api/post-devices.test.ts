import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeId } from '../../src/ground/values/ids.ts';
import { type Bundle, setup, unknownId } from '../setup.ts';

const t = await setup({ workers: false });

const androidToken = () => `fcm:${randomBytes(24).toString('base64url')}`;
const iosToken = () => randomBytes(32).toString('hex');
const android = (fields: object = {}) => ({ platform: 'android', token: androidToken(), ...fields });

async function statusOf(id: string): Promise<{ status: string; status_reason: string | null }> {
  const { body } = await t.server.get('/v1/devices?limit=200');
  return body.data.find((device: { id: string }) => device.id === id);
}

async function historyOf(id: string): Promise<string[]> {
  const rows = await t.sql<{ status: string; reason: string | null }[]>`
    SELECT status, reason FROM device_changes WHERE app_id = ${t.app.id} AND device_id = ${decodeId('dev', id) ?? ''}
    ORDER BY id`;
  return rows.map((row) => (row.reason ? `${row.status} ${row.reason}` : row.status));
}

/** Posts a raw body, for texts that JSON.stringify cannot write. */
const postRaw = (raw: string, key = t.app.serverKey) =>
  t.request('POST', '/v1/devices', { key, raw, headers: { 'content-type': 'application/json' } });

function issueCodes(response: Awaited<ReturnType<Bundle['request']>>): string[] {
  return response.body.issues.map(
    (issue: { path: unknown[]; code: string }) => `${issue.path.join('.')} ${issue.code}`,
  );
}

describe('200', () => {
  it('answers the device in the shape of the contract, with a server key', async () => {
    const { status, body } = await t.server.post('/v1/devices', {
      platform: 'web',
      token: JSON.stringify(t.pushSubscription()),
      locale: 'de-DE',
      timezone: 'Europe/Berlin',
      app_version: '4.2.0',
      os: 'Windows',
      properties: { topic: 'sport' },
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.stringMatching(/^dev_[0-9A-Za-z]{22}$/),
      platform: 'web',
      channel: 'webpush',
      locale: 'de-DE',
      timezone: 'Europe/Berlin',
      app_version: '4.2.0',
      sdk: null,
      os: 'Windows',
      os_version: null,
      model: null,
      environment: null,
      status: 'active',
      external_id: null,
      properties: { topic: 'sport' },
      property_conflicts: [],
      created: true,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      last_seen_at: body.created_at,
    });
    expect(Object.keys(body)).toEqual([
      ...['id', 'platform', 'channel', 'locale', 'timezone', 'app_version', 'sdk', 'os', 'os_version', 'model'],
      ...[
        'environment',
        'status',
        'external_id',
        'properties',
        'property_conflicts',
        'created',
        'created_at',
        'last_seen_at',
      ],
    ]);
  });

  it('never returns the token', async () => {
    const token = androidToken();
    const response = await t.server.post('/v1/devices', { platform: 'android', token });
    expect(JSON.stringify(response.body)).not.toContain(token);
    const list = await t.server.get('/v1/devices');
    expect(JSON.stringify(list.body)).not.toContain(token);
  });

  it('accepts any browser origin, without credentials', async () => {
    const { headers } = await t.client.post('/v1/devices', android());
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
  });

  it('accepts a web token as JSON text and as an object, for the same device', async () => {
    const subscription = t.pushSubscription();
    const asText = await t.client.post('/v1/devices', { platform: 'web', token: JSON.stringify(subscription) });
    const asObject = await t.client.post('/v1/devices', {
      platform: 'web',
      token: { ...subscription, expirationTime: null },
    });
    expect([asText.status, asObject.status]).toEqual([200, 200]);
    expect(asObject.body.id).toBe(asText.body.id);
  });

  it.each(['base64', 'base64url'] as const)(
    'stores the keys of a subscription in base64url, given in %s',
    async (form) => {
      for (const isPadded of [true, false]) {
        const { endpoint, keys } = t.pushSubscription();
        const write = (text: string) => {
          const written = Buffer.from(text, 'base64url').toString(form).replaceAll('=', '');
          return isPadded ? written.padEnd(Math.ceil(written.length / 4) * 4, '=') : written;
        };
        const token = { endpoint, keys: { p256dh: write(keys.p256dh), auth: write(keys.auth) } };
        const { status, body } = await t.client.post('/v1/devices', { platform: 'web', token });
        expect(status).toBe(200);
        const [row] = await t.sql`SELECT token FROM devices WHERE id = ${decodeId('dev', body.id) ?? ''}`;
        expect(JSON.parse(row?.['token'])).toEqual({ endpoint, keys });
      }
    },
  );

  it('identifies web devices by their endpoint: a server key replaces the stored keys', async () => {
    const [first, second] = [t.pushSubscription('same-endpoint'), t.pushSubscription('same-endpoint')];
    const { body } = await t.client.post('/v1/devices', { platform: 'web', token: first });
    const again = await t.server.post('/v1/devices', { platform: 'web', token: second });
    expect(again.body).toMatchObject({ id: body.id, created: false });
    const [row] = await t.sql`SELECT token FROM devices WHERE id = ${decodeId('dev', body.id) ?? ''}`;
    expect(JSON.parse(row?.['token'])).toEqual(second);
  });

  it('identifies iOS devices without regard to letter case', async () => {
    const token = iosToken();
    const lower = await t.client.post('/v1/devices', { platform: 'ios', token });
    const upper = await t.client.post('/v1/devices', { platform: 'ios', token: token.toUpperCase() });
    expect(lower.body).toMatchObject({ channel: 'apns', environment: null });
    expect(upper.body.id).toBe(lower.body.id);
  });

  it('identifies Android devices by the exact text', async () => {
    const lower = await t.client.post('/v1/devices', { platform: 'android', token: 'token-a' });
    const upper = await t.client.post('/v1/devices', { platform: 'android', token: 'TOKEN-A' });
    expect(lower.body.channel).toBe('fcm');
    expect(upper.body.id).not.toBe(lower.body.id);
  });

  it('keeps fields that an upsert leaves out, clears fields that are null, and keeps the user', async () => {
    const device = android({ locale: 'de-DE', timezone: 'Europe/Berlin', os: 'Android', model: 'Pixel' });
    const { body: first } = await t.server.post('/v1/devices', device);
    await t.server.post('/v1/users', { external_id: 'keeps-link', device_id: first.id });
    t.clock.advance(60_000);
    const { body } = await t.server.post('/v1/devices', {
      ...device,
      locale: undefined,
      timezone: null,
      model: 'Pixel 9',
    });
    expect(body).toMatchObject({
      id: first.id,
      created: false,
      locale: 'de-DE',
      timezone: null,
      os: 'Android',
      model: 'Pixel 9',
      external_id: 'keeps-link',
      created_at: first.created_at,
    });
    expect(Date.parse(body.last_seen_at) - Date.parse(first.last_seen_at)).toBeGreaterThanOrEqual(60_000);
  });

  it('treats null as an omission when nothing is stored', async () => {
    const nulls = { locale: null, app_version: null, properties: null, environment: null, device_id: null };
    const { status, body } = await t.server.post('/v1/devices', android(nulls));
    expect(status).toBe(200);
    expect(body).toMatchObject({ locale: null, app_version: null, properties: {}, environment: null, created: true });
  });

  it.each([
    ['de-de', 'de-DE'],
    ['ZH-hant-tw', 'zh-Hant-TW'],
    ['es-419', 'es-419'],
    ['FIL', 'fil'],
    ['pt_BR', 'pt-BR'],
    ['zh-Hant', 'zh-Hant'],
    ['en_US.UTF-8', 'en-US'],
    ['iw-IL', 'he-IL'],
    ['in', 'id'],
  ])('stores the locale %s in canonical form', async (given, stored) => {
    const { body } = await t.client.post('/v1/devices', android({ locale: given }));
    expect(body.locale).toBe(stored);
  });

  it.each([
    ['europe/berlin', 'Europe/Berlin'],
    ['Asia/Kolkata', 'Asia/Kolkata'],
    ['utc', 'UTC'],
  ])('stores the time zone %s in the spelling of the list', async (given, stored) => {
    const { body } = await t.client.post('/v1/devices', android({ timezone: given }));
    expect(body.timezone).toBe(stored);
  });

  it('registers a phone whose locale or time zone cannot be used, without them, and says so', async () => {
    const register = async (fields: object) => (await t.client.post('/v1/devices', android(fields))).body;
    for (const timezone of ['GMT+03:00', 'Etc/Unknown', 'Mars/Olympus', '']) {
      const body = await register({ locale: 'de-DE', timezone });
      expect(body).toMatchObject({ locale: 'de-DE', timezone: null, ignored: ['timezone'], created: true });
    }
    for (const locale of ['C', 'POSIX', '', 'x'.repeat(200)]) {
      expect(await register({ locale, timezone: 'UTC' })).toMatchObject({
        locale: null,
        timezone: 'UTC',
        ignored: ['locale'],
      });
    }
    expect(await register({ locale: '?', timezone: '?' })).toMatchObject({ ignored: ['locale', 'timezone'] });
    expect(await register({ locale: 'de', timezone: 'UTC' })).not.toHaveProperty('ignored');
    expect(await register({ locale: null })).not.toHaveProperty('ignored');
  });

  it('clears what is stored when the new value cannot be used', async () => {
    const device = android({ locale: 'de-DE', timezone: 'Europe/Berlin' });
    await t.client.post('/v1/devices', device);
    const { body } = await t.client.post('/v1/devices', { ...device, timezone: 'GMT+03:00' });
    expect(body).toMatchObject({ locale: 'de-DE', timezone: null, ignored: ['timezone'], created: false });
  });

  it('still refuses a locale or time zone of another type, and unknown fields beside one', async () => {
    expect(issueCodes(await t.client.post('/v1/devices', android({ timezone: 5 })))).toEqual(['timezone invalid_type']);
    const both = await t.client.post('/v1/devices', android({ locale: '?', tags: [] }));
    expect(issueCodes(both)).toEqual(['tags unrecognized_keys']);
  });

  it('keeps the environment that an iOS device names', async () => {
    const token = iosToken();
    const first = await t.client.post('/v1/devices', { platform: 'ios', token, environment: 'sandbox' });
    expect(first.body.environment).toBe('sandbox');
    const kept = await t.client.post('/v1/devices', { platform: 'ios', token });
    expect(kept.body.environment).toBe('sandbox');
    const cleared = await t.client.post('/v1/devices', { platform: 'ios', token, environment: null });
    expect(cleared.body.environment).toBeNull();
  });

  it('accepts a property named like a member of every object (R-72)', async () => {
    const raw = `{"platform":"android","token":"${androidToken()}","properties":{"__proto__":"a","constructor":"b","toString":"c","size":1}}`;
    const { status, body } = await postRaw(raw);
    expect(status).toBe(200);
    expect(Object.entries(body.properties)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
      ['toString', 'c'],
      ['size', 1],
    ]);
  });
});

describe('200, a subscription that the client renewed on its own', () => {
  const healed = async (): Promise<Record<string, number>> => {
    const families = await t.service.snapshotMetrics({ includesDatabase: false });
    const family = families.find(({ name }) => name === 'carillon_healed_subscriptions_total');
    return Object.fromEntries(family?.series.map(({ labels, values }) => [labels[0], values[0] ?? Number.NaN]) ?? []);
  };

  it.each(['subscription_gone', 'key_changed', 'worker_missing'])('is counted as %s, by either key', async (reason) => {
    const before = await healed();
    for (const client of [t.client, t.server]) {
      const { status, body } = await client.post('/v1/devices', android({ healed: reason }));
      expect(status).toBe(200);
      expect(body).not.toHaveProperty('healed');
    }
    expect(await healed()).toEqual({ ...before, [reason]: (before[reason] ?? 0) + 2 });
  });

  it('is counted only when it says why and is accepted', async () => {
    const before = await healed();
    expect((await t.client.post('/v1/devices', android({ healed: null }))).status).toBe(200);
    const { status, body } = await t.client.post('/v1/devices', android({ healed: 'permission_revoked' }));
    expect([status, body.issues]).toEqual([
      400,
      [
        expect.objectContaining({
          path: ['healed'],
          code: 'invalid_value',
          allowed: ['subscription_gone', 'key_changed', 'worker_missing'],
        }),
      ],
    ]);
    const unknown = android({ healed: 'key_changed', device_id: unknownId('dev') });
    expect((await t.client.post('/v1/devices', unknown)).status).toBe(404);
    expect(await healed()).toEqual(before);
  });
});

describe('200, properties of the device itself', () => {
  it('merges them: an absent key is kept, null deletes one, null for all deletes all', async () => {
    const device = android({ properties: { team: 'red', level: 3, pro: true } });
    const { body: first } = await t.server.post('/v1/devices', device);
    expect(first.properties).toEqual({ team: 'red', level: 3, pro: true });
    const merged = await t.server.post('/v1/devices', { ...device, properties: { level: 4, pro: null } });
    expect(merged.body.properties).toEqual({ team: 'red', level: 4 });
    const kept = await t.server.post('/v1/devices', { ...device, properties: undefined });
    expect(kept.body.properties).toEqual({ team: 'red', level: 4 });
    const cleared = await t.server.post('/v1/devices', { ...device, properties: null });
    expect(cleared.body.properties).toEqual({});
  });

  it('reports a value of another type, keeps the stored one, and writes the other keys', async () => {
    const device = android({ properties: { height: 180 } });
    await t.server.post('/v1/devices', device);
    const { status, body } = await t.server.post('/v1/devices', {
      ...device,
      properties: { height: 'tall', width: 4 },
    });
    expect(status).toBe(200);
    expect(body.properties).toEqual({ height: 180, width: 4 });
    expect(body.property_conflicts).toEqual([
      { key: 'height', expected: 'number', received: 'string', value: 'tall', kept: 180 },
    ]);
  });

  it('shows a client key neither the user, nor the properties, nor the value that a conflict kept', async () => {
    const device = android({ properties: { height: 170 } });
    const { body: first } = await t.server.post('/v1/devices', device);
    await t.server.post('/v1/users', { external_id: 'hidden', device_id: first.id });
    const { body } = await t.client.post('/v1/devices', { ...device, properties: { height: 'small' } });
    expect(body).toMatchObject({ id: first.id, external_id: null, properties: null });
    expect(body.property_conflicts).toEqual([
      { key: 'height', expected: 'number', received: 'string', value: 'small', kept: null },
    ]);
  });

  it('lets a client key use the keys in the catalog', async () => {
    await t.server.post('/v1/devices', android({ properties: { known: 'yes' } }));
    const device = android({ properties: { known: 'indeed' } });
    expect((await t.client.post('/v1/devices', device)).status).toBe(200);
    const { body } = await t.server.post('/v1/devices', { ...device, properties: undefined });
    expect(body.properties).toEqual({ known: 'indeed' });
  });
});

describe('200, one token is one device', () => {
  it('R-63 50 racing registrations of one token make one device', async () => {
    const token = androidToken();
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => t.client.post('/v1/devices', { platform: 'android', token })),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(50).fill(200));
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    expect(answers.filter((answer) => answer.body.created)).toHaveLength(1);
    const id = answers[0]?.body.id;
    expect(await historyOf(id)).toEqual(['active']);
  });

  it('R-63 the same token in two apps is two devices, and removing one keeps the other', async () => {
    const other = await t.newApp();
    const device = android();
    const here = await t.server.post('/v1/devices', device);
    const there = await t.clientOf(other.serverKey).post('/v1/devices', device);
    expect(there.body).toMatchObject({ created: true });
    expect(there.body.id).not.toBe(here.body.id);
    await t.server.delete(`/v1/devices/${here.body.id}`);
    const left = await t.clientOf(other.serverKey).get('/v1/devices');
    expect(left.body.data).toMatchObject([{ id: there.body.id, status: 'active' }]);
  });

  it('the same text on two platforms is two devices', async () => {
    const token = iosToken();
    const ios = await t.server.post('/v1/devices', { platform: 'ios', token });
    const fcm = await t.server.post('/v1/devices', { platform: 'android', token });
    expect(fcm.body.id).not.toBe(ios.body.id);
  });

  it('revives a device that opted out: same id, no user, both changes recorded', async () => {
    const device = android();
    const { body: first } = await t.server.post('/v1/devices', device);
    await t.server.post('/v1/users', { external_id: 'opted-out', device_id: first.id });
    t.clock.advance(1000);
    await t.server.delete(`/v1/devices/${first.id}`);
    t.clock.advance(1000);
    const { body } = await t.server.post('/v1/devices', device);
    expect(body).toMatchObject({ id: first.id, created: false, status: 'active', external_id: null });
    expect(await historyOf(first.id)).toEqual(['active', 'unsubscribed', 'active']);
  });

  it('R-47 ids cannot be guessed: 74 bits of a device id are random', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, () => t.registerDevice()));
    const random = ids.map((id) => (decodeId('dev', id) ?? '').replaceAll('-', '').slice(12));
    expect(random.every((text) => /^7[0-9a-f]{3}[89ab][0-9a-f]{15}$/.test(text))).toBe(true);
    // Except for the version and variant, no character position is the same in all ids.
    const positions = [1, 2, 3, ...Array.from({ length: 15 }, (_, i) => i + 5)];
    const constant = positions.filter((at) => new Set(random.map((text) => text.charAt(at))).size === 1);
    expect(constant).toEqual([]);
  });
});

describe('200, a refresh', () => {
  it('replaces the token and keeps id, user and history', async () => {
    const old = android({ locale: 'fr-FR' });
    const { body: first } = await t.server.post('/v1/devices', old);
    await t.server.post('/v1/users', { external_id: 'refreshed', device_id: first.id });
    const token = androidToken();
    const { body } = await t.server.post('/v1/devices', { platform: 'android', token, device_id: first.id });
    expect(body).toMatchObject({
      id: first.id,
      created: false,
      locale: 'fr-FR',
      external_id: 'refreshed',
      status: 'active',
    });
    expect(await historyOf(first.id)).toEqual(['active']);
    const again = await t.server.post('/v1/devices', { platform: 'android', token });
    expect(again.body.id).toBe(first.id);
    const formerToken = await t.server.post('/v1/devices', old);
    expect(formerToken.body).toMatchObject({ created: true, external_id: null });
    expect(formerToken.body.id).not.toBe(first.id);
  });

  it('with the token of another device takes it over: that device is invalid, reason replaced', async () => {
    const mine = android();
    const theirs = android();
    const { body: me } = await t.server.post('/v1/devices', mine);
    const { body: them } = await t.server.post('/v1/devices', theirs);
    t.clock.advance(1000);
    const { body } = await t.server.post('/v1/devices', { ...theirs, device_id: me.id });
    expect(body).toMatchObject({ id: me.id, status: 'active' });
    expect(await statusOf(them.id)).toMatchObject({ status: 'invalid', status_reason: 'replaced', token_hint: null });
    expect(await historyOf(them.id)).toEqual(['active', 'invalid replaced']);
    const again = await t.server.post('/v1/devices', theirs);
    expect(again.body.id).toBe(me.id);
  });

  it('revives the device that it names, whatever its state', async () => {
    const { body: first } = await t.server.post('/v1/devices', android());
    await t.server.delete(`/v1/devices/${first.id}`);
    const { body } = await t.server.post('/v1/devices', android({ device_id: first.id }));
    expect(body).toMatchObject({ id: first.id, status: 'active', created: false });
  });

  it('back to a former token is a refresh like any other', async () => {
    const first = android();
    const second = android();
    const { body: device } = await t.server.post('/v1/devices', first);
    await t.server.post('/v1/devices', { ...second, device_id: device.id });
    const back = await t.server.post('/v1/devices', { ...first, device_id: device.id });
    expect(back.body).toMatchObject({ id: device.id, created: false });
    const other = await t.server.post('/v1/devices', second);
    expect(other.body.created).toBe(true);
  });

  it('racing with others for the same few tokens leaves each token with one device, and refuses none', async () => {
    const tokens = [androidToken(), androidToken(), androidToken()];
    const ids: string[] = [];
    for (const token of tokens) ids.push((await t.server.post('/v1/devices', { platform: 'android', token })).body.id);
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => {
        const body = { platform: 'android', token: tokens[i % 3] };
        return t.server.post('/v1/devices', i % 4 === 3 ? body : { ...body, device_id: ids[(i * 7 + 1) % 3] });
      }),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(60).fill(200));
    const holders = await t.sql<{ token: string; devices: number }[]>`
      SELECT token, count(*) AS devices FROM devices
      WHERE app_id = ${t.app.id} AND token = ANY(${tokens}) AND status = 'active' GROUP BY token`;
    expect(holders.every((holder) => holder.devices === 1)).toBe(true);
    // Each token belongs to the device that holds it now, if there is one.
    for (const token of tokens) {
      const [holder] = await t.sql<{ id: string }[]>`
        SELECT id FROM devices WHERE app_id = ${t.app.id} AND token = ${token} AND status = 'active'`;
      const { body } = await t.server.post('/v1/devices', { platform: 'android', token });
      if (holder) expect(decodeId('dev', body.id)).toBe(holder.id);
    }
  });
});

describe('200, the credential of a device', () => {
  it('is the one that was current when its token was first seen, and stays when the token registers again', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const token = t.pushSubscription();
    const { body } = await server.post('/v1/devices', { platform: 'web', token });
    const credentialOf = async (id: string): Promise<unknown> => {
      const [row] = await t.sql`SELECT credential_id FROM devices WHERE id = ${decodeId('dev', id) ?? ''}`;
      return row?.['credentialId'];
    };
    const first = await credentialOf(body.id);
    await t.sql`UPDATE credentials SET replaced_at = now() WHERE app_id = ${app.id}`;
    await t.sql`
      INSERT INTO credentials (app_id, id, channel, public, secret) VALUES (${app.id}, 99, 'webpush', '{}', 'sealed')`;
    await server.post('/v1/devices', { platform: 'web', token });
    expect(await credentialOf(body.id)).toBe(first);
    const { body: other } = await server.post('/v1/devices', { platform: 'web', token: t.pushSubscription() });
    expect(await credentialOf(other.id)).toBe(99);
    await server.post('/v1/devices', { platform: 'web', token: t.pushSubscription(), device_id: body.id });
    expect(await credentialOf(body.id)).toBe(99);
  });

  it('is missing while its channel is not configured, and is the current one from the next registration on', async () => {
    const app = await t.newApp({ channels: false });
    const server = t.clientOf(app.serverKey);
    const device = android();
    const { body } = await server.post('/v1/devices', device);
    const read = () => t.sql`SELECT credential_id FROM devices WHERE id = ${decodeId('dev', body.id) ?? ''}`;
    expect(await read()).toMatchObject([{ credentialId: null }]);
    await t.sql`INSERT INTO credentials (app_id, id, channel, public, secret) VALUES (${app.id}, 7, 'fcm', '{}', 'sealed')`;
    await server.post('/v1/devices', device);
    expect(await read()).toMatchObject([{ credentialId: 7 }]);
  });
});

describe('400', () => {
  const subscription = t.pushSubscription();
  it.each<[string, unknown, string[]]>([
    ['no body', undefined, [' required']],
    ['an array', [], [' invalid_type']],
    ['nothing', {}, ['platform required', 'token required']],
    ['an unknown platform', { platform: 'windows', token: 'x' }, ['platform invalid_value']],
    ['a null platform', { platform: null, token: 'x' }, ['platform invalid_value']],
    ['no token', { platform: 'android' }, ['token required']],
    ['a null token', { platform: 'android', token: null }, ['token invalid_type']],
    ['an empty FCM token', { platform: 'android', token: '' }, ['token invalid_format']],
    ['an FCM token with a space', { platform: 'android', token: 'a b' }, ['token invalid_format']],
    ['an FCM token beyond ASCII', { platform: 'android', token: 'tökn' }, ['token invalid_format']],
    ['an FCM token over 4,096', { platform: 'android', token: 'x'.repeat(4097) }, ['token too_big']],
    ['an FCM token that is an object', { platform: 'android', token: {} }, ['token invalid_type']],
    ['R-37 a short APNs token', { platform: 'ios', token: 'ab'.repeat(31) }, ['token invalid_format']],
    ['R-37 an APNs token of odd length', { platform: 'ios', token: 'a'.repeat(65) }, ['token invalid_format']],
    ['R-37 a long APNs token', { platform: 'ios', token: 'ab'.repeat(101) }, ['token invalid_format']],
    [
      'R-37 an APNs token with a path in it',
      { platform: 'ios', token: `../${'ab'.repeat(32)}` },
      ['token invalid_format'],
    ],
    [
      'R-37 an APNs token with a line break',
      { platform: 'ios', token: `${'ab'.repeat(32)}\n` },
      ['token invalid_format'],
    ],
    ['a web token that is no JSON', { platform: 'web', token: 'abc' }, ['token invalid_format']],
    [
      'a web token without keys',
      { platform: 'web', token: { endpoint: subscription.endpoint } },
      ['token.keys required'],
    ],
    [
      'a web endpoint on an unknown host',
      { platform: 'web', token: { ...subscription, endpoint: 'https://push.evil.example/x' } },
      ['token host_not_allowed'],
    ],
    [
      'a web endpoint without TLS',
      { platform: 'web', token: { ...subscription, endpoint: subscription.endpoint.replace('https', 'http') } },
      ['token.endpoint invalid_format'],
    ],
    ['a locale that is no tag', android({ locale: 'german' }), ['locale invalid_format']],
    ['an unknown time zone', android({ timezone: 'Europe/Atlantis' }), ['timezone unknown_timezone']],
    ['an offset as a time zone', android({ timezone: '+01:00' }), ['timezone unknown_timezone']],
    ['a long fact', android({ model: 'x'.repeat(65) }), ['model too_big']],
    ['a fact that is no string', android({ os_version: 17 }), ['os_version invalid_type']],
    ['an environment on Android', android({ environment: 'production' }), ['environment invalid_value']],
    [
      'an unknown environment',
      { platform: 'ios', token: iosToken(), environment: 'test' },
      ['environment invalid_value'],
    ],
    ['a device_id that is no string', android({ device_id: 5 }), ['device_id invalid_type']],
    ['an unknown field', android({ tags: [] }), ['tags unrecognized_keys']],
    ['properties that are no object', android({ properties: ['a'] }), ['properties invalid_type']],
    ['a property key with a dot', android({ properties: { 'a.b': 1 } }), ['properties.a.b invalid_format']],
    ['a property that is an object', android({ properties: { a: {} } }), ['properties.a invalid_type']],
    ['a property over 1,024 bytes', android({ properties: { a: 'ä'.repeat(513) } }), ['properties.a too_big']],
    ['several faults at once', android({ locale: '?', os: 1 }), ['locale invalid_format', 'os invalid_type']],
  ])('refuses %s', async (_name, body, expected) => {
    const response = await t.server.post('/v1/devices', body);
    expect(response.status).toBe(400);
    expect(response.body.error).toBe('validation_failed');
    expect(issueCodes(response)).toEqual(expected);
  });

  it('names the allowed platforms', async () => {
    const { body } = await t.server.post('/v1/devices', { platform: 'windows', token: 'x' });
    expect(body.issues[0].allowed).toEqual(['web', 'ios', 'android']);
  });

  it('R-71 refuses U+0000 and unpaired surrogates in every field', async () => {
    for (const bad of ['\\u0000', '\\ud800']) {
      for (const field of ['locale', 'os', 'token']) {
        const raw = JSON.stringify({ ...android(), [field]: 'BAD' }).replace('BAD', bad);
        expect(issueCodes(await postRaw(raw))).toEqual([`${field} invalid_format`]);
      }
    }
  });

  it('refuses a number that is not a finite double', async () => {
    const raw = `{"platform":"android","token":"x","properties":{"big":1e400}}`;
    const response = await postRaw(raw);
    expect(response.status).toBe(400);
    expect(issueCodes(response)).toEqual(['properties.big invalid_value']);
  });

  it('refuses a key that is not in the catalog from a client key, and registers nothing', async () => {
    const token = androidToken();
    const body = { platform: 'android', token, properties: { never_seen: 'x', also_new: null } };
    const response = await t.client.post('/v1/devices', body);
    expect(response.status).toBe(400);
    expect(issueCodes(response)).toEqual([
      'properties.never_seen unknown_property',
      'properties.also_new unknown_property',
    ]);
    const catalog = await t.server.get('/v1/properties?limit=200');
    expect(catalog.body.data.map((entry: { key: string }) => entry.key)).not.toContain('never_seen');
    expect((await t.client.post('/v1/devices', { platform: 'android', token })).body.created).toBe(true);
  });

  it('refuses a 101st property of one device, and writes nothing', async () => {
    const properties = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`many_${from + i}`, i]));
    const device = android();
    expect((await t.server.post('/v1/devices', { ...device, properties: properties(0, 100) })).status).toBe(200);
    const response = await t.server.post('/v1/devices', { ...device, properties: properties(100, 1) });
    expect(response.status).toBe(400);
    expect(issueCodes(response)).toEqual(['properties too_many_properties']);
    const catalog = await t.sql`SELECT 1 FROM properties WHERE app_id = ${t.app.id} AND key = 'many_100'`;
    expect(catalog).toHaveLength(0);
  });

  it('refuses to refresh a device of another platform', async () => {
    const { body } = await t.server.post('/v1/devices', android());
    const response = await t.server.post('/v1/devices', { platform: 'ios', token: iosToken(), device_id: body.id });
    expect(response.status).toBe(400);
    expect(issueCodes(response)).toEqual(['device_id invalid_value']);
  });

  it('refuses an unknown query parameter', async () => {
    const response = await t.client.post('/v1/devices?dry_run=1', android());
    expect(issueCodes(response)).toEqual(['dry_run unrecognized_keys']);
  });

  it('refuses a body over 256 KiB', async () => {
    const response = await t.client.post('/v1/devices', android({ model: 'x'.repeat(300_000) }));
    expect(response).toMatchObject({ status: 400, body: { error: 'body_too_large' } });
  });
});

describe('401', () => {
  it('without a key', async () => {
    const response = await t.request('POST', '/v1/devices', { body: android() });
    expect(response).toMatchObject({ status: 401, body: { error: 'missing_key' } });
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
  });
});

describe('403', () => {
  it('while the app is suspended', async () => {
    const app = await t.newApp();
    await t.sql`UPDATE apps SET suspended_at = now() WHERE id = ${app.id}`;
    const response = await t.clientOf(app.clientKey).post('/v1/devices', android());
    expect(response).toMatchObject({ status: 403, body: { error: 'app_suspended' } });
  });
});

describe('404', () => {
  it("for a refresh of an unknown, malformed or another app's device the same, and writes nothing (R-60)", async () => {
    const other = await t.newApp();
    const foreign = await t.registerDevice({}, other);
    for (const device_id of [unknownId('dev'), 'dev_short', '', foreign]) {
      const device = android({ device_id, properties: { left_behind: 1 } });
      const response = await t.server.post('/v1/devices', device);
      expect(response.status).toBe(404);
      expect(response.body).toEqual({
        error: 'not_found',
        message: expect.any(String),
        request_id: expect.any(String),
      });
      expect((await t.server.post('/v1/devices', { ...device, device_id: null, properties: null })).body.created).toBe(
        true,
      );
    }
    expect(await t.sql`SELECT 1 FROM properties WHERE key = 'left_behind'`).toHaveLength(0);
  });
});
