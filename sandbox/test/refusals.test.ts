// Each vendor refuses what the real one refuses, in its own words. One table: vendor, mistake,
// answer.
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { VendorName } from '../src/vendors/vendor.ts';
import { vendorNames } from '../src/vendors/vendors.ts';
import { ApplicationServer, bothProtocols, browser, Client, type Overrides, start, tokenOf } from './setup.ts';

const server = new ApplicationServer();
const stranger = new ApplicationServer();
const soon = Math.floor(Date.now() / 1000) + 3600;

const mistakes = {
  'no TTL': { headers: { ttl: undefined } },
  'a TTL in words': { headers: { ttl: 'soon' } },
  'a negative TTL': { headers: { ttl: '-1' } },
  'an unknown Urgency': { headers: { urgency: 'urgent' } },
  'a Topic of 33 characters': { headers: { topic: 'a'.repeat(33) } },
  'a Topic with a space': { headers: { topic: 'a topic' } },
  'no Content-Encoding': { headers: { 'content-encoding': undefined } },
  'the old Content-Encoding': { headers: { 'content-encoding': 'aesgcm' } },
  'a body of 4,097 bytes': { body: randomBytes(4097) },
  'a body of 5,001 bytes': { body: randomBytes(5001) },
  'no Authorization': { headers: { authorization: undefined } },
  'the old Authorization': { headers: { authorization: 'WebPush a.b.c' } },
  "a stranger's key": { headers: { authorization: stranger.authorization({ aud: 'https://x', exp: soon }) } },
  'a key that is none': { headers: { authorization: server.authorization({ exp: soon }, 'AAAA') } },
  'a signature by another': { claims: {}, headers: {} },
  'another audience': { claims: { aud: 'https://push.example' } },
  'an audience with a slash': { claims: { aud: 'https://localhost/' } },
  'an expired token': { claims: { exp: soon - 7200 } },
  'a token for two days': { claims: { exp: soon + 172_800 } },
  'a subject that is none': { claims: { sub: 'push@example.com' } },
  'a GET': { method: 'GET', body: Buffer.alloc(0) },
} satisfies Record<string, Overrides>;

type Mistake = keyof typeof mistakes;

/** The status, and what the body or a header must contain. */
type Refusal = readonly [status: number, words: RegExp | Record<string, unknown>];

const everyMozilla401 = [401, { code: 401, errno: 109, error: 'Unauthorized' }] as const;
const badJwt = [403, { reason: 'BadJwtToken' }] as const;
const invalidJwt = [403, /^invalid JWT provided\n$/] as const;

const table: Partial<Record<VendorName, Partial<Record<Mistake, Refusal>>>> = {
  generic: {
    'no TTL': [400, { status: 400, detail: 'the TTL header is missing' }],
    'a TTL in words': [400, /whole seconds/],
    'a negative TTL': [400, /negative/],
    'an unknown Urgency': [400, /Urgency/],
    'a Topic of 33 characters': [400, /Topic/],
    'a Topic with a space': [400, /Topic/],
    'no Content-Encoding': [400, /Content-Encoding/],
    'the old Content-Encoding': [400, /aes128gcm/],
    'a body of 4,097 bytes': [413, /at most 4096/],
    'no Authorization': [401, /Authorization/],
    'the old Authorization': [401, /vapid/],
    "a stranger's key": [403, /not the key/],
    'a key that is none': [403, /65 octets/],
    'a signature by another': [403, /signature/],
    'another audience': [403, /aud must be https:\/\/localhost:\d+, it is/],
    'an audience with a slash': [403, /aud must be/],
    'an expired token': [403, /exp passed/],
    'a token for two days': [403, /24 hours/],
    'a subject that is none': [403, /mailto/],
    'a GET': [405, { title: 'Method Not Allowed' }],
  },
  fcm: {
    'no TTL': [400, /TTL/],
    'a body of 4,097 bytes': [413, /Payload Too Large/],
    'no Authorization': [401, /^authorization header must be specified/],
    'the old Authorization': [400, /<TITLE>UnauthorizedRegistration<\/TITLE>/],
    "a stranger's key": [403, /^the VAPID credentials in the authorization header do not correspond/],
    'a signature by another': invalidJwt,
    'another audience': [403, /^aud claim in the token MUST include the origin/],
    'an expired token': invalidJwt,
    'a token for two days': [403, /^exp claim MUST NOT be more than 24 hours/],
    'a subject that is none': invalidJwt,
  },
  mozilla: {
    'no TTL': [400, { code: 400, errno: 111, error: 'Bad Request' }],
    'a TTL in words': [400, { errno: 112 }],
    'a negative TTL': [400, { errno: 114 }],
    'a Topic of 33 characters': [400, { errno: 113 }],
    'no Content-Encoding': [400, { errno: 110, message: 'Missing Content-Encoding header' }],
    'the old Content-Encoding': [400, { errno: 110 }],
    'a body of 4,097 bytes': [413, { errno: 104 }],
    'no Authorization': everyMozilla401,
    'the old Authorization': everyMozilla401,
    "a stranger's key": [401, { errno: 109, message: 'VAPID public key mismatch' }],
    'a key that is none': everyMozilla401,
    'a signature by another': everyMozilla401,
    'another audience': everyMozilla401,
    'an expired token': everyMozilla401,
    'a token for two days': everyMozilla401,
    'a subject that is none': everyMozilla401,
  },
  apple: {
    'no TTL': [400, { reason: 'BadTtl' }],
    'a negative TTL': [400, { reason: 'BadTtl' }],
    'an unknown Urgency': [400, { reason: 'BadUrgency' }],
    'a Topic of 33 characters': [400, { reason: 'BadWebPushTopic' }],
    'no Content-Encoding': [400, { reason: 'BadWebPushRequest' }],
    'a body of 4,097 bytes': [413, { reason: 'PayloadTooLarge' }],
    'no Authorization': [403, { reason: 'BadAuthorizationHeader' }],
    'the old Authorization': [403, { reason: 'BadAuthorizationHeader' }],
    "a stranger's key": [400, { reason: 'VapidPkHashMismatch' }],
    'a key that is none': [403, { reason: 'BadVapidPublicKey' }],
    'a signature by another': badJwt,
    'another audience': badJwt,
    'an expired token': badJwt,
    'a token for two days': badJwt,
    'a subject that is none': badJwt,
    'a GET': [405, { reason: 'MethodNotAllowed' }],
  },
  wns: {
    'no TTL': [400, { 'x-wns-status': 'dropped', 'x-wns-error-description': 'Missing TTL' }],
    'a body of 5,001 bytes': [413, { 'x-wns-status': 'dropped' }],
    'no Authorization': [401, { 'x-wns-status': 'dropped' }],
    "a stranger's key": [403, { 'x-wns-status': 'dropped' }],
    'a signature by another': [401, { 'x-wns-status': 'dropped' }],
    'an expired token': [401, { 'x-wns-status': 'dropped' }],
  },
};

