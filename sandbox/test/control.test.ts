import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ApplicationServer, browser, Client, control, start, tokenOf } from './setup.ts';

const server = new ApplicationServer();

describe('POST /subscriptions', () => {
  test('makes a browser whose subscription can be registered, and which gets its pushes', async () => {
    const sandbox = await start();
    const made = await control(sandbox, 'POST', '/subscriptions', { vendor: 'fcm', vapid_key: server.publicKey });
    expect(made.status).toBe(201);
    const [subscription] = made.body.subscriptions;
    expect(Object.keys(subscription)).toEqual(['endpoint', 'expirationTime', 'keys']);
    expect(Object.keys(subscription.keys)).toEqual(['p256dh', 'auth']);
    expect(Buffer.from(subscription.keys.p256dh, 'base64url')).toHaveLength(65);
    expect(Buffer.from(subscription.keys.auth, 'base64url')).toHaveLength(16);
    expect(subscription.endpoint).toMatch(new RegExp(`^${sandbox.pushOrigin}/fcm/send/[A-Za-z0-9_-]+$`));
    expect((await new Client(sandbox, 'h2').send(server, subscription)).status).toBe(201);
    expect(sandbox.log.requests[0]).toMatchObject({ isDelivered: true });
  });

  test('with a seed makes the same browsers on any sandbox at the same address, and each can decrypt', async () => {
    const sandbox = await start();
    const pool = { vendor: 'mozilla', seed: 'demo', vapid_key: server.publicKey };
    const first = await control(sandbox, 'POST', '/subscriptions', { ...pool, count: 5 });
    const again = await control(sandbox, 'POST', '/subscriptions', { ...pool, count: 2, from: 3 });
    expect(again.body.subscriptions).toEqual(first.body.subscriptions.slice(3));
    expect(new Set(first.body.subscriptions.map((each: { keys: object }) => JSON.stringify(each.keys))).size).toBe(5);
    const client = new Client(sandbox, 'h2');
    for (const subscription of first.body.subscriptions) await client.send(server, subscription);
    expect(sandbox.log.counters()).toMatchObject({ delivered: 5 });
  });

  test('without a seed reports the seed that it chose', async () => {
    const sandbox = await start();
    const made = await control(sandbox, 'POST', '/subscriptions', {});
    const again = await control(sandbox, 'POST', '/subscriptions', { seed: made.body.pool.seed });
    expect(again.body.subscriptions).toEqual(made.body.subscriptions);
  });

  test('streams any number as lines, of browsers that may share one key pair', async () => {
    const sandbox = await start();
    const response = await fetch(`${sandbox.controlUrl}/subscriptions`, {
      method: 'POST',
      headers: { accept: 'application/x-ndjson' },
      body: JSON.stringify({ count: 1000, keys: 'shared', vendor: 'fcm', token_prefix: 'bulk-' }),
    });
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    const lines = (await response.text()).trimEnd().split('\n');
    const subscriptions = lines.map((line) => JSON.parse(line));
    expect(new Set(subscriptions.map((each) => each.endpoint)).size).toBe(1000);
    expect(new Set(subscriptions.map((each) => each.keys.p256dh)).size).toBe(1);
    expect(tokenOf(subscriptions[999])).toMatch(/^bulk-/);
    await new Client(sandbox, 'h2').send(server, subscriptions[999]);
    expect(sandbox.log.requests[0]).toMatchObject({ isDelivered: true });
  });

  test.each([
    [{ vendor: 'opera' }, /vendor: must be one of generic, fcm, mozilla, apple, wns/],
    [{ count: 0 }, /count/],
    [{ count: 20_000 }, /x-ndjson/],
    [{ vapid_key: 'abc' }, /vapid_key: k is not/],
    [{ token_prefix: 'a/b' }, /token_prefix/],
    [{ vendro: 'fcm' }, /vendro: is not known here/],
    [[], /must be an object/],
  ])('refuses %j with a reason', async (body, message) => {
    const answer = await control(await start(), 'POST', '/subscriptions', body);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatch(message);
  });

  test('browsers survive a restart with the same data directory', async () => {
    const { mkdtempSync, rmSync } = await import('node:fs');
    const dataDir = mkdtempSync(`${process.env['TMPDIR'] ?? '/tmp'}/sandbox-restart-`);
    try {
      const first = await start({ dataDir });
      const subscription = browser(first, { vendor: 'fcm', vapid_key: server.publicKey });
      const { pushPort } = first;
      await first.close();
      const second = await start({ dataDir, pushPort });
      expect(second.certificate).toBe(first.certificate);
      expect((await new Client(second, 'h2').send(server, subscription)).status).toBe(201);
      expect(second.log.requests[0]).toMatchObject({ isDelivered: true });
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});

test('DELETE /subscriptions/TOKEN makes the endpoint 410', async () => {
  const sandbox = await start();
  const subscription = browser(sandbox, { vendor: 'mozilla', vapid_key: server.publicKey });
  expect((await control(sandbox, 'DELETE', `/subscriptions/${tokenOf(subscription)}`)).status).toBe(204);
  expect((await new Client(sandbox, 'h2').send(server, subscription)).status).toBe(410);
  expect((await control(sandbox, 'DELETE', '/subscriptions/nobody')).status).toBe(404);
});

test('faults are put, added, read with their hits and removed', async () => {
  const sandbox = await start();
  const subscription = browser(sandbox, { vendor: 'fcm', vapid_key: server.publicKey });
  const rule = {
    id: 'busy',
    match: { vendor: 'fcm', times: 1 },
    action: { type: 'status', status: 429, retry_after: 1 },
  };
  const put = await control(sandbox, 'PUT', '/faults', { faults: [rule] });
  expect(put.body.faults).toMatchObject([{ id: 'busy', hits: 0 }]);
  const client = new Client(sandbox, 'h2');
  expect((await client.send(server, subscription)).status).toBe(429);
  expect((await client.send(server, subscription)).status).toBe(201);
  expect((await control(sandbox, 'GET', '/faults')).body.faults).toMatchObject([{ id: 'busy', hits: 1 }]);
  await control(sandbox, 'POST', '/faults', { action: { type: 'hang' } });
  expect((await control(sandbox, 'DELETE', '/faults/busy')).body.faults).toHaveLength(1);
  expect((await control(sandbox, 'DELETE', '/faults/busy')).status).toBe(404);
  expect((await control(sandbox, 'DELETE', '/faults')).body.faults).toEqual([]);
});

test('a fault that is put first takes precedence over earlier ones, as the switches of the page do', async () => {
  const sandbox = await start();
  const subscription = browser(sandbox, { vendor: 'fcm', vapid_key: server.publicKey });
  const statusOf = async (): Promise<number> => (await new Client(sandbox, 'h2').send(server, subscription)).status;
  await control(sandbox, 'POST', '/faults?place=first', { id: 'gone', action: { type: 'status', status: 410 } });
  expect(await statusOf()).toBe(410);
  await control(sandbox, 'POST', '/faults?place=first', { id: 'busy', action: { type: 'status', status: 503 } });
  expect(await statusOf()).toBe(503);
  const { faults } = (await control(sandbox, 'GET', '/faults')).body;
  expect(faults).toMatchObject([
    { id: 'busy', hits: 1 },
    { id: 'gone', hits: 1 },
  ]);
});

describe('the log', () => {
  test('holds each request with verdicts, token, payload and answer, and can be read from any point on', async () => {
    const sandbox = await start();
    const subscription = browser(sandbox, { vendor: 'mozilla', vapid_key: server.publicKey });
    const client = new Client(sandbox, 'h2');
    await client.send(server, subscription, { payload: '{"title":"One"}' });
    await client.send(server, subscription, { payload: '{"title":"Two"}', headers: { urgency: 'loud' } });
    const { body } = await control(sandbox, 'GET', '/log');
    expect(body.last_id).toBe(2);
    expect(body.records[0]).toMatchObject({
      id: 1,
      vendor: 'mozilla',
      token: tokenOf(subscription),
      delivered: true,
      answer: { status: 201 },
      payload: { text: '{"title":"One"}', json: { title: 'One' } },
      notification: { title: 'One' },
      vapid: { header: { alg: 'ES256' }, claims: { aud: sandbox.pushOrigin }, key: server.publicKey },
      request: { protocol: 'h2', method: 'POST' },
    });
    expect(body.records[1].checks).toContainEqual(expect.objectContaining({ name: 'urgency', verdict: 'fail' }));
    expect((await control(sandbox, 'GET', '/log?after=1')).body.records).toHaveLength(1);
    const idsOf = async (query: string) =>
      (await control(sandbox, 'GET', `/log?${query}`)).body.records.map(({ id }: { id: number }) => id);
    expect([await idsOf('limit=1'), await idsOf('after=0&limit=1'), await idsOf('limit=0')]).toEqual([[2], [1], []]);
    const lines = await fetch(`${sandbox.controlUrl}/log`, { headers: { accept: 'application/x-ndjson' } });
    expect(
      (await lines.text())
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual([1, 2]);
    expect((await control(sandbox, 'GET', '/log?after=x')).status).toBe(400);
  });

  test('appends its history to a file and not to memory, with the values that a repeated push must repeat', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'push-sandbox-test-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const historyFile = join(directory, 'history.ndjson');
    const sandbox = await start({ historyFile });
    const subscription = browser(sandbox, { vendor: 'mozilla', vapid_key: server.publicKey });
    const client = new Client(sandbox, 'h2');
    const payload = JSON.stringify({ title: 'Sale', tag: 'sale' });
    sandbox.addFault({ id: 'busy', match: { nth: 2 }, action: { type: 'status', status: 503 } });
    for (const topic of ['a', 'b']) await client.send(server, subscription, { headers: { topic }, payload });
    expect(sandbox.log.history).toEqual([]);
    await sandbox.close();
    const lines = (await readFile(historyFile, 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      [tokenOf(subscription), expect.any(Number), 201, 'a', '', 'sale', 'Sale', 1, '', expect.any(Number)],
      [tokenOf(subscription), expect.any(Number), 503, 'b', '', 'sale', 'Sale', 1, 'busy', expect.any(Number)],
    ]);
  });

  test('notes in its history when a slow answer was sent', async () => {
    const sandbox = await start({ keepHistory: true });
    const subscription = browser(sandbox, { vendor: 'mozilla', vapid_key: server.publicKey });
    sandbox.addFault({ match: {}, action: { type: 'slow', delay_ms: 50 } });
    await new Client(sandbox, 'h2').send(server, subscription);
    const [line] = sandbox.log.history;
    const [, at = 0, , , , , , , , answeredAt = 0] = line ?? [];
    // A timer counts whole milliseconds and may end one early.
    expect(answeredAt - at).toBeGreaterThanOrEqual(49);
  });

  test('keeps the last entries, counts all, and can be cleared', async () => {
    const sandbox = await start({ logEntriesMax: 8, keepHistory: true });
    const subscription = browser(sandbox, { vendor: 'mozilla', vapid_key: server.publicKey });
    const client = new Client(sandbox, 'h2');
    for (let index = 0; index < 30; index += 1)
      await client.send(server, subscription, { headers: { topic: `t${index}` } });
    expect(sandbox.log.requests.length).toBeLessThan(10);
    expect(sandbox.log.requests.at(-1)?.id).toBe(30);
    const counters = (await control(sandbox, 'GET', '/counters')).body;
    expect(counters).toMatchObject({ requests: 30, delivered: 30, by_status: { 201: 30 }, by_vendor: { mozilla: 30 } });
    const history = await fetch(`${sandbox.controlUrl}/history?after=28`);
    expect(
      (await history.text())
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([
      [tokenOf(subscription), expect.any(Number), 201, 't28', '', '', 'Hello', 1, '', expect.any(Number)],
      [tokenOf(subscription), expect.any(Number), 201, 't29', '', '', 'Hello', 1, '', expect.any(Number)],
    ]);
    expect((await control(sandbox, 'DELETE', '/log')).status).toBe(204);
    expect((await control(sandbox, 'GET', '/counters')).body).toMatchObject({ requests: 0 });
    await client.send(server, subscription);
    expect(sandbox.log.requests.map(({ id }) => id)).toEqual([31]);
  });

  test('can be waited on for past and future requests, and a timeout says what came instead', async () => {
    const sandbox = await start();
    const subscription = browser(sandbox, { vendor: 'mozilla', vapid_key: server.publicKey });
    const client = new Client(sandbox, 'h2');
    const coming = sandbox.log.waitFor((record) => record.notification?.title === 'Hello');
    await client.send(server, subscription);
    expect((await coming).id).toBe(1);
    expect((await sandbox.log.waitFor(() => true)).id).toBe(1);
    await expect(sandbox.log.waitFor(() => false, { timeoutMs: 1 })).rejects.toThrow('#1 mozilla 201 Hello');
  });
});

describe('the control port', () => {
  function status(url: string, headers: Record<string, string>, method = 'GET'): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const outgoing = request(url, { method, headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      outgoing.on('error', reject);
      outgoing.end();
    });
  }

  test('answers only to names of this machine, so that no foreign name that resolves here can control it', async () => {
    const { controlUrl } = await start();
    expect(await status(`${controlUrl}/counters`, { host: 'evil.example' })).toBe(403);
    expect(await status(`${controlUrl}/counters`, { host: 'localhost:1' })).toBe(200);
    const named = await start({ endpointHost: 'sandbox.ci' });
    expect(await status(`${named.controlUrl}/counters`, { host: 'sandbox.ci:8090' })).toBe(200);
    expect(named.pushOrigin).toBe(`https://sandbox.ci:${named.pushPort}`);
  });

  test('refuses requests from pages of other sites', async () => {
    const { controlUrl } = await start();
    expect(await status(`${controlUrl}/faults`, { origin: 'https://evil.example' }, 'DELETE')).toBe(403);
    expect(await status(`${controlUrl}/faults`, { origin: 'null' }, 'DELETE')).toBe(403);
    expect(await status(`${controlUrl}/faults`, { origin: controlUrl }, 'DELETE')).toBe(200);
  });

  test('names the missing object or the mistake of a request', async () => {
    const sandbox = await start();
    expect((await control(sandbox, 'GET', '/nothing')).status).toBe(404);
    expect((await control(sandbox, 'GET', '/../package.json')).status).toBe(404);
    const wrong = await control(sandbox, 'PATCH', '/faults');
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, PUT, POST, DELETE']);
    const response = await fetch(`${sandbox.controlUrl}/faults`, { method: 'PUT', body: '{' });
    expect([response.status, await response.json()]).toEqual([400, { error: 'the body is not JSON' }]);
  });

  test("returns all addresses and Carillon's settings", async () => {
    const sandbox = await start({ receiptsUrl: 'http://127.0.0.1:8080' });
    expect((await control(sandbox, 'GET', '/addresses')).body).toMatchObject({
      push_origin: sandbox.pushOrigin,
      certificate_file: sandbox.certificateFile,
      receipts_url: 'http://127.0.0.1:8080/',
      environment: {
        PUSH_HOSTS: 'localhost',
        OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
        APNS_URL: sandbox.phoneUrls.apns,
        APNS_SANDBOX_URL: sandbox.phoneUrls.apnsSandbox,
        FCM_URL: sandbox.phoneUrls.fcm,
        FCM_TOKEN_URL: `${sandbox.phoneUrls.fcm}/token`,
        OUTBOUND_ALLOW_PORTS: expect.stringMatching(new RegExp(`^${sandbox.pushPort}(,\\d+){3}$`)),
        OUTBOUND_CA_FILE: sandbox.certificateFile,
      },
    });
  });
});
