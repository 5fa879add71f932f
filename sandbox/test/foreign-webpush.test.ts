// The web-push library knows nothing of this package: the sandbox must accept and open what it
// sends.
import { Agent } from 'node:https';
import { describe, expect, onTestFinished, test } from 'vitest';
import webpush from 'web-push';
import { vendorNames, vendors } from '../src/vendors/vendors.ts';
import { start } from './setup.ts';

const vapid = webpush.generateVAPIDKeys();
const vapidDetails = { subject: 'mailto:push@example.com', ...vapid };

function agentFor(options: ConstructorParameters<typeof Agent>[0]): Agent {
  const agent = new Agent({ keepAlive: true, ...options });
  onTestFinished(() => agent.destroy());
  return agent;
}

describe.each(vendorNames)('the web-push library to a %s endpoint', (vendor) => {
  test('is accepted, decrypted and passes every check', async () => {
    const sandbox = await start();
    const [subscription] = sandbox.subscribe({ vendor, vapid_key: vapid.publicKey });
    const payload = JSON.stringify({ title: 'Grüße', body: 'Ihr Paket ist da 📦' });
    const result = await webpush.sendNotification({ ...subscription } as webpush.PushSubscription, payload, {
      vapidDetails,
      TTL: 60,
      urgency: 'high',
      topic: 'order-17',
      agent: agentFor({ ca: sandbox.certificate }),
    });
    expect(result.statusCode).toBe(201);
    expect(result.headers['location']).toMatch(/^https:\/\/localhost:/);
    expect(result.headers['ttl']).toBe('60');

    const [record] = sandbox.log.requests;
    expect(record?.checks.filter((check) => check.verdict === 'fail' || check.verdict === 'warn')).toEqual([]);
    expect(record).toMatchObject({ vendor, isDelivered: true, payload: { text: payload } });
    expect(record?.notification).toMatchObject({ title: 'Grüße', body: 'Ihr Paket ist da 📦' });
  });

  test("is accepted at the real host name too, when the client's connections are redirected here", async () => {
    const sandbox = await start();
    const [subscription] = sandbox.subscribe({ vendor, vapid_key: vapid.publicKey, hosts: 'vendor' });
    expect(new URL(subscription?.endpoint ?? '').host).toBe(vendors[vendor].host);
    const result = await webpush
      .sendNotification({ ...subscription } as webpush.PushSubscription, '{"title":"Hi"}', {
        vapidDetails,
        TTL: 60,
        agent: agentFor({
          ca: sandbox.certificate,
          port: sandbox.pushPort,
          lookup: (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
        }),
      })
      .catch((error: unknown) => error as webpush.WebPushError);
    expect(result.body).toBe('');
    expect(result.statusCode).toBe(201);
    expect(sandbox.log.requests[0]).toMatchObject({ isDelivered: true, endpoint: subscription?.endpoint });
  });

  test('is accepted without a payload', async () => {
    const sandbox = await start();
    const [subscription] = sandbox.subscribe({ vendor, vapid_key: vapid.publicKey });
    await webpush.sendNotification({ ...subscription } as webpush.PushSubscription, null, {
      vapidDetails,
      TTL: 60,
      agent: agentFor({ ca: sandbox.certificate }),
    });
    expect(sandbox.log.requests[0]).toMatchObject({ isDelivered: true, payload: null, notification: null });
  });
});

test.each(vendorNames)(
  'the web-push library understands the refusal of a %s endpoint, and its Retry-After',
  async (vendor) => {
    const sandbox = await start();
    const [subscription] = sandbox.subscribe({ vendor, vapid_key: vapid.publicKey });
    const agent = agentFor({ ca: sandbox.certificate });
    const refusal = async (keys = vapidDetails): Promise<webpush.WebPushError> => {
      const sent = webpush.sendNotification({ ...subscription } as webpush.PushSubscription, 'x', {
        vapidDetails: keys,
        TTL: 60,
        agent,
      });
      const error: unknown = await sent.then(
        () => null,
        (reason: unknown) => reason,
      );
      if (!(error instanceof webpush.WebPushError)) throw new Error('it was taken');
      expect(error.body).toBe(sandbox.log.requests.at(-1)?.answer?.body);
      return error;
    };
    const foreign = await refusal({ ...vapidDetails, ...webpush.generateVAPIDKeys() });
    expect([400, 401, 403]).toContain(foreign.statusCode);
    sandbox.addFault({ match: { times: 1 }, action: { type: 'status', status: 429, retry_after: 7 } });
    expect(await refusal()).toMatchObject({
      statusCode: 429,
      headers: { 'retry-after': '7' },
    });
    sandbox.unsubscribe(subscription?.endpoint.split(/[/=]/).at(-1) ?? '');
    expect([404, 410]).toContain((await refusal()).statusCode);
  },
);

test('the largest payload of 3,993 bytes is accepted, one byte more is refused', async () => {
  const sandbox = await start();
  const [subscription] = sandbox.subscribe({ vendor: 'mozilla', vapid_key: vapid.publicKey });
  const send = (bytes: number): Promise<webpush.SendResult> =>
    webpush.sendNotification({ ...subscription } as webpush.PushSubscription, 'x'.repeat(bytes), {
      vapidDetails,
      TTL: 60,
      agent: agentFor({ ca: sandbox.certificate }),
    });
  expect((await send(3993)).statusCode).toBe(201);
  expect(sandbox.log.requests[0]?.request.bodyBytes).toBe(4096);
  await expect(send(3994)).rejects.toMatchObject({ statusCode: 413 });
});
