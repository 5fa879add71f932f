import { jwtVerify } from 'jose';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Push, Rate } from '../../src/sending/channels/channel.ts';
import type { FcmCredential } from '../../src/sending/channels/fcm/credential.ts';
import { googleRate } from '../../src/sending/channels/fcm/send.ts';
import { toldReason } from '../../src/sending/channels/told-reason.ts';
import type { ChannelContent } from '../../src/sending/content/content.ts';
import {
  androidToken,
  clientEmail,
  createTestFcm,
  fcmCredential,
  googleKey,
  grant,
  makeGoogleKey,
  projectId,
  pushTo,
} from './phone-bundle.ts';
import { type Served, startPushServer } from './push-server.ts';

const credential = fcmCredential();
const minuteMs = 60_000;

async function setup({ rate }: { rate?: Rate } = {}) {
  const server = await startPushServer({ protocol: 'h2' });
  const google = await startPushServer({ protocol: 'h2' });
  const clock = {
    now: Date.parse('2026-11-21T10:15:30.900Z'),
    isDoubted: false,
    nowMs: () => clock.now,
    isInDoubt: () => clock.isDoubted,
  };
  const channel = createTestFcm(server.port, google.port, { clock, ...(rate && { rate }) });
  onTestFinished(async () => {
    await Promise.all([server.close(), google.close()]);
    await channel.close();
  });
  server.handle = accept;
  google.handle = (request) => request.answer(200, {}, grant(`ya29.${google.seen.length}`));
  const send = (content: Partial<ChannelContent> = {}, changed: Partial<Push<FcmCredential>> = {}) =>
    channel.send(pushTo(credential, androidToken(1), content, changed));
  return { server, google, clock, channel, send };
}

const name = 'projects/shop-4711/messages/0:1795256141';
const accept = (request: Served) => request.answer(200, {}, JSON.stringify({ name }));
const unauthenticated = (request: Served) =>
  request.answer(401, {}, '{"error":{"code":401,"message":"Invalid credentials.","status":"UNAUTHENTICATED"}}');
const bearerOf = ({ headers }: Served) => headers['authorization'];

describe('a request', () => {
  test('names the project, carries the access token and contains one message', async () => {
    const t = await setup();
    expect(await t.send()).toMatchObject({ kind: 'sent', providerMessageId: name });
    const [request] = t.server.seen;
    expect(request).toMatchObject({ method: 'POST', path: `/v1/projects/${projectId}/messages:send` });
    expect(request?.headers).toMatchObject({ authorization: 'Bearer ya29.1', 'content-type': 'application/json' });
    expect(JSON.parse(String(request?.body))).toEqual({ message: expect.objectContaining({ token: androidToken(1) }) });
  });

  test('is the same on every attempt, so that a repeat replaces the notification', async () => {
    const t = await setup();
    await t.send();
    await t.send();
    expect(t.server.seen[1]?.body).toEqual(t.server.seen[0]?.body);
  });

  test.each(['', 'two words', 'é', 'x\n', 'x'.repeat(4_097)])('R-37 with the token %j is not sent', async (token) => {
    const t = await setup();
    expect(await t.send({}, { token })).toMatchObject({ errorCode: 'invalid_token', provider: null });
    expect(t.server.connections + t.google.connections).toBe(0);
  });

  test('with more than 4,096 bytes of keys and values is refused here', async () => {
    const t = await setup();
    expect(await t.send({ body: 'x'.repeat(3_800) })).toMatchObject({ kind: 'sent' });
    expect(await t.send({ body: 'x'.repeat(4_096) })).toMatchObject({
      errorCode: 'payload_too_large',
      retryable: false,
      provider: null,
    });
    expect(t.server.seen).toHaveLength(1);
  });

  test("R-62 one credential's connections are not shared with another, whatever project it names", async () => {
    const t = await setup();
    const another = fcmCredential({ project_id: 'another' });
    const impostor = fcmCredential({ private_key: makeGoogleKey().pem });
    for (const changed of [{}, { credential: another }, { credential: impostor }, {}])
      expect(await t.send({}, changed)).toMatchObject({ kind: 'sent' });
    const [first, second, third, fourth] = t.server.seen.map(({ connection }) => connection);
    expect(new Set([first, second, third]).size).toBe(3);
    expect(fourth).toBe(first);
  });

  test('a credential has an account with a rate of its own, also when another names the same project', async () => {
    const t = await setup({ rate: googleRate });
    const { pace } = t.channel;
    expect(pace?.rate).toEqual(googleRate);
    const accounts = [{}, { projectId: 'another' }, { fingerprint: 'of another key' }].map((changed) =>
      pace?.accountOf({ ...credential, ...changed }),
    );
    expect(new Set(accounts).size).toBe(3);
    expect(pace?.accountOf({ ...credential })).toBe(accounts[0]);
  });

  test('without a rate there is no pace', async () => {
    expect((await setup()).channel.pace).toBeUndefined();
  });
});

