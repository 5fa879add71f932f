// Every documented error of APNs, FCM and Google's token endpoint can be scripted, and every wire
// fault acts on the phones' providers as documented.
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { apnsReasons } from '../src/apns-answers.ts';
import { fcmErrorNames, oauthErrorNames } from '../src/fcm-answers.ts';
import {
  alertPayload,
  apnsRequest,
  assertion,
  Connection,
  errorOf,
  projectId,
  startApns,
  startFcm,
} from './phone-setup.ts';
import { control, start } from './setup.ts';

test.each(apnsReasons)('APNs answers %s for phones with the scripted token prefix', async (reason) => {
  const t = await startApns({}, { token_prefix: 'dead' });
  const [other = ''] = t.sandbox.install({ platform: 'ios' });
  t.sandbox.addFault({ match: { token_prefix: 'dead' }, action: { type: 'error', reason, retry_after: 7 } });
  const answer = await t.push();
  expect(JSON.parse(answer.body)).toMatchObject({ reason });
  expect('timestamp' in JSON.parse(answer.body)).toBe(answer.status === 410);
  expect(answer.headers['retry-after']).toBe('7');
  expect(answer.headers['apns-id']).toBeDefined();
  expect((await t.push({ ':path': `/3/device/${other}` })).status).toBe(200);
});

test.each(fcmErrorNames)('FCM answers %s with its status, its details and the time to wait', async (reason) => {
  const t = await startFcm();
  const token = await t.accessToken();
  t.sandbox.addFault({ match: { nth: 1 }, action: { type: 'error', reason, retry_after: 30 } });
  const answer = await t.send(token, t.message());
  const { error } = JSON.parse(answer.body);
  expect(error.code).toBe(answer.status);
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(answer.headers['retry-after']).toBe('30');
  for (const detail of error.details ?? []) expect(detail['@type']).toMatch(/^type\.googleapis\.com\/google\./);
  expect((await t.send(token, t.message())).status).toBe(200);
});

test.each(oauthErrorNames)('the token endpoint answers %s, and messages still succeed', async (reason) => {
  const t = await startFcm();
  const token = await t.accessToken();
  t.sandbox.addFault({ action: { type: 'error', reason } });
  const answer = await t.ask(assertion(t.file));
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(JSON.parse(answer.body).error).toBe(reason);
  expect((await t.send(token, t.message())).status).toBe(200);
});

test.each([
  [{ action: { type: 'error', reason: 'NoSuchReason' } }, /action\.reason/],
  [{ match: { vendor: 'fcm_v1' }, action: { type: 'error', reason: 'Unregistered' } }, /an error of apns/],
  [{ action: { type: 'settings' } }, /streams/],
  [{ action: { type: 'idle', idle_ms: 0 } }, /idle_ms/],
])('the rule %j is refused with a reason', async (rule, message) => {
  const answer = await control(await start(), 'POST', '/faults', rule);
  expect([answer.status, answer.body.error]).toEqual([400, expect.stringMatching(message)]);
});

test('a script is returned as it was written', async () => {
  const sandbox = await start();
  const faults = [
    { id: 'a', match: { vendor: 'apns' }, action: { type: 'error', reason: 'Shutdown', retry_after: null } },
    { id: 'b', match: { vendor: 'fcm_v1' }, action: { type: 'settings', streams: 3 } },
    { id: 'c', match: { vendor: 'google_oauth' }, action: { type: 'idle', idle_ms: 5 } },
  ];
  const put = await control(sandbox, 'PUT', '/faults', { faults });
  expect(put.body.faults).toMatchObject(faults);
  expect((await control(sandbox, 'PUT', '/faults', put.body)).body).toEqual(put.body);
});

