import { beforeAll, describe, expect, it } from 'vitest';
import { createDatabaseGate } from '../../../packages/postgres/test/database-gate.ts';
import { createLog } from '../../src/ground/host/log.ts';
import { createAuthenticate } from '../../src/teams/apps/authenticate.ts';
import { mintKey } from '../../src/teams/apps/key.ts';
import { createKeyLookups } from '../../src/teams/apps/key-lookups.ts';
import { createKey, revokeKey, rotateKey } from '../../src/teams/apps/manage-keys.ts';
import { updateAppPlan, updateAppSuspension } from '../../src/teams/apps/queries.ts';
import { exchange } from '../raw-http.ts';
import { type Response, setup } from '../setup.ts';

const gate = createDatabaseGate();
const t = await setup({ workers: false, reachDatabase: (url) => gate.reach(url) });
const deps = { sql: t.sql, clock: t.clock, by: t.by };
const { serverKey, clientKey } = t.app;

/** The contract's test vector: well-formed, and never a real key. */
const unknownKey = 'sk_live_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf2L6EQX';
/** The time within which every change of a key or an app must take effect. */
const holdsWithinMs = 2000;

const listMessages = (key: string): Promise<Response> => t.request('GET', '/v1/messages', { key });
const says = ({ status, body }: Response): string => `${status} ${body?.error ?? ''}`.trim();
/** A body without its `request_id`, which differs in each answer. */
const comparable = ({ body }: Response): unknown => ({ ...body, request_id: '' });