const rows = vendorNames.flatMap((vendor) =>
  Object.entries(table[vendor] ?? {}).map(([mistake, refusal]) => ({ vendor, mistake: mistake as Mistake, refusal })),
);

/** Signed by the stranger but under our key: only the signature is wrong. */
function withForgedSignature(origin: string): Overrides {
  const claims = { aud: origin, exp: soon, sub: 'mailto:push@example.com' };
  return { headers: { authorization: stranger.authorization(claims, server.publicKey) } };
}

test.each(rows)('$vendor refuses $mistake with $refusal.0', async ({ vendor, mistake, refusal: [status, words] }) => {
  const sandbox = await start();
  const subscription = browser(sandbox, { vendor, vapid_key: server.publicKey });
  const overrides = mistake === 'a signature by another' ? withForgedSignature(sandbox.pushOrigin) : mistakes[mistake];
  const answer = await new Client(sandbox, 'http/1.1').send(server, subscription, overrides);
  expect(answer.status).toBe(status);
  if (words instanceof RegExp) expect(answer.body).toMatch(words);
  else if (answer.body === '') expect(answer.headers).toMatchObject(words);
  else expect(JSON.parse(answer.body)).toMatchObject(words);

  const [record] = sandbox.log.requests;
  expect(record?.isDelivered).toBe(false);
  expect(record?.checks.some((check) => check.verdict === 'fail' && check.problem !== null)).toBe(true);
});

describe.each(vendorNames)('a %s endpoint', (vendor) => {
  test.each(bothProtocols)(
    'is 410 once its browser has unsubscribed, and 404 when there never was one (%s)',
    async (protocol) => {
      const sandbox = await start();
      const subscription = browser(sandbox, { vendor, vapid_key: server.publicKey });
      const client = new Client(sandbox, protocol);
      expect((await client.send(server, subscription)).status).toBe(201);
      expect(sandbox.unsubscribe(tokenOf(subscription))).toBe(true);
      expect((await client.send(server, subscription)).status).toBe(410);
      const unknown = { ...subscription, endpoint: subscription.endpoint.replace(/.{6}$/, 'AAAAAA') };
      expect((await client.send(server, unknown)).status).toBe(404);
    },
  );
});

test('a 404 of FCM shows the form of an endpoint, and a 410 of Mozilla may be cached', async () => {
  const sandbox = await start();
  const client = new Client(sandbox, 'h2');
  const chrome = browser(sandbox, { vendor: 'fcm', vapid_key: server.publicKey });
  const firefox = browser(sandbox, { vendor: 'mozilla', vapid_key: server.publicKey });
  const unknown = await client.send(server, chrome, { path: '/fcm/send/nobody' });
  expect(unknown.body).toMatch(/^A valid push subscription endpoint should be specified in the URL as such: /);
  sandbox.unsubscribe(tokenOf(firefox));
  const gone = await client.send(server, firefox);
  expect(JSON.parse(gone.body)).toMatchObject({ code: 410, errno: 106, error: 'Gone' });
  expect(gone.headers['cache-control']).toBe('max-age=86400');
});

