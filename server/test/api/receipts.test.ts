import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeId, mintUuid, uuidToBytes } from '../../src/ground/values/ids.ts';
import { openReceiptToken, receiptTokensOf } from '../../src/sending/delivery/receipt-token.ts';
import { recordReceipt } from '../../src/sending/receipts/record-receipt.ts';
import { formerReceiptToken, newestReceiptTokenOf, receiptTokenOf } from '../receipt-tokens.ts';
import { setup } from '../setup.ts';

const t = await setup();

async function send(content: object = { title: 'Sale', url: 'https://shop.example/sale' }, fields: object = {}) {
  const device = await t.registerDevice({ token: t.pushSubscription(), ...fields });
  const { body } = await t.server.post('/v1/messages', { audience: { device_ids: [device] }, content });
  return { message: body.id as string, device, token: await receiptTokenOf(t, body.id, device) };
}

const receipt = (body: object) => t.request('POST', '/v1/receipts', { body });
const deliveryOf = async (message: string) => (await t.server.get(`/v1/messages/${message}/deliveries`)).body.data[0];

describe('POST /v1/receipts', () => {
  it('sets each mark once, needs no key, and no mark implies another', async () => {
    const { message, token } = await send();
    expect(await receipt({ token, event: 'clicked', action: 'open' })).toMatchObject({
      status: 200,
      body: { recorded: true },
    });
    expect(await receipt({ token, event: 'clicked', action: 'other' })).toMatchObject({
      status: 200,
      body: { recorded: false },
    });
    expect(await receipt({ token, event: 'dismissed' })).toMatchObject({ body: { recorded: true } });
    const delivery = await deliveryOf(message);
    expect(delivery).toMatchObject({ status: 'sent', displayed_at: null, action: 'open' });
    expect(delivery.clicked_at).not.toBeNull();
    expect(delivery.timeline.map((entry: { type: string }) => entry.type)).toEqual([
      'queued',
      'attempt',
      'clicked',
      'dismissed',
    ]);
    const { body } = await t.server.get(`/v1/messages/${message}`);
    expect(body.engagement).toEqual({ displayed: 0, clicked: 1, dismissed: 1 });
  });

  it('R-49 100 concurrent clicks are one click', async () => {
    const { message, token } = await send();
    const answers = await Promise.all(Array.from({ length: 100 }, () => receipt({ token, event: 'clicked' })));
    expect(answers.filter(({ body }) => body.recorded === true)).toHaveLength(1);
    // For one token, 10 requests a second are accepted. The requests may fall into one second or
    // into two.
    for (const { status } of answers) expect([200, 429]).toContain(status);
    expect((await t.server.get(`/v1/messages/${message}`)).body.engagement.clicked).toBe(1);
  });

  it('R-49 100 clicks within the limit of a token are also one, as on many processes', async () => {
    const { message, token } = await send();
    const subject = openReceiptToken([t.receiptKey], token);
    if (!subject) throw new Error('the token does not open');
    const recorded = await Promise.all(
      Array.from({ length: 100 }, () =>
        recordReceipt({ ...t, ledger: t.service.run.ledger, outbox: t.service.run.outbox }, subject, 'clicked', null),
      ),
    );
    expect(recorded.filter((isNew) => isNew === true)).toHaveLength(1);
    expect(recorded.filter((isNew) => isNew === false)).toHaveLength(99);
    expect((await t.server.get(`/v1/messages/${message}`)).body.engagement.clicked).toBe(1);
  });

  it('R-49 a receipt from before the commit of its outcome is kept and applied', async () => {
    let release: (() => void) | undefined;
    const sent = new Promise<void>((resolve) => {
      t.push.script('early', (_request, response) => {
        release = () => {
          response.writeHead(201, { location: 'https://push.test.example/m/early-1' });
          response.end();
        };
        resolve();
      });
    });
    const device = await t.registerDevice({ token: t.pushSubscription('early') });
    const answer = t.server.post('/v1/messages', { audience: { device_ids: [device] }, content: { title: 'Early' } });
    await sent;
    const token = await newestReceiptTokenOf(t, device);
    expect(await receipt({ token, event: 'displayed' })).toMatchObject({ status: 200, body: { recorded: true } });
    expect(await receipt({ token, event: 'displayed' })).toMatchObject({ status: 200, body: { recorded: false } });
    release?.();
    const { body } = await answer;
    expect((await deliveryOf(body.id)).displayed_at).not.toBeNull();
    expect((await t.server.get(`/v1/messages/${body.id}`)).body.engagement.displayed).toBe(1);
    expect(await t.sql`SELECT 1 FROM early_receipts`).toHaveLength(0);
  });

  it('accepts text/plain, which a service worker sends without a preflight, from any origin', async () => {
    const { token } = await send();
    const raw = JSON.stringify({ token, event: 'displayed' });
    const answer = await t.request('POST', '/v1/receipts', {
      raw,
      headers: { 'content-type': 'text/plain;charset=UTF-8', origin: 'https://shop.example' },
    });
    expect(answer).toMatchObject({ status: 200, body: { recorded: true } });
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
  });

  it.each<[string, object, unknown[]]>([
    ['an unknown event', { token: 'x', event: 'opened' }, ['event']],
    ['no token', { event: 'clicked' }, ['token']],
    ['an action that was not clicked', { token: 'x', event: 'displayed', action: 'a' }, ['action']],
    ['an action that is too long', { token: 'x', event: 'clicked', action: 'a'.repeat(65) }, ['action']],
    ['an unknown field', { token: 'x', event: 'clicked', url: 'https://evil.example' }, ['url']],
  ])('400 for %s', async (_what, body, path) => {
    const answer = await receipt(body);
    expect(answer.status).toBe(400);
    expect(answer.body.issues[0].path).toEqual(path);
  });

  it('R-48 an altered, truncated, foreign or removed token is 404, and nothing is recorded', async () => {
    const { message, token } = await send();
    const elsewhere = receiptTokensOf(t.receiptKey, mintUuid())(0);
    for (const bad of [
      `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
      token.slice(1),
      `${token}A`,
      elsewhere,
      '',
    ]) {
      expect(await receipt({ token: bad, event: 'clicked' })).toMatchObject({
        status: 404,
        body: { error: 'not_found' },
      });
      expect(await t.request('GET', `/v1/r/${bad || 'x'}`)).toMatchObject({ status: 404 });
    }
    expect((await deliveryOf(message)).clicked_at).toBeNull();
    expect(openReceiptToken([t.receiptKey], token)).toBeDefined();
  });
});

describe('one click per message and device', () => {
  it('whether the service worker, the redirect or an app reports it, and however often (R-49)', async () => {
    const { message, device, token } = await send();
    const ways = [
      // The request of a service worker, without a preflight.
      () =>
        t.request('POST', '/v1/receipts', {
          raw: JSON.stringify({ token, event: 'clicked' }),
          headers: { 'content-type': 'text/plain;charset=UTF-8', origin: 'https://shop.example' },
        }),
      () => t.request('GET', `/v1/r/${token}`),
      () => receipt({ token, event: 'clicked', action: 'open' }),
    ];
    const answers = await Promise.all([...ways, ...ways, ...ways].map((way) => way()));
    expect(answers.filter(({ status }) => status === 302).map(({ headers }) => headers.get('location'))).toEqual(
      Array.from({ length: 3 }, () => 'https://shop.example/sale'),
    );
    const first = await deliveryOf(message);
    // At most one of the receipts was the first mark; a redirect may have been first.
    expect(answers.filter(({ body }) => body.recorded === true).length).toBeLessThanOrEqual(1);
    expect(first.timeline.filter(({ type }: { type: string }) => type === 'clicked')).toHaveLength(1);
    t.clock.advance(5_000);
    expect(await receipt({ token, event: 'clicked', action: 'later' })).toMatchObject({ body: { recorded: false } });
    expect(await deliveryOf(message)).toEqual(first);
    expect((await t.server.get(`/v1/messages/${message}`)).body.engagement).toMatchObject({ clicked: 1 });
    // Another device of the same message has a click of its own.
    const second = await t.registerDevice();
    const audience = { device_ids: [device, second] };
    const { body } = await t.server.post('/v1/messages', { audience, content: { title: 'Sale' } });
    for (const id of audience.device_ids)
      await receipt({ token: await receiptTokenOf(t, body.id, id), event: 'clicked' });
    expect((await t.server.get(`/v1/messages/${body.id}`)).body.engagement).toMatchObject({ clicked: 2 });
  });

  it('is told to a webhook once', async () => {
    const { message, token } = await send();
    await t.sql`
      INSERT INTO webhooks (app_id, id, endpoint, events, state, secret, created_at, disabled_at)
      VALUES (${t.app.id}, ${mintUuid()}, 'https://hooks.shop.example/', ARRAY['message.clicked'], 'disabled', 'x', now(), now())`;
    await Promise.all([
      ...Array.from({ length: 4 }, () => receipt({ token, event: 'clicked' })),
      ...Array.from({ length: 4 }, () => t.request('GET', `/v1/r/${token}`)),
    ]);
    await receipt({ token, event: 'displayed' });
    const events = await t.sql`SELECT kind FROM webhook_events WHERE message_id = ${decodeId('msg', message) ?? ''}`;
    expect(events.map(({ kind }) => kind)).toEqual([2]);
  });
});

describe('a token of version 1', () => {
  it('marks its delivery as long as messages from its time are kept, and is never minted any more', async () => {
    const { message, device, token } = await send();
    const [batch] = await t.sql<{ id: string }[]>`
      SELECT id FROM batches WHERE message_id = ${decodeId('msg', message) ?? ''}`;
    const former = formerReceiptToken(t.receiptKey, {
      messageId: decodeId('msg', message) ?? '',
      deviceId: decodeId('dev', device) ?? '',
      batchId: batch?.id ?? '',
    });
    expect([former.length, token.length]).toEqual([87, 47]);
    expect(await receipt({ token: former, event: 'displayed' })).toMatchObject({
      status: 200,
      body: { recorded: true },
    });
    expect(await receipt({ token, event: 'displayed' })).toMatchObject({ status: 200, body: { recorded: false } });
    const led = await t.request('GET', `/v1/r/${former}`);
    expect([led.status, led.headers.get('location')]).toEqual([302, 'https://shop.example/sale']);
    expect((await t.server.get(`/v1/messages/${message}`)).body.engagement).toMatchObject({ displayed: 1, clicked: 1 });
  });

  it('of a batch that an earlier release finished without its device ids still marks it', async () => {
    const { message, device } = await send();
    const messageId = decodeId('msg', message) ?? '';
    const [batch] = await t.sql<{ id: string }[]>`
      UPDATE batches SET device_ids = '{}' WHERE message_id = ${messageId} RETURNING id`;
    const deviceId = decodeId('dev', device) ?? '';
    const former = formerReceiptToken(t.receiptKey, { messageId, deviceId, batchId: batch?.id ?? '' });
    expect(await receipt({ token: former, event: 'clicked' })).toMatchObject({ status: 200, body: { recorded: true } });
  });
});

describe('R-47 a token reveals no device', () => {
  it('in a payload and in a click link: neither the public id nor its bytes', async () => {
    const { device, token } = await send();
    const id = uuidToBytes(decodeId('dev', device) ?? '');
    expect(Buffer.from(token, 'base64url').indexOf(id)).toBe(-1);
    expect(token).not.toContain(device);
    const [place] = await t.sql<{ place: number }[]>`
      SELECT array_position(device_ids, ${decodeId('dev', device) ?? ''}::uuid) - 1 AS place FROM batches
      WHERE ${decodeId('dev', device) ?? ''}::uuid = ANY(device_ids)`;
    expect(openReceiptToken([t.receiptKey], token)).toMatchObject(place ?? {});
  });
});

describe('R-48 forged and foreign tokens', () => {
  it('of another key, another batch or another place mark nothing and redirect nowhere', async () => {
    const [mine, theirs] = [await send(), await send()];
    const bytesOf = (token: string) => Buffer.from(token, 'base64url');
    const [a, b] = [bytesOf(mine.token), bytesOf(theirs.token)];
    // Byte ranges: the version, the batch, the place, and the signature over them.
    const swapped = [
      [1, 17],
      [19, 35],
    ].map(([from = 0, to = 0]) =>
      Buffer.concat([a.subarray(0, from), b.subarray(from, to), a.subarray(to)]).toString('base64url'),
    );
    const [batch] = await t.sql<{ id: string }[]>`
      SELECT id FROM batches WHERE message_id = ${decodeId('msg', mine.message) ?? ''}`;
    const batchId = batch?.id ?? '';
    const forged = [
      ...swapped,
      receiptTokensOf(randomBytes(32), batchId)(0),
      // Correctly signed, for a place that the batch does not have.
      ...[1, 999, 65_535].map(receiptTokensOf(t.receiptKey, batchId)),
      // Correctly signed in the form of earlier releases, for a device that was not in the
      // audience.
      formerReceiptToken(t.receiptKey, {
        messageId: decodeId('msg', mine.message) ?? '',
        deviceId: mintUuid(),
        batchId,
      }),
    ];
    for (const token of forged) {
      expect(token).not.toBe(mine.token);
      for (const event of ['displayed', 'clicked', 'dismissed']) {
        expect(await receipt({ token, event })).toMatchObject({ status: 404, body: { error: 'not_found' } });
      }
      expect((await t.request('GET', `/v1/r/${token}`)).status).toBe(404);
    }
    for (const { message } of [mine, theirs]) {
      expect(await deliveryOf(message)).toMatchObject({ displayed_at: null, clicked_at: null, dismissed_at: null });
      expect((await t.server.get(`/v1/messages/${message}`)).body.engagement).toEqual({
        displayed: 0,
        clicked: 0,
        dismissed: 0,
      });
    }
    expect(await t.sql`SELECT 1 FROM early_receipts`).toHaveLength(0);
  });
});

describe('GET /v1/r/{token}', () => {
  it('counts a click and redirects to the stored url, whatever else the request contains', async () => {
    const { message, token } = await send();
    const { status, headers } = await t.request('GET', `/v1/r/${token}?url=https://evil.example&to=x`);
    expect(status).toBe(302);
    expect(headers.get('location')).toBe('https://shop.example/sale');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect((await deliveryOf(message)).clicked_at).not.toBeNull();
  });

  it('redirects to the url as rendered for this person, in their language, and to that of an action', async () => {
    const content = {
      title: 'Sale',
      url: 'https://shop.example/sale?who={{external_id}}',
      locales: { de: { url: 'https://shop.example/de?who={{external_id}}' } },
      webpush: {
        actions: [
          { action: 'cart', title: 'Cart', url: 'https://shop.example/cart' },
          { action: 'later', title: 'Later' },
        ],
      },
    };
    const device = await t.registerDevice({ locale: 'de-AT' });
    await t.server.post('/v1/users', { external_id: 'ada & bob', device_id: device });
    const { body } = await t.server.post('/v1/messages', { audience: { device_ids: [device] }, content });
    const token = await receiptTokenOf(t, body.id, device);
    const locationOf = async (query: string) =>
      (await t.request('GET', `/v1/r/${token}${query}`)).headers.get('location');
    expect(await locationOf('')).toBe('https://shop.example/de?who=ada%20%26%20bob');
    expect(await locationOf('?a=cart')).toBe('https://shop.example/cart');
    expect((await t.request('GET', `/v1/r/${token}?a=unknown`)).status).toBe(404);
  });

  it('HEAD shows the target of a click, and counts none', async () => {
    const { message, token } = await send();
    const { status, headers } = await t.request('HEAD', `/v1/r/${token}`);
    expect([status, headers.get('location')]).toEqual([302, 'https://shop.example/sale']);
    expect((await deliveryOf(message)).clicked_at).toBeNull();
  });

  it('is 404 for a message without a url, and counts nothing', async () => {
    const { message, token } = await send({ title: 'No link' });
    expect((await t.request('GET', `/v1/r/${token}`)).status).toBe(404);
    expect((await deliveryOf(message)).clicked_at).toBeNull();
  });

  it('R-48 redirects to no other place, whatever a request contains beside the token', async () => {
    const content = {
      title: 'Sale',
      url: 'https://shop.example/sale',
      webpush: { actions: [{ action: 'cart', title: 'Cart', url: 'https://shop.example/cart' }] },
    };
    const { token } = await send(content);
    const evil = fc.constantFrom(
      ...[
        'https://evil.example',
        '//evil.example',
        'javascript:alert(1)',
        '\r\nLocation: https://evil.example',
        '%2e%2e',
      ],
    );
    const name = fc.constantFrom('url', 'to', 'next', 'redirect', 'a ', 'A', 'action', 'location', '__proto__');
    const action = fc.option(fc.oneof(fc.constant('cart'), evil, fc.string({ maxLength: 20 })), { nil: undefined });
    const asked = fc.record({ action, others: fc.array(fc.tuple(name, evil), { maxLength: 4 }), host: fc.boolean() });
    // A token allows only some requests a second, so the clock stands still except for the test's
    // own steps.
    t.clock.hold(t.clock.date());
    await fc.assert(
      fc.asyncProperty(asked, async ({ action: a, others, host }) => {
        t.clock.advance(150);
        const names = new Set<string>();
        const query = others.filter(([key]) => !names.has(key) && names.add(key));
        const text = new URLSearchParams([...query, ...(a === undefined ? [] : [['a', a] as [string, string]])]);
        const headers = host ? { 'x-forwarded-host': 'evil.example', referer: 'https://evil.example/' } : {};
        const answer = await t.request('HEAD', `/v1/r/${token}?${text}`, { headers });
        const target = a === undefined ? content.url : a === 'cart' ? 'https://shop.example/cart' : null;
        expect([answer.status, answer.headers.get('location')]).toEqual([target === null ? 404 : 302, target]);
      }),
      { numRuns: 500, seed: 20261122, endOnFailure: true },
    );
  });
});
