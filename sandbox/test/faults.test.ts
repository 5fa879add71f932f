// Each scripted fault does on the wire what its description says, over both protocols.
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { parseFaultRule } from '../src/fault-json.ts';
import { vendorNames, vendors } from '../src/vendors/vendors.ts';
import { ApplicationServer, bothProtocols, browser, Client, type Protocol, start } from './setup.ts';

const server = new ApplicationServer();

async function setup(protocol: Protocol, action: object, match: object = { nth: 1 }) {
  const sandbox = await start();
  const subscription = browser(sandbox, { vendor: 'mozilla', vapid_key: server.publicKey });
  const fault = sandbox.addFault({ match, action });
  const client = new Client(sandbox, protocol);
  return { sandbox, subscription, fault, client, send: () => client.send(server, subscription) };
}

describe('an error of a vendor by its name', () => {
  const all = vendorNames.flatMap((vendor) =>
    Object.entries(vendors[vendor].named).map(([reason, { status }]) => [vendor, reason, status] as const),
  );

  test.each(all)('of %s: %s is %i, in its words', async (vendor, reason, status) => {
    const sandbox = await start();
    const subscription = browser(sandbox, { vendor, vapid_key: server.publicKey });
    sandbox.addFault({ match: { vendor, nth: 1 }, action: { type: 'error', reason, retry_after: 7 } });
    const client = new Client(sandbox, 'http/1.1');
    const answer = await client.send(server, subscription);
    expect([answer.status, answer.headers['retry-after']]).toEqual([status, '7']);
    const { body, headers } = vendors[vendor].named[reason] ?? {};
    expect(answer.body).toBe(body);
    expect(answer.headers['x-wns-error-description']).toBe(headers?.['x-wns-error-description']);
    expect((await client.send(server, subscription)).status).toBe(201);
  });

  test('that two services of Apple have is of the one that the rule names, else of APNs', () => {
    const action = { type: 'error', reason: 'Unregistered' };
    const vendorOf = (match: object) => parseFaultRule({ match, action }, 'rule').match.vendor;
    expect([vendorOf({}), vendorOf({ vendor: 'apple' })]).toEqual(['apns', 'apple']);
    expect(() => vendorOf({ vendor: 'mozilla' })).toThrow(/an error of apns and apple/);
  });
});

