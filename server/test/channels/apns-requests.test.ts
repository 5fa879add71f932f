import { jwtVerify } from 'jose';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ApnsCredential } from '../../src/sending/channels/apns/credential.ts';
import type { Push } from '../../src/sending/channels/channel.ts';
import type { ChannelContent } from '../../src/sending/content/content.ts';
import {
  apnsCredential,
  apnsKey,
  bundleId,
  createTestApns,
  hexToken,
  keyId,
  makeApnsKey,
  pushTo,
  sandboxHost,
  teamId,
} from './phone-bundle.ts';
import { type Served, startPushServer } from './push-server.ts';

const credential = apnsCredential();
const minuteMs = 60_000;

async function setup(settings?: { maxConcurrentStreams: number }) {
  const server = await startPushServer({ protocol: 'h2', ...(settings && { settings }) });
  const clock = { now: Date.parse('2026-11-21T10:15:30.900Z'), nowMs: () => clock.now };
  const channel = createTestApns(server.port, { clock });
  onTestFinished(async () => {
    await server.close();
    await channel.close();
  });
  server.handle = accept;
  const send = (content: Partial<ChannelContent> = {}, changed: Partial<Push<ApnsCredential>> = {}) =>
    channel.send(pushTo(credential, hexToken(1), content, changed));
  return { server, clock, channel, send };
}

const accept = (request: Served) => request.answer(200, { 'apns-id': request.headers['apns-id'] ?? '' });
const refuse = (request: Served, status: number, reason: string, headers: Record<string, string> = {}) =>
  request.answer(status, headers, JSON.stringify({ reason }));
const isSandbox = ({ headers }: Served) => headers['host'] === sandboxHost;
const tokenOf = ({ headers }: Served) => (headers['authorization'] ?? '').replace('bearer ', '');

describe('a request', () => {
  test("goes to the device's token in lower case, with every header of the contract, and a provider token that jose verifies", async () => {
    const t = await setup();
    const outcome = await t.send({}, { token: 'AB'.repeat(32) });
    const [request] = t.server.seen;
    if (!request) throw new Error('nothing came');
    expect(request).toMatchObject({ method: 'POST', path: `/3/device/${'ab'.repeat(32)}` });
    const { authorization = '', ...headers } = request.headers;
    expect(headers).toMatchObject({
      host: `127.0.0.1:${t.server.port}`,
      'apns-topic': bundleId,
      'apns-push-type': 'alert',
      'apns-id': 'e63cc8fd-db6e-5cb9-b51e-0ec3465e5843',
      'apns-expiration': String(Math.floor(t.clock.now / 1_000) + 3_600),
      'apns-priority': '10',
      'apns-collapse-id': 'msg_02y9GVDsTuJUi2BOoCH5G3',
    });
    const { payload, protectedHeader } = await jwtVerify(authorization.replace('bearer ', ''), apnsKey.publicKey, {
      currentDate: new Date(t.clock.now),
    });
    expect(protectedHeader).toEqual({ alg: 'ES256', kid: keyId });
    expect(payload).toEqual({ iss: teamId, iat: Math.floor(t.clock.now / 1_000) });
    expect(outcome).toMatchObject({ kind: 'sent', providerMessageId: 'e63cc8fd-db6e-5cb9-b51e-0ec3465e5843' });
  });

  test('is the same on every attempt, so that a repeat replaces the notification', async () => {
    const t = await setup();
    await t.send();
    await t.send();
    const [first, second] = t.server.seen;
    expect(second?.headers).toEqual(first?.headers);
    expect(second?.body).toEqual(first?.body);
  });

  test.each(['z'.repeat(64), 'ab'.repeat(31), 'a'.repeat(65), 'ab'.repeat(101), `${'ab'.repeat(31)}/x`, ''])(
    'R-37 with the token %j is never sent',
    async (token) => {
      const t = await setup();
      expect(await t.send({}, { token })).toMatchObject({ errorCode: 'invalid_token', provider: null });
      expect(t.server.connections).toBe(0);
    },
  );

  test('of 4,096 bytes is sent, one more is refused here', async () => {
    const t = await setup();
    await t.send({ body: '' });
    const rest = 4_096 - (t.server.seen[0]?.body.length ?? 0);
    expect(await t.send({ body: 'x'.repeat(rest) })).toMatchObject({ kind: 'sent' });
    expect(t.server.seen[1]?.body).toHaveLength(4_096);
    expect(await t.send({ body: 'x'.repeat(rest + 1) })).toMatchObject({
      errorCode: 'payload_too_large',
      retryable: false,
      provider: null,
    });
    expect(t.server.seen).toHaveLength(2);
  });

  test('waits where only one stream is allowed: all pushes go through on a few connections', async () => {
    const t = await setup({ maxConcurrentStreams: 1 });
    const sends = Array.from({ length: 40 }, (_, i) => t.channel.send(pushTo(credential, hexToken(i))));
    const outcomes = await Promise.all(sends);
    expect(outcomes.every(({ kind }) => kind === 'sent')).toBe(true);
    expect(t.server.connections).toBeLessThanOrEqual(4);
  });
});

