// Tests every stand-in and browser before Carillon is judged with them: with an independent sender
// and a site that knows nothing of Carillon; the browser decrypts. The negative controls are here,
// too.

import { deepEqual, equal } from 'node:assert/strict';
import type { PushSubscription, VapidKeys } from 'web-push';
import { untilDefined, untilEqual } from './deadline.ts';
import type { DrivenPage } from './driven-browser.ts';
import { FixtureSite } from './fixture-site.ts';
import { IndependentSender, type SenderAnswer, type SendOptions } from './independent-sender.ts';
import type { PushBench } from './push-bench.ts';
import type { Test, TestContext } from './runner.ts';

export interface Subscriber {
  site: FixtureSite;
  page: DrivenPage;
  keys: VapidKeys;
  subscription: PushSubscription;
  send(payload: string | Buffer | null | Record<string, unknown>, options?: SendOptions): Promise<SenderAnswer>;
}

/** A new site that may notify, open in one page that has just subscribed with new keys. */
export async function subscribe(bench: PushBench, context: TestContext): Promise<Subscriber> {
  const site = await FixtureSite.start();
  context.defer(async () => await site.stop());
  const keys = IndependentSender.newKeys();
  await bench.browser.setNotificationPermission(site.origin, 'allow');
  const page = await bench.browser.openPage(site.pageUrl(keys.publicKey));
  context.defer(async () => await page.close().catch(() => {}));
  const subscription = await pressSubscribe(site, page);
  return {
    site,
    page,
    keys,
    subscription,
    send: async (payload, options) => {
      const isPlain = payload === null || typeof payload === 'string' || Buffer.isBuffer(payload);
      const body = isPlain ? payload : JSON.stringify(payload);
      return await bench.sender.send(subscription, keys, body, options);
    },
  };
}

export async function pressSubscribe(site: FixtureSite, page: DrivenPage): Promise<PushSubscription> {
  const after = site.log.mark();
  await site.log.waitFor('ready');
  await page.click('button', 'Subscribe');
  // Chromium's first subscription waits for the start-up delay of its push client.
  const { subscription } = await site.log.waitFor('subscribed', undefined, { after, timeoutMs: 45_000 });
  return subscription;
}

/** Sends a push that must be shown. When it is shown, all earlier pushes have had their chance. */
export async function sendControl(subscriber: Subscriber, title: string): Promise<void> {
  const { status } = await subscriber.send({ title });
  equal(status, 201);
  await subscriber.site.log.waitFor('shown', (shown) => shown.title === title);
}

