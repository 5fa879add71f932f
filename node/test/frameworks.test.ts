// Runs the published examples unchanged: each framework must pass on the bytes that were signed.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { fastify } from 'fastify';
import { afterAll, describe, expect, it } from 'vitest';
import { addCarillonWebhook } from '../examples/express.ts';
import { carillonWebhook as fastifyWebhook } from '../examples/fastify.ts';
import { carillonWebhook as honoWebhook } from '../examples/hono.ts';
import { carillonWebhook as nextWebhook } from '../examples/next.ts';
import { signWebhook } from '../src/verify-webhook.ts';
import type { WebhookEvent } from '../src/webhook-event.ts';
import { vectors } from './vectors.ts';

const secret = vectors.webhook.secrets.new;
const handled: WebhookEvent[] = [];
const handle = async (event: WebhookEvent): Promise<void> => {
  if (event.data.message_id === 'msg_fails') throw new Error('the shop is closed');
  handled.push(event);
};

type Post = (path: string, body: string, headers: Record<string, string>) => Promise<Response>;

function postTo(base: string): Post {
  return (path, body, headers) => fetch(base + path, { method: 'POST', body, headers });
}

async function startFastify(): Promise<Post> {
  const app = fastify();
  // The site has other routes, which must still be parsed.
  app.post('/other', async (request) => request.body);
  await app.register(fastifyWebhook, { secret, handle });
  afterAll(() => app.close());
  return postTo(await app.listen({ host: '127.0.0.1', port: 0 }));
}

async function startExpress(): Promise<Post> {
  const app = express();
  // In `test` Express does not print errors; one of these tests causes one.
  app.set('env', 'test');
  addCarillonWebhook(app, secret, handle);
  app.use(express.json());
  app.post('/other', (request, response) => void response.json(request.body));
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => new Promise((resolve) => server.close(resolve)));
  return postTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

function startHono(): Post {
  const app = honoWebhook(secret, handle);
  // The handler answers the error instead of printing it.
  app.onError((_error, context) => context.body(null, 500));
  app.post('/other', async (context) => context.json(await context.req.json()));
  return async (path, body, headers) => app.request(path, { method: 'POST', body, headers });
}

function startNext(): Post {
  const routes: Record<string, (request: Request) => Promise<Response>> = {
    '/hooks/carillon': nextWebhook(secret, handle),
    '/other': async (request) => Response.json(await request.json()),
  };
  return async (path, body, headers) => {
    const request = new Request(`http://localhost${path}`, { method: 'POST', body, headers });
    const answer = await routes[path]?.(request).catch(() => new Response(null, { status: 500 }));
    return answer ?? new Response(null, { status: 404 });
  };
}

const servers: readonly (readonly [string, Post])[] = [
  ['Fastify', await startFastify()],
  ['Express', await startExpress()],
  ['Hono', startHono()],
  ['Next.js', startNext()],
];

describe.each(servers)('the example for %s', (_name, post) => {
  const deliver = (body: string, signature: string): Promise<Response> =>
    post('/hooks/carillon', body, { 'content-type': 'application/json', 'service-signature': signature });

  it.each(vectors.webhook.valid.filter(({ secrets }) => secrets.includes(secret)))(
    'handles $name',
    async ({ body }) => {
      handled.length = 0;
      const answer = await deliver(body, signWebhook(body, secret));
      expect(answer.status).toBe(204);
      expect(handled).toEqual([JSON.parse(body)]);
    },
  );

  it('verifies the bytes and not their meaning: white space and the order of keys count', async () => {
    handled.length = 0;
    const body = '{ "data": { "n":1.0,"error_code": null },\n "event":"message.sent" }';
    expect((await deliver(body, signWebhook(body, secret))).status).toBe(204);
    const again = JSON.stringify(JSON.parse(body));
    expect((await deliver(again, signWebhook(body, secret))).status).toBe(401);
    expect(handled).toHaveLength(1);
  });

  it('answers 401 and handles nothing without a signature, with an old one, and with another secret', async () => {
    handled.length = 0;
    const [{ body }] = vectors.webhook.valid;
    const wrong = [signWebhook(body, secret, { nowMs: 0 }), signWebhook(body, `${secret}x`), 't=1,v1=', ''];
    for (const signature of wrong) expect((await deliver(body, signature)).status).toBe(401);
    expect((await post('/hooks/carillon', body, { 'content-type': 'application/json' })).status).toBe(401);
    expect((await deliver('', signWebhook(body, secret))).status).toBe(401);
    expect(handled).toEqual([]);
  });

  it('does not acknowledge an event that its handler failed on, so that it is sent again', async () => {
    const body = '{"event":"message.sent","data":{"message_id":"msg_fails"}}';
    expect((await deliver(body, signWebhook(body, secret))).status).toBe(500);
  });

  it('leaves other routes as they are', async () => {
    const answer = await post('/other', '{"a":1}', { 'content-type': 'application/json' });
    expect(await answer.json()).toEqual({ a: 1 });
  });
});
