import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Sandbox } from '../src/sandbox.ts';
import { ApplicationServer, browser, Client, control, start } from './setup.ts';

const server = new ApplicationServer();
const receiptToken = 'AQGS86R7bE1ej5AaKzxNXm-fjn1sW0o5KBcG9eTTwrGgABEiM0RVZneImaq7zN3u_5iN-uWC-pFKDKtNztO8AqE';

/** A payload of Carillon, by its contract. */
function carillonPayload(overrides: Record<string, unknown> = {}): string {
  return JSON.stringify({
    web_push: 8030,
    notification: {
      title: 'Your order is on its way',
      body: 'It arrives today.',
      navigate: 'https://shop.example/orders/17',
      tag: 'msg_1',
      actions: [{ action: 'track', title: 'Track', navigate: 'https://shop.example/track/17' }],
      data: { carillon_message_id: 'msg_1', carillon_token: receiptToken, url: 'https://shop.example/orders/17' },
      ...overrides,
    },
  });
}

/** Plays Carillon: keeps the receipts that it gets. */
async function receiver(status = 200) {
  const told: { method: string; url: string; body: unknown }[] = [];
  const arrivals: (() => void)[] = [];
  const http = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      told.push({ method: request.method ?? '', url: request.url ?? '', body: body === '' ? null : JSON.parse(body) });
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"recorded":true}');
      for (const wake of arrivals.splice(0)) wake();
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    told,
    async until(count: number): Promise<void> {
      while (told.length < count) await new Promise<void>((resolve) => arrivals.push(resolve));
    },
  };
}

/** Reads the live feed. Each call waits for the next event of that name. */
async function feedOf(sandbox: Sandbox) {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const response = await fetch(`${sandbox.controlUrl}/events`, { signal: abort.signal });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  return async (name: string) => {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end >= 0) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        if (!block.includes(`event: ${name}\n`)) continue;
        return JSON.parse(block.slice(block.indexOf('data: ') + 6));
      }
      const chunk = await reader?.read();
      if (chunk?.value === undefined) throw new Error('the feed ended');
      text += chunk.value;
    }
  };
}

describe('the live feed', () => {
  test('shows an arrival as a person would see it, without polling', async () => {
    const sandbox = await start();
    const next = await feedOf(sandbox);
    expect((await next('hello')).counters.requests).toBe(0);
    await new Client(sandbox, 'h2').send(server, browser(sandbox, { vendor: 'fcm', vapid_key: server.publicKey }), {
      payload: carillonPayload(),
    });
    const { entries, counters } = await next('pushes');
    expect(counters).toMatchObject({ requests: 1, delivered: 1 });
    expect(entries).toMatchObject([
      {
        id: 1,
        state: 'shown',
        vendor: 'fcm',
        notification: {
          title: 'Your order is on its way',
          body: 'It arrives today.',
          url: 'https://shop.example/orders/17',
          tag: 'msg_1',
          actions: [{ action: 'track', title: 'Track' }],
          declarative: true,
        },
      },
    ]);
  });

  test('also reports refusals, faults and clearing', async () => {
    const sandbox = await start();
    const next = await feedOf(sandbox);
    const subscription = browser(sandbox, { vendor: 'fcm', vapid_key: server.publicKey });
    await new Client(sandbox, 'h2').send(server, subscription, { headers: { ttl: undefined } });
    expect((await next('pushes')).entries).toMatchObject([{ id: 1, state: 'unseen', answer: { status: 400 } }]);
    await control(sandbox, 'POST', '/faults', { id: 'f', action: { type: 'hang' } });
    expect((await next('faults')).faults).toMatchObject([{ id: 'f' }]);
    await control(sandbox, 'DELETE', '/log');
    await next('clear');
    expect((await control(sandbox, 'GET', '/inbox')).body.entries).toEqual([]);
  });
});