describe('the Authorization header', () => {
  const get = async (headers: string): Promise<string> => {
    const { status, body } = await exchange(t.url, `GET /v1/messages HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
    return `${status} ${body.error ?? ''}`.trim();
  };

  it.each([
    ['in the usual form', `Authorization: Bearer ${serverKey}`],
    ['with the scheme in lower case', `Authorization: bearer ${serverKey}`],
    ['with the scheme in upper case', `Authorization: BEARER ${serverKey}`],
    ['with the name in another case', `aUTHORIZATION: Bearer ${serverKey}`],
    ['with white space around the whole', `Authorization:   Bearer ${serverKey}  `],
  ])('R-42 is accepted %s', async (_what, header) => {
    expect(await get(`${header}\r\n`)).toBe('200');
  });

  it.each([
    ['absent', '', '401 missing_key'],
    ['empty', 'Authorization:\r\n', '401 missing_key'],
    ['without a key', 'Authorization: Bearer\r\n', '401 missing_key'],
    ['without a scheme', `Authorization: ${serverKey}\r\n`, '401 missing_key'],
    ['with two spaces', `Authorization: Bearer  ${serverKey}\r\n`, '401 missing_key'],
    ['with a tab', `Authorization: Bearer\t${serverKey}\r\n`, '401 missing_key'],
    ['with a colon', `Authorization: Bearer: ${serverKey}\r\n`, '401 missing_key'],
    ['with more behind the key', `Authorization: Bearer ${serverKey} x\r\n`, '401 missing_key'],
    ['twice', `Authorization: Bearer ${serverKey}\r\n`.repeat(2), '401 missing_key'],
    ['twice, once unreadable', `Authorization: Bearer ${serverKey}\r\nAuthorization: x\r\n`, '401 missing_key'],
    ['as two in one', `Authorization: Bearer ${serverKey},Bearer ${serverKey}\r\n`, '401 missing_key'],
    ['as Basic', `Authorization: Basic ${Buffer.from(`${serverKey}:`).toString('base64')}\r\n`, '401 missing_key'],
    ['as Basic with the key itself', `Authorization: Basic ${serverKey}\r\n`, '401 missing_key'],
    ['as Token', `Authorization: Token ${serverKey}\r\n`, '401 missing_key'],
    ['with quotes', `Authorization: Bearer "${serverKey}"\r\n`, '401 invalid_key'],
    ['with the key in another case', `Authorization: Bearer ${serverKey.toUpperCase()}\r\n`, '401 invalid_key'],
    ['with a character less', `Authorization: Bearer ${serverKey.slice(0, -1)}\r\n`, '401 invalid_key'],
    ['with a character more', `Authorization: Bearer ${serverKey}0\r\n`, '401 invalid_key'],
    ['with the other prefix', `Authorization: Bearer ck${serverKey.slice(2)}\r\n`, '401 invalid_key'],
    ['with bytes that are not ASCII', `Authorization: Bearer ${serverKey.slice(0, -1)}ü\r\n`, '401 invalid_key'],
    ['with an endless key', `Authorization: Bearer ${'x'.repeat(10_000)}\r\n`, '401 invalid_key'],
  ])('R-42 is refused %s', async (_what, headers, answer) => {
    expect(await get(headers)).toBe(answer);
  });

  it.each([
    ['X-API-Key', `X-API-Key: ${serverKey}\r\n`],
    ['Cookie', `Cookie: authorization=Bearer%20${serverKey}; key=${serverKey}\r\n`],
    ['Proxy-Authorization', `Proxy-Authorization: Bearer ${serverKey}\r\n`],
  ])('R-42 is the only place for a key: a key in %s is ignored', async (_name, header) => {
    expect(await get(header)).toBe('401 missing_key');
  });

  it('R-42 is the only place for a key: a key in the query or in the body is ignored', async () => {
    for (const name of ['key', 'api_key', 'access_token', 'authorization']) {
      expect(says(await t.request('GET', `/v1/messages?${name}=${serverKey}`))).toBe('401 missing_key');
    }
    const body = { key: serverKey, authorization: `Bearer ${serverKey}`, external_id: 'ada' };
    expect(says(await t.request('POST', '/v1/users', { body }))).toBe('401 missing_key');
  });
});

describe('the order of checks', () => {
  const oversize = 'x'.repeat(300 * 1024);
  const suspended = { serverKey: '', clientKey: '' };
  beforeAll(async () => {
    const app = await t.newApp();
    await updateAppSuspension(t.sql, t.clock, app.id, true);
    Object.assign(suspended, app);
  });

  it('an unknown route comes before the key, the suspension and the body', async () => {
    for (const key of [null, 'nonsense', suspended.serverKey, clientKey]) {
      expect(says(await t.request('POST', '/v1/nothing', { key, raw: '{' }))).toBe('404 not_found');
    }
  });

  it('the key comes before the body, which is not even read', async () => {
    for (const raw of ['{', oversize]) {
      expect(says(await t.request('POST', '/v1/users', { raw }))).toBe('401 missing_key');
      expect(says(await t.request('POST', '/v1/users', { raw, key: unknownKey }))).toBe('401 invalid_key');
    }
  });

  it('the suspension comes before the scope, the query and the body', async () => {
    for (const key of [suspended.serverKey, suspended.clientKey]) {
      expect(says(await t.request('POST', '/v1/messages', { key, raw: '{' }))).toBe('403 app_suspended');
      expect(says(await t.request('GET', '/v1/messages?nothing=1', { key }))).toBe('403 app_suspended');
      expect(says(await t.request('GET', '/v1/config', { key }))).toBe('403 app_suspended');
    }
  });

  it('the scope comes before the query, the body and the resource', async () => {
    for (const raw of ['{', oversize]) {
      expect(says(await t.request('POST', '/v1/messages', { key: clientKey, raw }))).toBe('403 wrong_key_scope');
    }
    for (const path of ['/v1/messages?nothing=1', '/v1/messages/msg_none', '/v1/devices', '/v1/users/nobody']) {
      expect(says(await t.request('GET', path, { key: clientKey }))).toBe('403 wrong_key_scope');
    }
  });

  it('the validity of a request comes before the existence of its resource', async () => {
    expect(says(await t.server.get('/v1/messages/msg_none/deliveries?limit=0'))).toBe('400 validation_failed');
    expect(says(await t.server.get('/v1/users/nobody?nothing=1'))).toBe('400 validation_failed');
    const device = { platform: 'web', token: 'nonsense', device_id: 'dev_none' };
    expect(says(await t.client.post('/v1/devices', device))).toBe('400 validation_failed');
  });
});

describe('R-41 a change of a key takes effect within two seconds', () => {
  const makeKey = (scope: 'server' | 'client' = 'server') =>
    createKey(deps, { appId: t.app.id, scope, name: 'Backend' });

  it('a new key works at once', async () => {
    expect(says(await listMessages((await makeKey()).text))).toBe('200');
  });

  it('a revoked key stops working', async () => {
    const { id, text } = await makeKey();
    expect(says(await listMessages(text))).toBe('200');
    await revokeKey(deps, id);
    t.clock.advance(holdsWithinMs);
    expect(says(await listMessages(text))).toBe('401 invalid_key');
  });

  it('a key in constant use stops as soon as any other: use does not keep it alive', async () => {
    const { id, text } = await makeKey();
    await listMessages(text);
    await revokeKey(deps, id);
    for (let ms = 0; ms < holdsWithinMs; ms += 250) {
      t.clock.advance(250);
      await listMessages(text);
    }
    expect(says(await listMessages(text))).toBe('401 invalid_key');
  });

  it('an app is suspended with all its keys, and resumed with them', async () => {
    const app = await t.newApp();
    const ask = async () => [
      says(await listMessages(app.serverKey)),
      says(await t.request('GET', '/v1/config', { key: app.clientKey })),
    ];
    expect(await ask()).toEqual(['200', '200']);
    await updateAppSuspension(t.sql, t.clock, app.id, true);
    t.clock.advance(holdsWithinMs);
    expect(await ask()).toEqual(['403 app_suspended', '403 app_suspended']);
    await updateAppSuspension(t.sql, t.clock, app.id, false);
    t.clock.advance(holdsWithinMs);
    expect(await ask()).toEqual(['200', '200']);
  });

  it('a new plan applies', async () => {
    const app = await t.newApp();
    const planOf = async () => {
      const body = { audience: { all: true }, content: { title: 'Sale' }, dry_run: true };
      return (await t.request('POST', '/v1/messages', { key: app.serverKey, body })).body.quota?.plan ?? null;
    };
    expect(await planOf()).toBeNull();
    await updateAppPlan(t.sql, app.id, 'free');
    t.clock.advance(holdsWithinMs);
    expect(await planOf()).toBe('free');
  });

  it('R-43 a rotated key works beside the new one exactly until its overlap ends', async () => {
    const former = await makeKey();
    expect(says(await listMessages(former.text))).toBe('200');
    const { key } = await rotateKey(deps, { id: former.id, overlapHours: 1 });
    t.clock.advance(3600_000 - holdsWithinMs);
    expect([says(await listMessages(former.text)), says(await listMessages(key.text))]).toEqual(['200', '200']);
    t.clock.advance(holdsWithinMs);
    expect([says(await listMessages(former.text)), says(await listMessages(key.text))]).toEqual([
      '401 invalid_key',
      '200',
    ]);
  });

  it('unknown, ended and revoked keys are refused with the same answer', async () => {
    const [revoked, expired] = [await makeKey(), await makeKey()];
    await revokeKey(deps, revoked.id);
    await rotateKey(deps, { id: expired.id, overlapHours: 0 });
    const keys = ['sk_live_short', `${serverKey.slice(0, -1)}!`, unknownKey, revoked.text, expired.text];
    const bodies = await Promise.all(keys.map(async (key) => comparable(await listMessages(key))));
    for (const body of bodies) {
      expect(body).toEqual({ error: 'invalid_key', message: 'The API key is not valid.', request_id: '' });
    }
  });
});

describe('contract 4: look-ups of keys', () => {
  /** An authenticator of its own, whose statements are counted. */
  function openDoor() {
    let asked = 0;
    const sql = new Proxy(t.sql, {
      apply(target, self, parameters: [TemplateStringsArray]) {
        if (parameters[0].join('').includes('FROM keys k')) asked++;
        return Reflect.apply(target, self, parameters);
      },
    });
    const lookups = createKeyLookups({ isOverLimit: () => false, waitMs: 60_000 });
    const { authenticate } = createAuthenticate({ sql, clock: t.clock, log: createLog('silent', 'test'), lookups });
    return {
      ask: (key: string) => authenticate([`Bearer ${key}`], 'server', () => '203.0.113.1'),
      asked: () => asked,
    };
  }
  /** Blocks every look-up of a key while `work` runs. */
  const whileHeld = (work: () => Promise<void>) =>
    t.sql.begin(async (tx) => {
      await tx`LOCK TABLE keys IN ACCESS EXCLUSIVE MODE`;
      await work();
    });
  const strangers = (count: number): string[] => Array.from({ length: count }, () => mintKey('server').text);

  it('of 400 concurrent requests with unknown keys, 20 are looked up at a time', async () => {
    const door = openDoor();
    let answers: Promise<unknown>[] = [];
    await whileHeld(async () => {
      answers = strangers(400).map((key) => door.ask(key).catch((error: unknown) => error));
      await new Promise((resolve) => setImmediate(resolve));
      expect(door.asked()).toBe(20);
    });
    for (const answer of await Promise.all(answers)) expect(answer).toMatchObject({ code: 'invalid_key' });
    expect(door.asked()).toBe(400);
  });

  it('a request with a known key waits for none of these look-ups', async () => {
    const door = openDoor();
    await door.ask(serverKey);
    let answers: Promise<unknown>[] = [];
    await whileHeld(async () => {
      answers = strangers(400).map((key) => door.ask(key).catch((error: unknown) => error));
      expect(await door.ask(serverKey)).toMatchObject({ appId: t.app.id });
    });
    await Promise.all(answers);
  });

  it('400 requests with one key cause one look-up, and the next second another one that delays no request', async () => {
    const door = openDoor();
    const askAll = () => Promise.all(Array.from({ length: 400 }, () => door.ask(serverKey)));
    await askAll();
    expect(door.asked()).toBe(1);
    t.clock.advance(750);
    await whileHeld(async () => void (await askAll()));
    expect(door.asked()).toBe(2);
    t.clock.advance(holdsWithinMs);
    await askAll();
    expect(door.asked()).toBe(3);
  });
});

describe('R-40 what is stored and asked', () => {
  it('the database contains no key: only its hash, its first 12 and its last 4 characters', async () => {
    const { id, text } = await createKey(deps, {
      appId: t.app.id,
      scope: 'client',
      name: 'Shop app',
    });
    expect(text).toMatch(/^ck_live_[0-9A-Za-z]{49}$/);
    const [row] =
      await t.sql`SELECT start, last4, encode(hash, 'hex') AS hash, k::text AS whole FROM keys k WHERE id = ${id}`;
    expect(row).toMatchObject({ start: text.slice(0, 12), last4: text.slice(-4) });
    expect(row?.['whole']).not.toContain(text);
    // The middle of the key, which neither shown end contains.
    expect(row?.['whole']).not.toContain(text.slice(12, -4));
  });

  it('a malformed key costs no query: it is refused while the database is unreachable', async () => {
    const malformed = [
      'x',
      'sk_live_',
      `${serverKey.slice(0, -1)}${serverKey.endsWith('0') ? '1' : '0'}`,
      serverKey.slice(1),
      `${serverKey}0`,
      `${serverKey.slice(0, 20)}-${serverKey.slice(21)}`,
      serverKey.replace('sk_live_', 'sk_test_'),
    ];
    await gate.shut();
    const sent = gate.bytesSent;
    for (const key of malformed) expect(says(await listMessages(key))).toBe('401 invalid_key');
    expect(says(await t.request('GET', '/v1/messages'))).toBe('401 missing_key');
    expect(gate.bytesSent).toBe(sent);
    // The 503 proves that the database was out of reach: a key that could exist must be looked up.
    expect(says(await listMessages(unknownKey))).toBe('503 unavailable');
    await gate.open();
  });
});