describe('connections', () => {
  test('belong to one key: no two keys, whatever their ids, share one', async () => {
    const t = await setup();
    const other = apnsCredential({ keyId: 'OTHER12345' });
    const renamed = apnsCredential({ p8: makeApnsKey().pem });
    await t.send();
    await t.send();
    await t.channel.send(pushTo(other, hexToken(1)));
    await t.channel.send(pushTo(renamed, hexToken(1)));
    expect(t.server.seen.map(({ connection }) => connection)).toEqual([0, 0, 1, 2]);
  });

  test('UnrelatedKeyIdInToken: another connection and one repeat, also for many pushes at once', async () => {
    const t = await setup();
    t.server.handle = (request) => {
      if (request.connection === 0) refuse(request, 403, 'UnrelatedKeyIdInToken');
      else accept(request);
    };
    await t.send();
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => t.send()));
    expect(outcomes.every(({ kind }) => kind === 'sent')).toBe(true);
    expect(new Set(t.server.seen.map(({ connection }) => connection))).toEqual(new Set([0, 1]));
  });

  test('UnrelatedKeyIdInToken again: auth_failed, without a flood of connections', async () => {
    const t = await setup();
    t.server.handle = (request) => refuse(request, 403, 'UnrelatedKeyIdInToken');
    for (let i = 0; i < 5; i += 1) expect(await t.send()).toMatchObject({ errorCode: 'auth_failed', retryable: false });
    expect(t.server.connections).toBe(2);
    t.clock.now += minuteMs;
    await t.send();
    expect(t.server.connections).toBe(3);
  });

  test.each([
    ['TooManyProviderTokenUpdates', 429, 'rate_limited'],
    ['Shutdown', 503, 'provider_unavailable'],
  ])('%s: the same token, on another connection', async (reason, status, errorCode) => {
    const t = await setup();
    t.server.handle = (request) => refuse(request, status, reason);
    expect(await t.send()).toMatchObject({ errorCode, retryable: true });
    t.server.handle = accept;
    await t.send();
    const [first, second] = t.server.seen;
    expect(second?.connection).not.toBe(first?.connection);
    expect(second && tokenOf(second)).toBe(first && tokenOf(first));
  });
});

describe('ExpiredProviderToken', () => {
  test('of a token older than 20 minutes: one new token and one repeat, shared by all pushes', async () => {
    const t = await setup();
    await t.send();
    t.clock.now += 21 * minuteMs;
    const [old] = t.server.seen.map(tokenOf);
    t.server.handle = (request) =>
      tokenOf(request) === old ? refuse(request, 403, 'ExpiredProviderToken') : accept(request);
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => t.send()));
    expect(outcomes.every(({ kind }) => kind === 'sent')).toBe(true);
    expect(new Set(t.server.seen.map(tokenOf)).size).toBe(2);
  });

  test('of a younger token means a wrong clock: auth_failed, the token stays, and nothing is repeated', async () => {
    const t = await setup();
    t.server.handle = (request) => refuse(request, 403, 'ExpiredProviderToken');
    expect(await t.send()).toMatchObject({ errorCode: 'auth_failed', reason: 'ExpiredProviderToken' });
    expect(await t.send()).toMatchObject({ errorCode: 'auth_failed' });
    expect(t.server.seen).toHaveLength(2);
    expect(new Set(t.server.seen.map(tokenOf)).size).toBe(1);
  });

  test('of a token older than 20 minutes: the limits are checked again before the repeat', async () => {
    const t = await setup();
    await t.send();
    t.clock.now += 21 * minuteMs;
    const [old] = t.server.seen.map(tokenOf);
    t.server.handle = (request) =>
      tokenOf(request) === old ? refuse(request, 403, 'ExpiredProviderToken') : accept(request);
    const seen: number[] = [];
    await t.send({}, { again: async () => void seen.push(t.server.seen.length) });
    expect(seen).toEqual([2]);
  });

  test('of the new token as well: auth_failed after one repeat', async () => {
    const t = await setup();
    await t.send();
    t.clock.now += 21 * minuteMs;
    t.server.handle = (request) => refuse(request, 403, 'ExpiredProviderToken');
    expect(await t.send()).toMatchObject({ errorCode: 'auth_failed', retryable: false });
    expect(t.server.seen).toHaveLength(3);
  });
});