describe.each(bothProtocols)('over %s', (protocol) => {
  test.each([
    [{ status: 410 }, { code: 410, errno: 106 }],
    [{ status: 404 }, { code: 404, errno: 102 }],
    [{ status: 413 }, { code: 413, errno: 104 }],
    [
      { status: 429, retry_after: 3 },
      { code: 429, errno: 201 },
    ],
    [{ status: 500 }, { code: 500, errno: 999 }],
    [
      { status: 503, retry_after: 'Sun, 22 Nov 2026 10:00:00 GMT' },
      { code: 503, errno: 201 },
    ],
  ])(
    'the status %j is answered in the words of the vendor, and the next request is unaffected',
    async (action, body) => {
      const t = await setup(protocol, { type: 'status', ...action });
      const answer = await t.send();
      expect(answer.status).toBe(action.status);
      expect(JSON.parse(answer.body)).toMatchObject(body);
      const comeBack = 'retry_after' in action ? String(action.retry_after) : undefined;
      expect(answer.headers['retry-after']).toBe(comeBack);
      expect(t.sandbox.log.requests[0]).toMatchObject({ fault: t.fault, isDelivered: false });
      expect((await t.send()).status).toBe(201);
      expect(t.sandbox.log.requests[1]).toMatchObject({ fault: null, isDelivered: true });
    },
  );

  test('an answer, even a success, may be scripted byte by byte', async () => {
    const t = await setup(protocol, { type: 'status', status: 201, headers: { 'X-Odd': '1' }, body: ' { }\r\n\t' });
    const answer = await t.send();
    expect(answer.status).toBe(201);
    expect(answer.body).toBe(' { }\r\n\t');
    expect(answer.headers['x-odd']).toBe('1');
    expect(answer.headers['location']).toMatch(/\/m\//);
    expect(t.sandbox.log.requests[0]).toMatchObject({ isDelivered: true });
  });

  test.each([false, true])(
    'a hang is never answered, and other requests are (delivered all the same: %s)',
    async (delivers) => {
      const t = await setup(protocol, { type: 'hang', delivers });
      let isSettled = false;
      const hanging = t.send().finally(() => {
        isSettled = true;
      });
      const failed = expect(hanging).rejects.toThrow();
      const record = await t.sandbox.log.waitFor((each) => each.fault === t.fault);
      expect(record).toMatchObject({ answer: null, isDelivered: delivers });
      // Over HTTP/1.1 the connection is in use, so another client sends.
      const other = protocol === 'h2' ? t.client : new Client(t.sandbox, protocol);
      expect((await other.send(server, t.subscription)).status).toBe(201);
      expect(isSettled).toBe(false);
      t.sandbox.dropConnections();
      await failed;
      expect(t.sandbox.log.counters()).toMatchObject({ unanswered: 1, accepted: 1 });
    },
  );

  test.each([0, 1])('a slow answer arrives completely (%i ms a byte)', async (byteMs) => {
    const sandbox = await start();
    const subscription = browser(sandbox, { vendor: 'mozilla', vapid_key: server.publicKey });
    sandbox.addFault({ action: { type: 'slow', delay_ms: 20, byte_ms: byteMs } });
    const answer = await new Client(sandbox, protocol).send(server, subscription, { headers: { ttl: undefined } });
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body)).toMatchObject({ errno: 111, message: 'the TTL header is missing' });
  });

  test('a reset ends the request and nothing else', async () => {
    const t = await setup(protocol, { type: 'reset', code: 'REFUSED_STREAM' });
    await expect(t.send()).rejects.toThrow(protocol === 'h2' ? /NGHTTP2_REFUSED_STREAM/ : /hang up|ECONNRESET/);
    expect((await t.send()).status).toBe(201);
    const { connections } = t.sandbox.log.counters();
    expect(connections).toEqual(protocol === 'h2' ? { h2: 1, http1: 0 } : { h2: 0, http1: 2 });
  });

  test('a connection closed instead of an answer fails the request; the next opens another', async () => {
    const t = await setup(protocol, { type: 'close', delivers: true });
    await expect(t.send()).rejects.toThrow();
    expect(t.sandbox.log.requests[0]).toMatchObject({ answer: null, isDelivered: true });
    expect((await t.send()).status).toBe(201);
    const { connections } = t.sandbox.log.counters();
    expect(connections.h2 + connections.http1).toBe(2);
  });

  test('a connection closed after an answer gives that answer first', async () => {
    const t = await setup(protocol, { type: 'close', after_answer: true });
    const ended = protocol === 'h2' ? once(t.client.session(), 'close') : Promise.resolve();
    const answer = await t.send();
    expect(answer.status).toBe(201);
    if (protocol === 'http/1.1') expect(answer.headers.connection).toBe('close');
    await ended;
    expect((await t.send()).status).toBe(201);
    const { connections } = t.sandbox.log.counters();
    expect(connections.h2 + connections.http1).toBe(2);
  });

  test.each([
    ['html', /^<html>/, 'text/html'],
    ['truncated_json', /^\{"code":502,[^}]*$/, 'application/json'],
  ])('rubbish of kind %s comes as an answer', async (kind, body, type) => {
    const t = await setup(protocol, { type: 'rubbish', kind });
    const answer = await t.send();
    expect(answer.status).toBe(502);
    expect(answer.headers['content-type']).toBe(type);
    expect(answer.body).toMatch(body);
  });

  test('rubbish may be a megabyte under any status', async () => {
    const t = await setup(protocol, { type: 'rubbish', kind: 'megabyte', status: 429 });
    const answer = await t.send();
    expect(answer.status).toBe(429);
    expect(answer.body.length).toBeGreaterThan(1 << 20);
  });
});

describe('GOAWAY', () => {
  test('names the last processed stream and carries its debug text; later streams are not answered', async () => {
    const t = await setup('h2', { type: 'goaway', code: 'ENHANCE_YOUR_CALM', debug: 'too_many_pings' }, { nth: 2 });
    const session = t.client.session();
    const goaway = once(session, 'goaway');
    expect((await t.send()).status).toBe(201);
    await expect(t.send()).rejects.toThrow();
    const [code, lastStreamId, debug] = await goaway;
    expect([code, lastStreamId, String(debug)]).toEqual([11, 1, 'too_many_pings']);
    expect(t.sandbox.log.requests[1]).toMatchObject({ answer: null, isDelivered: false });
    expect((await t.send()).status).toBe(201);
    expect(t.sandbox.log.counters().connections.h2).toBe(2);
  });

  test('may let the current request finish', async () => {
    const t = await setup('h2', { type: 'goaway', processed: true });
    const goaway = once(t.client.session(), 'goaway');
    expect((await t.send()).status).toBe(201);
    const [code, lastStreamId] = await goaway;
    expect([code, lastStreamId]).toEqual([0, 1]);
    expect((await t.send()).status).toBe(201);
    expect(t.sandbox.log.counters().connections.h2).toBe(2);
  });

  test('is Connection: close over HTTP/1.1', async () => {
    const t = await setup('http/1.1', { type: 'goaway', processed: true });
    expect((await t.send()).headers.connection).toBe('close');
    const lost = await setup('http/1.1', { type: 'goaway' });
    await expect(lost.send()).rejects.toThrow();
  });
});