export const standInTests: readonly Test<PushBench>[] = [
  {
    name: 'a push by an independent sender is decrypted by the browser and shown',
    async run(bench, context) {
      const { site, send } = await subscribe(bench, context);
      const payload = { title: 'Bells', body: 'Größe, 鐘, 🔔' };
      equal((await send(payload)).status, 201);
      const { text, bytes } = await site.log.waitFor('push');
      deepEqual(JSON.parse(text ?? ''), payload);
      equal(bytes, Buffer.byteLength(JSON.stringify(payload)));
      await site.log.waitFor('shown');
      const { body } = await bench.browser.notifications.waitFor('Bells');
      equal(body.endsWith('Größe, 鐘, 🔔'), true);
    },
  },
  {
    name: 'a push without payload reaches the worker without data',
    async run(bench, context) {
      const { site, send } = await subscribe(bench, context);
      equal((await send(null)).status, 201);
      equal((await site.log.waitFor('push')).text, null);
      await site.log.waitFor('shown');
    },
  },
  {
    name: 'the largest payload of 3,993 bytes arrives whole, and one byte more is refused',
    async run(bench, context) {
      const { site, send } = await subscribe(bench, context);
      const largest = 'x'.repeat(3993);
      equal((await send(`${largest}x`)).status, 413);
      equal((await send(largest)).status, 201);
      const { text, bytes } = await site.log.waitFor('push');
      equal(bytes, 3993);
      equal(text, largest);
      equal(site.log.list('push').length, 1);
    },
  },
  {
    name: 'a click opens the page that the notification names',
    async run(bench, context) {
      const { site, send } = await subscribe(bench, context);
      await send({ title: 'Open it', open: '/opened' });
      await site.log.waitFor('shown');
      await bench.browser.notifications.click('Open it');
      deepEqual(await site.log.waitFor('clicked'), { type: 'clicked', title: 'Open it', action: '', went: 'opened' });
      await site.log.waitFor('ready', (ready) => ready.path === '/opened');
      // The page reports before the driver's list has its address.
      await untilEqual(async () => (await bench.browser.listPageUrls()).includes(`${site.origin}/opened`), true);
    },
  },
  {
    name: 'a click brings a page that is open to the front',
    async run(bench, context) {
      const { site, send } = await subscribe(bench, context);
      await send({ title: 'Look here', open: '/' });
      await site.log.waitFor('shown');
      await bench.browser.notifications.click('Look here');
      equal((await site.log.waitFor('clicked')).went, 'focused');
    },
  },
  {
    name: 'a dismissed notification is reported as closed and not as clicked',
    async run(bench, context) {
      const subscriber = await subscribe(bench, context);
      const { site, send } = subscriber;
      await send({ title: 'Not now', open: '/opened' });
      await site.log.waitFor('shown');
      await bench.browser.notifications.dismiss('Not now');
      await site.log.waitFor('closed', (closed) => closed.title === 'Not now');
      await sendControl(subscriber, 'After the dismissal');
      equal(site.log.list('clicked').length, 0);
    },
  },
  {
    name: 'a notification with the tag of another takes its place',
    async run(bench, context) {
      const { site, page, send } = await subscribe(bench, context);
      await send({ title: 'Score 1:0', tag: 'score' });
      await site.log.waitFor('shown', (shown) => shown.title === 'Score 1:0');
      await send({ title: 'Score 2:0', tag: 'score' });
      await site.log.waitFor('shown', (shown) => shown.title === 'Score 2:0');
      await page.click('button', 'Look');
      const { notifications } = await site.log.waitFor('looked');
      deepEqual(
        notifications.map(({ title }) => title),
        ['Score 2:0'],
      );
    },
  },
  {
    name: 'negative control: a push whose ciphertext is spoiled raises no event',
    async run(bench, context) {
      const subscriber = await subscribe(bench, context);
      const { status } = await subscriber.send({ title: 'Spoiled' }, { corrupt: true });
      equal(status, 201);
      await sendControl(subscriber, 'Whole');
      equal(subscriber.site.log.list('push').length, 1);
    },
  },
  {
    name: 'negative control: a push that the service spoils raises no event',
    async run(bench, context) {
      const subscriber = await subscribe(bench, context);
      bench.corruptNext();
      await subscriber.send({ title: 'Spoiled' });
      await sendControl(subscriber, 'Whole');
      equal(subscriber.site.log.list('push').length, 1);
    },
  },
  {
    name: 'negative control: a push signed with another VAPID key is refused and shown nowhere',
    async run(bench, context) {
      const subscriber = await subscribe(bench, context);
      const otherKeys = IndependentSender.newKeys();
      const refused = await bench.sender.send(subscriber.subscription, otherKeys, JSON.stringify({ title: 'Forged' }));
      equal(refused.status, bench.wrongKeyStatus);
      const unsigned = await subscriber.send({ title: 'Unsigned' }, { headers: { Authorization: undefined } });
      equal(unsigned.status, 401);
      await sendControl(subscriber, 'Signed');
      equal(subscriber.site.log.list('push').length, 1);
    },
  },
  {
    name: 'after unsubscribing the endpoint answers 410',
    async run(bench, context) {
      const { site, page, send } = await subscribe(bench, context);
      await page.click('button', 'Unsubscribe');
      equal((await site.log.waitFor('unsubscribed')).done, true);
      await waitForGone(async () => (await send({ title: 'Too late' })).status);
      equal(site.log.list('push').length, 0);
    },
  },
  {
    name: 'taking the permission away ends the subscription, and giving it back tells the worker',
    async run(bench, context) {
      const { site, page, send } = await subscribe(bench, context);
      await bench.browser.setNotificationPermission(site.origin, 'block');
      await waitForGone(async () => (await send({ title: 'Blocked' })).status);
      await bench.browser.setNotificationPermission(site.origin, 'allow');
      equal((await site.log.waitFor('changed')).newEndpoint, null);
      await page.click('button', 'Look');
      equal((await site.log.waitFor('looked')).endpoint, null);
    },
  },
  {
    name: 'a push wakes the worker after a restart of the browser with no page open, and its click opens one',
    async run(bench, context) {
      const { site, send } = await subscribe(bench, context);
      await bench.quitBrowser();
      await bench.startBrowser();
      await send({ title: 'Good morning', open: '/morning' });
      await site.log.waitFor('shown');
      equal(
        (await bench.browser.listPageUrls()).some((url) => url.startsWith(site.origin)),
        false,
      );
      await bench.browser.notifications.click('Good morning');
      equal((await site.log.waitFor('clicked')).went, 'opened');
      await site.log.waitFor('ready', (ready) => ready.path === '/morning');
    },
  },
  {
    name: 'a push that came while the browser was closed is delivered when it starts',
    async run(bench, context) {
      const { site, send } = await subscribe(bench, context);
      await bench.quitBrowser();
      equal((await send({ title: 'While you were away' })).status, 201);
      equal(site.log.list('push').length, 0);
      await bench.startBrowser();
      await site.log.waitFor('shown', (shown) => shown.title === 'While you were away', { timeoutMs: 30_000 });
    },
  },
];

/**
 * The browser reports the end of a subscription in its own time; until then the service may still
 * accept a push.
 */
async function waitForGone(send: () => Promise<number>): Promise<void> {
  const status = await untilDefined('the endpoint to answer 410', async () => {
    const answered = await send();
    return answered === 201 ? undefined : answered;
  });
  equal(status, 410);
}

/** Firefox's own notification windows have no buttons, so these tests need the desktop. */
export const actionTests: readonly Test<PushBench>[] = [
  {
    name: 'the button pressed is named in the click',
    async run(bench, context) {
      const { site, send } = await subscribe(bench, context);
      const actions = [
        { action: 'yes', title: 'Accept' },
        { action: 'no', title: 'Decline' },
      ];
      await send({ title: 'Dinner?', actions });
      await site.log.waitFor('shown');
      await bench.browser.notifications.clickAction('Dinner?', 'Decline');
      equal((await site.log.waitFor('clicked')).action, 'no');
    },
  },
];
