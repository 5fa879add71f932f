// Phones and sender keys through the control port, and the receipts of a person's phone.

import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { alertPayload, apnsRequest, Connection, jwt, startApns, startFcm } from './phone-setup.ts';
import { control, start } from './setup.ts';

describe('POST /devices', () => {
  test('makes iPhones and Android phones whose tokens look like theirs, ready to register', async () => {
    const sandbox = await start();
    const ios = await control(sandbox, 'POST', '/devices', {
      platform: 'ios',
      count: 2,
      bundle_id: 'a.b',
      token_prefix: 'dead',
    });
    expect(ios.status).toBe(201);
    expect(ios.body.devices).toHaveLength(2);
    for (const { platform, token } of ios.body.devices) {
      expect([platform, token]).toEqual(['ios', expect.stringMatching(/^dead[0-9a-f]{64}$/)]);
    }
    expect(ios.body.pool).toMatchObject({ platform: 'ios', bundle_id: 'a.b', environment: 'production' });
    const android = await control(sandbox, 'POST', '/devices', { platform: 'android', project_id: 'p' });
    expect(android.body.devices[0].token).toMatch(/^[\w-]{22}:APA91b[\w-]{134}$/);
    expect((await control(sandbox, 'GET', '/addresses')).body.phone_pools).toHaveLength(2);
  });

  test('with a seed makes the same phones again, and streams any number as lines', async () => {
    const sandbox = await start();
    const pool = { platform: 'android', seed: 'demo' };
    const first = await control(sandbox, 'POST', '/devices', { ...pool, count: 5 });
    const again = await control(sandbox, 'POST', '/devices', { ...pool, count: 2, from: 3 });
    expect(again.body.devices).toEqual(first.body.devices.slice(3));
    const response = await fetch(`${sandbox.controlUrl}/devices`, {
      method: 'POST',
      headers: { accept: 'application/x-ndjson' },
      body: JSON.stringify({ platform: 'ios', count: 1000 }),
    });
    const lines = (await response.text()).trimEnd().split('\n');
    expect(new Set(lines).size).toBe(1000);
  });

  test.each([
    [{}, /platform/],
    [{ platform: 'symbian' }, /platform: must be one of ios, android/],
    [{ platform: 'ios', token_prefix: 'xyz' }, /hexadecimal/],
    [{ platform: 'ios', project_id: 'p' }, /project_id: is not known here/],
    [{ platform: 'android', count: 20_000 }, /x-ndjson/],
  ])('refuses %j with a reason', async (body, message) => {
    const answer = await control(await start(), 'POST', '/devices', body);
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringMatching(message)]);
  });

  test('DELETE /devices/TOKEN removes the app', async () => {
    const t = await startApns();
    expect((await control(t.sandbox, 'DELETE', `/devices/${t.phone}`)).status).toBe(204);
    expect((await t.push()).status).toBe(410);
    expect((await control(t.sandbox, 'DELETE', '/devices/nobody')).status).toBe(404);
  });
});