describe.each([
  ['APNs', '{"reason":"Shutdown"}', '{"reason":"IdleTimeout"}'],
  ['FCM', '', 'session_timed_out'],
])('at %s', (provider, shutdown, idle) => {
  async function setup(action: object, match: object = { nth: 2 }) {
    const vendor = provider === 'APNs' ? 'apns' : 'fcm_v1';
    if (vendor === 'apns') {
      const t = await startApns();
      const send = (): Promise<{ status: number; body: string }> => t.push();
      await send();
      t.sandbox.addFault({ match: { vendor, ...match }, action });
      return { sandbox: t.sandbox, connection: t.connection, send };
    }
    const t = await startFcm();
    const token = await t.accessToken();
    const send = (): Promise<{ status: number; body: string }> => t.send(token, t.message());
    await send();
    t.sandbox.addFault({ match: { vendor, ...match }, action });
    return { sandbox: t.sandbox, connection: t.connection, send };
  }

  test('a GOAWAY amid streams gives its reason, and only streams above its last id get no answer', async () => {
    const t = await setup({ type: 'goaway' }, { nth: 5 });
    const goaway = once(t.connection.session, 'goaway');
    const results = await Promise.allSettled(Array.from({ length: 12 }, () => t.send()));
    const [code, , debug] = await goaway;
    expect([code, Buffer.from(debug ?? '').toString()]).toEqual([0, shutdown]);
    const answered = results.filter(({ status }) => status === 'fulfilled').length;
    expect(answered).toBeGreaterThanOrEqual(4);
    expect(answered).toBeLessThan(12);
    expect(t.sandbox.log.counters().delivered).toBe(answered + 1);
  });

  test('a reset ends the stream with its code, and the device may have got the push', async () => {
    const t = await setup({ type: 'reset', code: 'REFUSED_STREAM' }, { nth: 1 });
    await expect(t.send()).rejects.toThrow(/code 7|REFUSED_STREAM/);
    expect(t.sandbox.log.requests.at(-1)).toMatchObject({ answer: null, isDelivered: false });
    const lost = await setup({ type: 'reset', code: 'INTERNAL_ERROR', delivers: true }, { nth: 1 });
    await expect(lost.send()).rejects.toThrow();
    expect(lost.sandbox.log.requests.at(-1)).toMatchObject({ answer: null, isDelivered: true });
  });

  test('requests on a connection that is cut get no answer and reach no phone', async () => {
    const t = await setup({ type: 'close' }, { nth: 1 });
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => t.send()));
    expect(results.filter(({ status }) => status === 'fulfilled')).toEqual([]);
    expect(t.sandbox.log.counters()).toMatchObject({ delivered: 1, unanswered: 1, requests: 2 });
  });

  test('a hang gets no answer, and its connection goes on', async () => {
    const t = await setup({ type: 'hang' }, { nth: 1 });
    const hanging = t.send();
    expect((await t.send()).status).toBe(200);
    t.sandbox.dropConnections();
    await expect(hanging).rejects.toThrow();
  });

  test('a slow answer is the real one', async () => {
    const t = await setup({ type: 'slow', delay_ms: 30 }, { nth: 1 });
    expect((await t.send()).status).toBe(200);
  });

  test('SETTINGS allow fewer streams, and the answer is sent', async () => {
    const t = await setup({ type: 'settings', streams: 2 }, { nth: 1 });
    const shrunk = once(t.connection.session, 'remoteSettings');
    expect((await t.send()).status).toBe(200);
    const [settings] = await shrunk;
    expect(settings.maxConcurrentStreams).toBe(2);
    expect((await t.send()).status).toBe(200);
    expect(t.connection.session.remoteSettings.maxConcurrentStreams).toBe(2);
  });

  test('an idle connection is closed with its GOAWAY, after the answer', async () => {
    const t = await setup({ type: 'idle', idle_ms: 20 }, { nth: 1 });
    const goaway = once(t.connection.session, 'goaway');
    const closed = once(t.connection.session, 'close');
    expect((await t.send()).status).toBe(200);
    const [code, , debug] = await goaway;
    expect([code, Buffer.from(debug ?? '').toString()]).toEqual([0, idle]);
    await closed;
  });

  test('429 says when to try again, and rubbish is no JSON', async () => {
    const t = await setup({ type: 'status', status: 429, retry_after: 3 }, { nth: 1 });
    expect(await t.send()).toMatchObject({ status: 429, headers: { 'retry-after': '3' } });
    const rubbish = await setup({ type: 'rubbish', kind: 'truncated_json', status: 503 }, { nth: 1 });
    const answer = await rubbish.send();
    expect(answer.status).toBe(503);
    expect(() => JSON.parse(answer.body)).toThrow();
  });
});

test('a second stream on a connection to APNs without a token is refused and not processed', async () => {
  const t = await startApns();
  const connection = new Connection(t.sandbox, t.sandbox.phoneUrls.apns);
  t.sandbox.addFault({ match: { nth: 1 }, action: { type: 'hang' } });
  const sends = Array.from({ length: 3 }, () =>
    connection.request(apnsRequest(t.phone, t.token, { authorization: undefined }), JSON.stringify(alertPayload)),
  );
  const settled = Promise.allSettled(sends);
  await expect(Promise.any([sends[1], sends[2]])).rejects.toMatchObject({
    errors: [expect.objectContaining({ message: expect.stringMatching(/7|REFUSED/) }), expect.anything()],
  });
  expect(t.sandbox.log.counters().requests).toBeLessThanOrEqual(1);
  t.sandbox.dropConnections();
  await settled;
});

test('blind acceptance answers phones without reading, and still issues access tokens', async () => {
  const sandbox = await start({ accept: 'blind' });
  const apns = new Connection(sandbox, sandbox.phoneUrls.apns);
  const answers = await Promise.all([1, 2, 3].map(() => apns.request(apnsRequest('abcd', 'x'), '?')));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  const file = sandbox.createServiceAccount();
  const fcm = new Connection(sandbox, sandbox.phoneUrls.fcm);
  const sent = await fcm.request({ ':method': 'POST', ':path': `/v1/projects/${projectId}/messages:send` }, '?');
  expect(JSON.parse(sent.body).name).toContain(`projects/${projectId}/messages/`);
  const token = await fcm.request({ ':method': 'POST', ':path': '/token' }, assertion(file));
  expect(JSON.parse(token.body).token_type).toBe('Bearer');
});

test('a scripted status is answered with its usual words', async () => {
  const t = await startFcm();
  const token = await t.accessToken();
  t.sandbox.addFault({ match: { nth: 1 }, action: { type: 'status', status: 404 } });
  expect(errorOf(await t.send(token, t.message()))).toMatchObject({ code: 'UNREGISTERED' });
  const apns = await startApns();
  apns.sandbox.addFault({ match: { nth: 1 }, action: { type: 'status', status: 410 } });
  expect(JSON.parse((await apns.push()).body)).toEqual({ reason: 'Unregistered', timestamp: expect.any(Number) });
});