describe('an access token', () => {
  test('is exchanged for an assertion that jose verifies, made as Google requires', async () => {
    const t = await setup();
    await t.send();
    const [request] = t.google.seen;
    expect(request).toMatchObject({ method: 'POST', path: '/token' });
    expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    const form = new URLSearchParams(String(request?.body));
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const { payload, protectedHeader } = await jwtVerify(form.get('assertion') ?? '', googleKey.publicKey, {
      currentDate: new Date(t.clock.now),
      audience: 'https://oauth2.googleapis.com/token',
      issuer: clientEmail,
    });
    expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'JWT', kid: '0a1b2c3d4e5f' });
    const iat = Math.floor(t.clock.now / 1_000);
    expect(payload).toMatchObject({
      scope: 'https://www.googleapis.com/auth/firebase.messaging',
      iat,
      exp: iat + 3_600,
    });
  });

  test('is fetched once for all waiting pushes, and used until five minutes before its end', async () => {
    const t = await setup();
    await Promise.all(Array.from({ length: 20 }, () => t.send()));
    t.clock.now += 54 * minuteMs;
    await t.send();
    expect(t.google.seen).toHaveLength(1);
    t.clock.now += 2 * minuteMs;
    await Promise.all(Array.from({ length: 20 }, () => t.send()));
    expect(t.google.seen).toHaveLength(2);
    expect(new Set(t.server.seen.map(bearerOf))).toEqual(new Set(['Bearer ya29.1', 'Bearer ya29.2']));
  });

  test('differs for each account', async () => {
    const t = await setup();
    await t.send();
    await t.send({}, { credential: fcmCredential({ private_key_id: 'ffff' }) });
    await t.send({}, { credential: fcmCredential({ client_email: 'other@shop-4711.iam.gserviceaccount.com' }) });
    expect(t.google.seen).toHaveLength(3);
  });

  test('R-62 is not given to a credential that only names the account and its key id, whose failures affect nothing else', async () => {
    const t = await setup();
    const forged = fcmCredential({ private_key: makeGoogleKey().pem });
    const isForged = async (request: Served): Promise<boolean> => {
      const assertion = new URLSearchParams(String(request.body)).get('assertion') ?? '';
      return jwtVerify(assertion, googleKey.publicKey, { currentDate: new Date(t.clock.now) }).then(
        () => false,
        () => true,
      );
    };
    t.google.handle = async (request) => {
      if (await isForged(request)) request.answer(400, {}, '{"error":"invalid_grant"}');
      else request.answer(200, {}, grant('ya29.owner'));
    };
    expect(await t.send({}, { credential: forged })).toMatchObject({ errorCode: 'auth_failed' });
    expect(await t.send()).toMatchObject({ kind: 'sent' });
    expect(await t.send({}, { credential: forged })).toMatchObject({ errorCode: 'auth_failed' });
    expect(t.server.seen).toHaveLength(1);
  });

  test('that cannot be renewed is used to its end', async () => {
    const t = await setup();
    await t.send();
    t.google.handle = (request) => request.answer(503);
    t.clock.now += 56 * minuteMs;
    expect(await t.send()).toMatchObject({ kind: 'sent' });
    t.clock.now += 5 * minuteMs;
    expect(await t.send()).toMatchObject({ errorCode: 'provider_unavailable' });
  });

  test('R-100 is as old as its request: during which the host slept for two hours, it serves no push', async () => {
    const t = await setup();
    t.google.handle = (request) => {
      const isFirst = t.google.seen.length === 1;
      if (isFirst) t.clock.now += 120 * minuteMs;
      request.answer(200, {}, grant(isFirst ? 'ya29.old' : 'ya29.new'));
    };
    await t.send();
    expect(await t.send()).toMatchObject({ kind: 'sent' });
    expect(t.server.seen.map(bearerOf)).toEqual(['Bearer ya29.new']);
  });

  test('R-100 is not asked for while the clock is in doubt, which says nothing of Google', async () => {
    const t = await setup();
    t.clock.isDoubted = true;
    expect(await t.send()).toMatchObject({ errorCode: 'provider_unavailable', retryable: true });
    expect(t.google.seen).toHaveLength(0);
    t.clock.isDoubted = false;
    expect(await t.send()).toMatchObject({ kind: 'sent' });
  });

  test('that FCM refuses is replaced once for all pushes together', async () => {
    const t = await setup();
    t.server.handle = (request) => (bearerOf(request) === 'Bearer ya29.1' ? unauthenticated(request) : accept(request));
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => t.send()));
    expect(outcomes.every(({ kind }) => kind === 'sent')).toBe(true);
    expect(t.google.seen).toHaveLength(2);
  });

  test('that FCM refuses: the limits are checked again before the repeat', async () => {
    const t = await setup();
    t.server.handle = (request) => (bearerOf(request) === 'Bearer ya29.1' ? unauthenticated(request) : accept(request));
    const seen: number[] = [];
    expect(await t.send({}, { again: async () => void seen.push(t.server.seen.length) })).toMatchObject({
      kind: 'sent',
    });
    expect(seen).toEqual([1]);
  });

  test('that FCM refuses again gives auth_failed, without an exchange per push', async () => {
    const t = await setup();
    t.server.handle = unauthenticated;
    for (let i = 0; i < 5; i += 1) {
      expect(await t.send()).toMatchObject({ errorCode: 'auth_failed', retryable: false });
    }
    expect(t.google.seen).toHaveLength(2);
    t.clock.now += minuteMs;
    await t.send();
    expect(t.google.seen).toHaveLength(3);
  });

  test("is not replaced when the refused key is a third party's", async () => {
    const t = await setup();
    const details = [
      { '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode: 'THIRD_PARTY_AUTH_ERROR' },
    ];
    t.server.handle = (request) =>
      request.answer(401, {}, JSON.stringify({ error: { code: 401, status: 'UNAUTHENTICATED', details } }));
    expect(await t.send()).toMatchObject({ errorCode: 'auth_failed' });
    expect([t.server.seen.length, t.google.seen.length]).toEqual([1, 1]);
  });
});