describe('keys', () => {
  test('a registered public key verifies what its owner signs', async () => {
    const sandbox = await start();
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const public_key = publicKey.export({ type: 'spki', format: 'pem' });
    const body = { team_id: 'ABCDE12345', key_id: 'KEY1234567', public_key };
    const made = await control(sandbox, 'POST', '/apns/keys', body);
    expect([made.status, made.body]).toEqual([201, { ...body, environment: null, bundle_ids: null, p8: null }]);
    const token = jwt(
      { alg: 'ES256', kid: 'KEY1234567' },
      { iss: 'ABCDE12345', iat: Math.floor(Date.now() / 1000) },
      privateKey,
    );
    const [phone = ''] = sandbox.install({ platform: 'ios' });
    const connection = new Connection(sandbox, sandbox.phoneUrls.apns);
    expect((await connection.request(apnsRequest(phone, token), JSON.stringify(alertPayload))).status).toBe(200);
  });

  test('a key that the sandbox makes is shown once, and listed without its private part', async () => {
    const sandbox = await start();
    const key = (await control(sandbox, 'POST', '/apns/keys', {})).body;
    expect(key).toMatchObject({
      team_id: expect.stringMatching(/^[A-Z0-9]{10}$/),
      p8: expect.stringContaining('PRIVATE KEY'),
    });
    const account = (await control(sandbox, 'POST', '/fcm/service-accounts', { project_id: 'my-project' })).body;
    expect(account).toMatchObject({
      type: 'service_account',
      project_id: 'my-project',
      token_uri: sandbox.phoneUrls.fcmToken,
      client_email: expect.stringMatching(/@my-project\.iam\.gserviceaccount\.com$/),
    });
    const listed = await control(sandbox, 'GET', '/credentials');
    expect(JSON.stringify(listed.body)).not.toContain('PRIVATE');
    expect(listed.body).toMatchObject({
      apns_keys: [{ key_id: key.key_id }],
      service_accounts: [{ client_email: account.client_email }],
    });
    expect((await control(sandbox, 'DELETE', '/apns/keys/NOSUCHKEY0')).status).toBe(404);
  });

  const p8 = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  });
  test.each([
    ['/apns/keys', { public_key: p8 }, /keep the \.p8 to yourself/],
    ['/apns/keys', { public_key: 'x' }, /P-256 public key in PEM/],
    ['/apns/keys', { key_id: 'short' }, /key_id/],
    ['/fcm/service-accounts', { project_id: 'X' }, /project_id/],
    ['/fcm/service-accounts', { token_seconds: 7200 }, /token_seconds/],
  ])('%s refuses %j with a reason', async (path, body, message) => {
    const answer = await control(await start(), 'POST', path, body);
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringMatching(message)]);
  });
});

test('phones and keys survive a restart with the same data directory', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sandbox-phones-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const t = await startApns({ dataDir });
  const account = t.sandbox.createServiceAccount();
  await t.sandbox.close();
  const second = await start({ dataDir });
  const connection = new Connection(second, second.phoneUrls.apns);
  expect((await connection.request(apnsRequest(t.phone, t.token), JSON.stringify(alertPayload))).status).toBe(200);
  expect((await control(second, 'GET', '/credentials')).body.service_accounts).toMatchObject([
    { client_email: account['client_email'] },
  ]);
});

describe('receipts', () => {
  /** Plays Carillon: returns the receipts that it gets, one by one. */
  async function receiver() {
    const told: unknown[] = [];
    let wake = (): void => {};
    const http = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        told.push(JSON.parse(body));
        response.end('{}');
        wake();
      });
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    onTestFinished(() => {
      http.closeAllConnections();
      http.close();
    });
    return {
      url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
      async until(count: number): Promise<unknown[]> {
        while (told.length < count)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        return told;
      },
    };
  }

  test('an iPhone reports displayed and clicked by its token, and the same collapse id replaces', async () => {
    const carillon = await receiver();
    const t = await startApns({ receiptsUrl: carillon.url });
    await t.push({}, { ...alertPayload, carillon_token: 'one', url: 'https://shop.example/1' });
    await carillon.until(1);
    await t.push({}, { ...alertPayload, carillon_token: 'two' });
    await carillon.until(2);
    expect(
      (await control(t.sandbox, 'GET', '/inbox')).body.entries.map(({ state }: { state: string }) => state),
    ).toEqual(['shown', 'replaced']);
    await t.sandbox.act(2, 'clicked');
    expect(await carillon.until(3)).toEqual([
      { token: 'one', event: 'displayed' },
      { token: 'two', event: 'displayed' },
      { token: 'two', event: 'clicked' },
    ]);
  });

  test('an Android phone reports displayed and dismissed by the token in its data', async () => {
    const carillon = await receiver();
    const t = await startFcm({ receiptsUrl: carillon.url });
    await t.send(await t.accessToken(), t.message({ data: { carillon_token: 'r' } }));
    await carillon.until(1);
    const record = t.sandbox.log.requests.at(-1);
    await t.sandbox.act(record?.id ?? 0, 'dismissed');
    expect(await carillon.until(2)).toEqual([
      { token: 'r', event: 'displayed' },
      { token: 'r', event: 'dismissed' },
    ]);
  });
});