describe('an action of the person', () => {
  test('is reported as a service worker reports it: displayed at once, clicked with its action', async () => {
    const carillon = await receiver();
    const sandbox = await start({ receiptsUrl: carillon.url });
    await new Client(sandbox, 'h2').send(server, browser(sandbox, { vendor: 'fcm', vapid_key: server.publicKey }), {
      payload: carillonPayload(),
    });
    await carillon.until(1);
    const acted = await control(sandbox, 'POST', '/inbox/1/act', { event: 'clicked', action: 'track' });
    expect(carillon.told).toEqual([
      { method: 'POST', url: '/v1/receipts', body: { token: receiptToken, event: 'displayed' } },
      { method: 'POST', url: '/v1/receipts', body: { token: receiptToken, event: 'clicked', action: 'track' } },
    ]);
    expect(acted.body).toMatchObject({
      state: 'clicked',
      receipts: [
        { event: 'displayed', status: 200, detail: '{"recorded":true}' },
        { event: 'clicked', action: 'track', status: 200 },
      ],
    });
  });

  test('is on Safari a request to the link alone, because a declarative message runs no service worker', async () => {
    const carillon = await receiver();
    const sandbox = await start({ receiptsUrl: carillon.url });
    const client = new Client(sandbox, 'h2');
    const subscription = browser(sandbox, { vendor: 'apple', vapid_key: server.publicKey });
    await client.send(server, subscription, {
      payload: carillonPayload({ navigate: `${carillon.url}/v1/r/${receiptToken}` }),
    });
    await control(sandbox, 'POST', '/inbox/1/act', { event: 'dismissed' });
    await control(sandbox, 'POST', '/inbox/1/act', { event: 'clicked' });
    expect(carillon.told).toEqual([{ method: 'GET', url: `/v1/r/${receiptToken}`, body: null }]);
  });

  test('never makes the sandbox call an address that a sender chose', async () => {
    const carillon = await receiver();
    const stranger = await receiver();
    const sandbox = await start({ receiptsUrl: carillon.url });
    const subscription = browser(sandbox, { vendor: 'apple', vapid_key: server.publicKey });
    await new Client(sandbox, 'h2').send(server, subscription, {
      payload: carillonPayload({ navigate: `${stranger.url}/v1/r/${receiptToken}` }),
    });
    await control(sandbox, 'POST', '/inbox/1/act', { event: 'clicked' });
    expect([carillon.told, stranger.told]).toEqual([[], []]);
  });

  test('is recorded with the answer when the receipt was refused', async () => {
    const carillon = await receiver(404);
    const sandbox = await start({ receiptsUrl: carillon.url });
    await new Client(sandbox, 'h2').send(server, browser(sandbox, { vapid_key: server.publicKey }), {
      payload: carillonPayload(),
    });
    const { body } = await control(sandbox, 'POST', '/inbox/1/act', { event: 'dismissed' });
    expect(body.state).toBe('dismissed');
    expect(body.receipts).toContainEqual(expect.objectContaining({ event: 'dismissed', status: 404 }));
  });

  test('changes nothing for a push that nobody saw, and needs a valid event', async () => {
    const sandbox = await start();
    await new Client(sandbox, 'h2').send(server, browser(sandbox, { vapid_key: server.publicKey }), {
      headers: { ttl: undefined },
    });
    expect((await control(sandbox, 'POST', '/inbox/1/act', { event: 'clicked' })).body.state).toBe('unseen');
    expect((await control(sandbox, 'POST', '/inbox/1/act', { event: 'eaten' })).status).toBe(400);
    expect((await control(sandbox, 'POST', '/inbox/9/act', { event: 'clicked' })).status).toBe(404);
  });
});

test('a notification replaces the one with the same tag in the same browser, and no other', async () => {
  const sandbox = await start();
  const client = new Client(sandbox, 'h2');
  const one = browser(sandbox, { vapid_key: server.publicKey });
  const two = browser(sandbox, { vapid_key: server.publicKey });
  await client.send(server, one, { payload: carillonPayload() });
  await client.send(server, two, { payload: carillonPayload() });
  await client.send(server, one, { payload: carillonPayload() });
  await client.send(server, one, { payload: carillonPayload({ tag: 'msg_2' }) });
  const { body } = await control(sandbox, 'GET', '/inbox');
  expect(body.entries.map(({ id, state }: { id: number; state: string }) => [id, state])).toEqual([
    [4, 'shown'],
    [3, 'shown'],
    [2, 'shown'],
    [1, 'replaced'],
  ]);
});

describe('the page', () => {
  test('has every file that it names, and a policy that runs only its own scripts', async () => {
    const sandbox = await start();
    const page = await fetch(sandbox.controlUrl);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toContain('unsafe');
    const html = await page.text();
    const files = new Set([...html.matchAll(/(?:src|href)="\/([^"#]+)"/g)].map(([, name]) => name ?? ''));
    for (const file of files) {
      const response = await fetch(`${sandbox.controlUrl}/${file}`);
      expect([file, response.status]).toEqual([file, 200]);
      const text = await response.text();
      for (const [, name] of text.matchAll(/from '\.\/([^']+)'/g)) files.add(name ?? '');
      expect(text).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write/);
    }
    expect(files.size).toBeGreaterThan(3);
    expect(html).not.toMatch(/<script>|style="|https?:\/\/(?!www\.w3\.org)/);
  });
});