describe('without an access token', () => {
  test.each([
    [400, '{"error":"invalid_grant","error_description":"Invalid JWT Signature."}', 'auth_failed', false],
    [401, '{"error":"invalid_client"}', 'auth_failed', false],
    [401, '{"error":"unauthorized_client"}', 'auth_failed', false],
    [404, '<html>', 'auth_failed', false],
    [429, null, 'rate_limited', true],
    [500, '{"error":"internal_failure"}', 'provider_unavailable', true],
    [503, '<html>', 'provider_unavailable', true],
    [200, '{}', 'provider_unavailable', true],
    [200, '{"access_token":"a\\r\\nx: y","expires_in":3599}', 'provider_unavailable', true],
    [200, '{"access_token":"ya29.endless"}', 'provider_unavailable', true],
    [200, '{"access_token":"ya29.words","expires_in":"3599"}', 'provider_unavailable', true],
    [200, '{"access_token":"ya29.short","expires_in":0.5}', 'provider_unavailable', true],
  ])('%i %j: %s, and nothing is sent', async (status, body, errorCode, retryable) => {
    const t = await setup();
    t.google.handle = (request) => request.answer(status, {}, body ?? '');
    expect(await t.send()).toMatchObject({ kind: 'refused', errorCode, retryable, provider: { httpStatus: status } });
    expect(t.server.connections).toBe(0);
  });

  test("R-14 the reason is Google's, or the title of a proxy's page, and is read from the timeline again", async () => {
    for (const [body, reason] of [
      [
        '{"error":"invalid_grant","error_description":"Invalid JWT Signature."}',
        'invalid_grant: Invalid JWT Signature.',
      ],
      [
        '<html><head><TITLE class="t">407 Proxy Authentication Required</TITLE></head></html>',
        '407 Proxy Authentication Required',
      ],
      ['no healthy upstream', 'no healthy upstream'],
      ['{"error":{"status":"PERMISSION_DENIED","message":"IAM"}}', 'PERMISSION_DENIED: IAM'],
    ] as const) {
      const t = await setup();
      t.google.handle = (request) => request.answer(403, {}, body);
      const outcome = await t.send();
      expect(outcome).toMatchObject({ errorCode: 'auth_failed', reason });
      expect(outcome.provider && toldReason(outcome.provider)).toBe(reason);
    }
  });

  test('a failure is remembered for 30 to 60 seconds: no exchange per push', async () => {
    const t = await setup();
    t.google.handle = (request) => request.answer(400, {}, '{"error":"invalid_grant"}');
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => t.send()));
    expect(new Set(outcomes.map((outcome) => outcome.kind === 'refused' && outcome.reason))).toEqual(
      new Set(['invalid_grant']),
    );
    t.clock.now += 44_000;
    await t.send();
    expect(t.google.seen).toHaveLength(1);
    t.google.handle = (request) => request.answer(200, {}, grant('ya29.good'));
    t.clock.now += 2_000;
    expect(await t.send()).toMatchObject({ kind: 'sent' });
    expect(t.google.seen).toHaveLength(2);
  });

  test('a temporary failure says when to try again, so that the whole lane waits', async () => {
    const t = await setup();
    t.google.handle = (request) => request.answer(503);
    expect(await t.send()).toMatchObject({ retryAfterMs: 45_000 });
    t.clock.now += 15_000;
    expect(await t.send()).toMatchObject({ retryAfterMs: 30_000 });
  });

  test("Google's own Retry-After is kept", async () => {
    const t = await setup();
    t.google.handle = (request) => request.answer(429, { 'retry-after': '120' });
    expect(await t.send()).toMatchObject({ errorCode: 'rate_limited', retryAfterMs: 120_000 });
    t.clock.now += 119_000;
    await t.send();
    expect(t.google.seen).toHaveLength(1);
  });

  test('an unreachable token endpoint is not a timeout, because no push was in flight', async () => {
    const t = await setup();
    await t.google.close();
    expect(await t.send()).toMatchObject({
      errorCode: 'provider_unavailable',
      retryable: true,
      provider: { httpStatus: null, transportError: 'connect_error' },
    });
  });

  test('R-44 a successful answer is never shown, because it may contain a token', async () => {
    const t = await setup();
    t.google.handle = (request) => request.answer(200, {}, '{"accessToken":"ya29.secret"}');
    expect(JSON.stringify(await t.send())).not.toContain('ya29.secret');
  });
});
