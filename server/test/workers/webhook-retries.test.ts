// Retries of unacknowledged events beside new events.
import { expect, it } from 'vitest';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { enableWebhook } from '../../src/sending/webhooks/manage-webhooks.ts';
import { openShop, setupWebhooks } from './webhook-shop.ts';

const t = await setupWebhooks();
// Between the test's own steps no time passes, however long the test takes.
t.clock.hold(t.clock.date());

it("R-25 first attempts of other events are not delayed by one event's retries, which come when they are due", async () => {
  const shop = await openShop(t, ['message.sent']);
  const attemptsOf = (id: unknown): unknown[] =>
    shop.receiver.received
      .filter(({ headers }) => headers['service-id'] === id)
      .map(({ headers }) => headers['service-attempt']);
  shop.receiver.answer = (_request, response) => response.writeHead(500).end();
  await shop.send(1);
  await shop.receiver.count(1);
  await t.workers.idle();
  const failing = shop.receiver.received[0]?.headers['service-id'];

  shop.receiver.answer = ({ headers }, response) =>
    response.writeHead(headers['service-id'] === failing ? 500 : 200).end();
  await shop.send(3);
  await shop.receiver.count(4);
  await t.workers.idle();
  expect(attemptsOf(failing)).toEqual(['1']);
  expect(await shop.waiting()).toBe(1);

  // Five seconds, plus or minus a fifth.
  t.clock.advance(3_900);
  t.workers.wakeWebhooks();
  await t.workers.idle();
  expect(attemptsOf(failing)).toEqual(['1']);
  t.clock.advance(2_200);
  t.workers.wakeWebhooks();
  await shop.receiver.count(5);
  await t.workers.idle();
  expect(attemptsOf(failing)).toEqual(['1', '2']);
});

it("R-25 an endpoint's Retry-After is followed, up to twice the scheduled wait and no sooner than it", async () => {
  for (const [seconds, tooSoonMs, dueMs] of [
    ['1', 3_900, 2_200],
    ['8', 7_900, 200],
    ['3600', 9_900, 200],
  ] as const) {
    const shop = await openShop(t, ['message.sent']);
    shop.receiver.answer = (_request, response) => response.writeHead(429, { 'retry-after': seconds }).end();
    await shop.send(1);
    await shop.receiver.count(1);
    await t.workers.idle();
    t.clock.advance(tooSoonMs);
    t.workers.wakeWebhooks();
    await t.workers.idle();
    expect({ seconds, requests: shop.receiver.received.length }).toEqual({ seconds, requests: 1 });
    t.clock.advance(dueMs);
    t.workers.wakeWebhooks();
    await shop.receiver.count(2);
    await t.workers.idle();
  }
});

it('R-25 events of a disabled webhook are held, and told when it is enabled again', async () => {
  const shop = await openShop(t, ['message.sent']);
  shop.receiver.answer = (_request, response) => response.writeHead(500).end();
  await shop.send(15);
  await shop.receiver.count(15);
  await t.workers.idle();
  expect(await shop.hook()).toMatchObject({ state: 'disabled' });
  await shop.send(1);
  t.clock.advance(71 * 3_600_000);
  t.workers.wakeWebhooks();
  await t.workers.idle();
  expect(shop.receiver.received).toHaveLength(15);
  expect(await shop.waiting()).toBe(16);
  shop.receiver.answer = (_request, response) => response.writeHead(200).end();
  await enableWebhook({ sql: t.sql, clock: t.clock, by: t.by, seal: createSeal(t.masterKey) }, await shop.hook());
  t.workers.wakeWebhooks();
  await shop.receiver.count(15 + 16);
  await t.workers.idle();
  expect(await shop.waiting()).toBe(0);
});