describe('the environment of a token', () => {
  /** A server that knows tokens in one environment only. */
  const knownIn = (environment: 'production' | 'sandbox') => (request: Served) => {
    if (isSandbox(request) === (environment === 'sandbox')) accept(request);
    else refuse(request, 400, 'BadDeviceToken');
  };

  test('unknown: the limits are checked again before the second request, and only then', async () => {
    const t = await setup();
    const seen: number[] = [];
    const again = async () => void seen.push(t.server.seen.length);
    await t.send({}, { again });
    expect(seen).toEqual([]);
    t.server.handle = knownIn('sandbox');
    expect(await t.send({}, { again })).toMatchObject({ kind: 'sent' });
    expect(seen).toEqual([2]);
    expect(t.server.seen).toHaveLength(3);
  });

  test('unknown: production is tried first, then the sandbox once, and the result is to be remembered', async () => {
    const t = await setup();
    t.server.handle = knownIn('sandbox');
    expect(await t.send()).toMatchObject({ kind: 'sent', environmentFound: 'sandbox' });
    expect(t.server.seen.map(isSandbox)).toEqual([false, true]);
    expect(t.server.seen[1]?.headers['apns-id']).toBe(t.server.seen[0]?.headers['apns-id']);
  });

  test('unknown, with a credential for the sandbox: the sandbox is tried first, and its success is not remembered', async () => {
    const t = await setup();
    t.server.handle = knownIn('sandbox');
    const sandboxed = apnsCredential({ environment: 'sandbox' });
    expect(await t.send({}, { credential: sandboxed })).not.toHaveProperty('environmentFound');
    t.server.handle = knownIn('production');
    expect(await t.send({}, { credential: sandboxed })).toMatchObject({ environmentFound: 'production' });
    expect(t.server.seen.map(isSandbox)).toEqual([true, true, false]);
  });

  test.each(['production', 'sandbox'] as const)('known to be %s: no other is tried', async (environment) => {
    const t = await setup();
    t.server.handle = (request) => refuse(request, 400, 'BadDeviceToken');
    expect(await t.send({}, { environment })).toMatchObject({ errorCode: 'invalid_token' });
    expect(t.server.seen.map(isSandbox)).toEqual([environment === 'sandbox']);
  });

  test.each([
    ['nobody knows it', 400, 'BadDeviceToken', 'invalid_token', 'BadDeviceToken'],
    ['the key does not serve the other', 403, 'BadEnvironmentKeyIdInToken', 'invalid_token', 'BadDeviceToken'],
    ['nor in the words of practice', 403, 'BadEnvironmentKeyInToken', 'invalid_token', 'BadDeviceToken'],
    ['the other refuses the key', 403, 'InvalidProviderToken', 'invalid_token', 'BadDeviceToken'],
    ['it belongs to another app there', 400, 'DeviceTokenNotForTopic', 'credential_mismatch', 'DeviceTokenNotForTopic'],
    ['it is dead there', 410, 'Unregistered', 'unregistered', 'Unregistered'],
    ['the other has trouble', 503, 'ServiceUnavailable', 'provider_unavailable', 'ServiceUnavailable'],
  ])('unknown, and the other environment answers: %s', async (_what, status, said, errorCode, reason) => {
    const t = await setup();
    t.server.handle = (request) =>
      isSandbox(request) ? refuse(request, status, said) : refuse(request, 400, 'BadDeviceToken');
    expect(await t.send()).toMatchObject({ kind: 'refused', errorCode, reason });
    expect(t.server.seen).toHaveLength(2);
  });

  test('unknown: only BadDeviceToken makes it try the other; any other refusal is final', async () => {
    const t = await setup();
    t.server.handle = (request) => refuse(request, 400, 'DeviceTokenNotForTopic');
    expect(await t.send()).toMatchObject({ errorCode: 'credential_mismatch' });
    expect(t.server.seen).toHaveLength(1);
  });
});

test('a token that ended tells when', async () => {
  const t = await setup();
  t.server.handle = (request) =>
    request.answer(410, {}, JSON.stringify({ reason: 'Unregistered', timestamp: 1_795_256_130_123 }));
  expect(await t.send()).toMatchObject({ errorCode: 'unregistered', goneAtMs: 1_795_256_130_123 });
});