describe('rules of single vendors beyond the RFCs', () => {
  async function sendTo(vendor: VendorName, overrides: Overrides) {
    const sandbox = await start();
    const subscription = browser(sandbox, { vendor, vapid_key: server.publicKey });
    const answer = await new Client(sandbox, 'http/1.1').send(server, subscription, overrides);
    return { ...answer, checks: sandbox.log.requests[0]?.checks ?? [] };
  }

  test.each([
    [11, 201],
    [12, 201],
    [13, 400],
    [14, 201],
    [32, 201],
  ])('Apple decodes a Topic of %i characters: %i', async (length, status) => {
    expect((await sendTo('apple', { headers: { topic: 'a'.repeat(length) } })).status).toBe(status);
  });

  test('all other vendors accept it, and the log warns', async () => {
    const { status, checks } = await sendTo('fcm', { headers: { topic: 'a'.repeat(13) } });
    expect(status).toBe(201);
    expect(checks.find((check) => check.name === 'topic')).toMatchObject({ verdict: 'warn' });
  });

  test.each([
    ['mailto:push@example.com', 201],
    ['https://example.com/contact', 201],
    [undefined, 403],
    ['mailto:push@localhost', 403],
    ['https://localhost/contact', 403],
    ['mailto: <push@example.com>', 403],
  ])('Apple judges the subject %s: %i', async (sub, status) => {
    expect((await sendTo('apple', { claims: { sub } })).status).toBe(status);
  });

  test.each([
    ['0', undefined, 400],
    ['0', 'cache', 400],
    ['0', 'no-cache', 201],
    ['60', undefined, 201],
    ['60', 'cache', 201],
    ['60', 'no-cache', 400],
  ])('WNS: TTL %s with the cache policy %s is %i', async (ttl, policy, status) => {
    const answer = await sendTo('wns', { headers: { ttl, 'x-wns-cache-policy': policy } });
    expect(answer.status).toBe(status);
    expect(answer.headers['x-wns-status']).toBe(status === 201 ? 'received' : 'dropped');
    if (status === 400) {
      expect(answer.headers['x-wns-error-description']).toBe('Ttl value conflicts with X-WNS-Cache-Policy.');
    }
  });

  test('WNS accepts no chunked body, and up to 5,000 bytes', async () => {
    const chunked = { headers: { 'content-length': undefined, 'transfer-encoding': 'chunked' } };
    expect((await sendTo('wns', chunked)).status).toBe(411);
    expect((await sendTo('fcm', chunked)).status).toBe(201);
    expect((await sendTo('wns', { body: randomBytes(5000) })).status).toBe(201);
  });

  test("a TTL above the vendor's maximum is shortened, and the answer contains the shorter one", async () => {
    const answer = await sendTo('fcm', { headers: { ttl: '99999999' } });
    expect(answer.headers['ttl']).toBe('2419200');
  });

  test('a subscription without applicationServerKey needs VAPID at FCM, not at Mozilla', async () => {
    const sandbox = await start();
    const client = new Client(sandbox, 'h2');
    for (const [vendor, status] of [
      ['mozilla', 201],
      ['fcm', 401],
    ] as const) {
      const subscription = browser(sandbox, { vendor });
      const answer = await client.send(server, subscription, { headers: { authorization: undefined } });
      expect(answer.status).toBe(status);
    }
  });
});

describe('faults that no push service can see', () => {
  test('a body the browser cannot open is accepted, and the log says that nobody saw it', async () => {
    const sandbox = await start();
    const subscription = browser(sandbox, { vendor: 'mozilla', vapid_key: server.publicKey });
    const other = browser(sandbox, { vendor: 'mozilla', vapid_key: server.publicKey });
    const body = server.request(other).body;
    const answer = await new Client(sandbox, 'h2').send(server, subscription, { body });
    expect(answer.status).toBe(201);
    const [record] = sandbox.log.requests;
    expect(record).toMatchObject({ isDelivered: false, payload: null });
    expect(record?.checks.find((check) => check.name === 'decryption')).toMatchObject({
      verdict: 'fail',
      problem: null,
    });
    expect(sandbox.log.counters()).toMatchObject({ accepted: 1, delivered: 0, undecryptable: 1 });
  });

  test('the VAPID key that also encrypts is refused (RFC 8292 section 3.2)', async () => {
    const sandbox = await start();
    const subscription = browser(sandbox, { vendor: 'generic', vapid_key: server.publicKey });
    const body = server.request(subscription).body;
    Buffer.from(server.publicKey, 'base64url').copy(body, 21);
    const answer = await new Client(sandbox, 'h2').send(server, subscription, { body });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatch(/also encrypts/);
  });

  test('an endpoint rebuilt at another host is unknown', async () => {
    const sandbox = await start();
    const subscription = browser(sandbox, { vendor: 'fcm', vapid_key: server.publicKey });
    const moved = { ...subscription, endpoint: subscription.endpoint.replace('localhost', '127.0.0.1') };
    const answer = await new Client(sandbox, 'h2').send(server, moved);
    expect(answer.status).toBe(404);
  });
});
