// Tests Carillon in a real browser from the demo page to the timeline. The page subscribes through
// the SDK, the API sends a message, the browser decrypts and shows it, a user clicks, and the
// timeline records it.

import { deepEqual, equal, notEqual } from 'node:assert/strict';
import type { Delivery } from './carillon.ts';
import type { CarillonBench } from './carillon-bench.ts';
import { untilDefined } from './deadline.ts';
import type { DrivenPage } from './driven-browser.ts';
import { FixtureSite } from './fixture-site.ts';
import type { Test, TestContext } from './runner.ts';
import { subscribe } from './stand-in-tests.ts';

interface DemoVisitor {
  page: DrivenPage;
  deviceId: string;
}

let visits = 0;

/**
 * Opens the demo page as a new visitor and allows notifications there. Every visitor uses a host
 * name of its own under localhost, which the browser treats as another origin. So no permission,
 * worker or device of an earlier visitor remains.
 */
export async function visitDemo({ carillon, push }: CarillonBench, context: TestContext): Promise<DemoVisitor> {
  visits += 1;
  const url = new URL(carillon.demoUrl);
  url.hostname = `visitor-${visits}.localhost`;
  const known = new Set((await carillon.listDevices()).map(({ id }) => id));
  await push.browser.setNotificationPermission(url.origin, 'allow');
  const page = await push.browser.openPage(url.href);
  context.defer(async () => await page.close().catch(() => {}));
  await page.click('button', 'Allow notifications');
  const device = await untilDefined(
    'the demo page to register a device',
    async () => (await carillon.listDevices()).find(({ id }) => !known.has(id)),
    45_000,
  );
  deepEqual([device.platform, device.status], ['web', 'active']);
  return { page, deviceId: device.id };
}

/** A page of our own as the click's target, so that its server sees the opening, too. */
async function startLandingSite(context: TestContext): Promise<FixtureSite> {
  const site = await FixtureSite.start();
  context.defer(async () => await site.stop());
  return site;
}

/** Sends to one device and asserts that the push service accepted the push. */
async function sendTo({ carillon }: CarillonBench, deviceId: string, content: Parameters<typeof carillon.send>[1]) {
  const { id, report } = await carillon.send([deviceId], content);
  deepEqual(report, { accepted: 1, sent: 1, failed: 0, skipped: 0 });
  return id;
}

async function waitUntilDisplayed({ carillon }: CarillonBench, messageId: string): Promise<Delivery> {
  return await carillon.waitForDelivery(messageId, 'displayed', ({ displayed_at }) => displayed_at !== null);
}

const story = ({ timeline }: Delivery) => timeline.map(({ type }) => type);

export const carillonTests: readonly Test<CarillonBench>[] = [
  {
    name: 'a message reaches the browser that allowed notifications on the demo page, is clicked, and the timeline says so',
    async run(bench, context) {
      const { carillon, push } = bench;
      const landing = await startLandingSite(context);
      const { deviceId } = await visitDemo(bench, context);
      const url = `${landing.origin}/landing`;
      const messageId = await sendTo(bench, deviceId, { title: 'The first bell', body: 'Größe, 鐘, 🔔', url });
      const { body } = await push.browser.notifications.waitFor('The first bell');
      equal(body.endsWith('Größe, 鐘, 🔔'), true);
      const displayed = await waitUntilDisplayed(bench, messageId);
      equal(displayed.clicked_at, null);
      await push.browser.notifications.click('The first bell');
      await landing.log.waitFor('ready', ({ path }) => path === '/landing');
      const clicked = await carillon.waitForDelivery(messageId, 'clicked', ({ clicked_at }) => clicked_at !== null);
      deepEqual([clicked.status, clicked.error_code, clicked.channel], ['sent', null, 'webpush']);
      deepEqual([clicked.action, clicked.dismissed_at], [null, null]);
      deepEqual(story(clicked), ['queued', 'attempt', 'displayed', 'clicked']);
      const attempt = clicked.timeline.find(({ type }) => type === 'attempt');
      deepEqual([attempt?.outcome, attempt?.provider?.http_status], ['sent', 201]);
      notEqual(attempt?.provider?.headers['location'], undefined);
    },
  },
  {
    name: 'a dismissed notification is told as dismissed, and never as clicked',
    async run(bench, context) {
      const { carillon, push } = bench;
      const { deviceId } = await visitDemo(bench, context);
      const messageId = await sendTo(bench, deviceId, { title: 'Wipe me away' });
      await waitUntilDisplayed(bench, messageId);
      await push.browser.notifications.dismiss('Wipe me away');
      const isDismissed = ({ dismissed_at }: Delivery) => dismissed_at !== null;
      const dismissed = await carillon.waitForDelivery(messageId, 'dismissed', isDismissed);
      deepEqual(story(dismissed), ['queued', 'attempt', 'displayed', 'dismissed']);
      equal(dismissed.clicked_at, null);
    },
  },
  {
    name: 'a second visit keeps the device, and both devices of two visitors get what is theirs',
    async run(bench, context) {
      const { carillon, push } = bench;
      const one = await visitDemo(bench, context);
      const two = await visitDemo(bench, context);
      notEqual(one.deviceId, two.deviceId);
      const before = (await carillon.listDevices()).length;
      const again = await push.browser.openPage(one.page.url());
      context.defer(async () => await again.close());
      const forOne = await sendTo(bench, one.deviceId, { title: 'For the first' });
      const forTwo = await sendTo(bench, two.deviceId, { title: 'For the second' });
      equal((await waitUntilDisplayed(bench, forOne)).device_id, one.deviceId);
      equal((await waitUntilDisplayed(bench, forTwo)).device_id, two.deviceId);
      equal((await carillon.listDevices()).length, before);
    },
  },
  {
    name: 'a message wakes the worker when no page is open after a restart, and its click opens the url',
    async run(bench, context) {
      const { carillon, push } = bench;
      const landing = await startLandingSite(context);
      const { deviceId } = await visitDemo(bench, context);
      await push.quitBrowser();
      await push.startBrowser();
      const url = `${landing.origin}/morning`;
      const messageId = await sendTo(bench, deviceId, { title: 'Good morning', url });
      await waitUntilDisplayed(bench, messageId);
      await push.browser.notifications.click('Good morning');
      await landing.log.waitFor('ready', ({ path }) => path === '/morning');
      await carillon.waitForDelivery(messageId, 'clicked', ({ clicked_at }) => clicked_at !== null);
    },
  },
  {
    name: 'a message sent while the browser is closed is shown when it starts',
    async run(bench, context) {
      const { deviceId } = await visitDemo(bench, context);
      await bench.push.quitBrowser();
      const messageId = await sendTo(bench, deviceId, { title: 'While you were away' });
      equal((await bench.carillon.findDelivery(messageId))?.displayed_at, null);
      await bench.push.startBrowser();
      await waitUntilDisplayed(bench, messageId);
    },
  },
  {
    name: 'a device whose permission was taken away fails as unregistered, and its worker brings it back under the same id',
    async run(bench, context) {
      const { carillon, push } = bench;
      const { page, deviceId } = await visitDemo(bench, context);
      const { origin } = new URL(page.url());
      await push.browser.setNotificationPermission(origin, 'block');
      const messageId = await untilDefined('the push service to know', async () => {
        const { id, report } = await carillon.send([deviceId], { title: 'Blocked' });
        return report.failed === 1 ? id : undefined;
      });
      const failed = await carillon.findDelivery(messageId);
      deepEqual([failed?.status, failed?.error_code], ['failed', 'unregistered']);
      equal(failed?.timeline.find(({ type }) => type === 'attempt')?.provider?.http_status, 410);
      const isInvalid = async () => ((await carillon.findDevice(deviceId))?.status === 'invalid' ? true : undefined);
      await untilDefined('the device to be invalid', isInvalid);
      // Without its page only the worker can renew the subscription.
      await page.close();
      await push.browser.setNotificationPermission(origin, 'allow');
      const isActive = async () => ((await carillon.findDevice(deviceId))?.status === 'active' ? true : undefined);
      await untilDefined('the worker to renew the subscription', isActive, 45_000);
      await waitUntilDisplayed(bench, await sendTo(bench, deviceId, { title: 'Welcome back' }));
    },
  },
  {
    name: 'negative control: a push spoiled on its way is told as sent, and never as displayed',
    async run(bench, context) {
      const { deviceId } = await visitDemo(bench, context);
      bench.push.corruptNext();
      const spoiled = await sendTo(bench, deviceId, { title: 'Spoiled' });
      await waitUntilDisplayed(bench, await sendTo(bench, deviceId, { title: 'Whole' }));
      const delivery = await bench.carillon.findDelivery(spoiled);
      deepEqual([delivery?.status, delivery?.displayed_at, delivery?.clicked_at], ['sent', null, null]);
    },
  },
  {
    name: 'negative control: a subscription made with another key is refused by the push service, and nothing is shown',
    async run(bench, context) {
      const { carillon, push } = bench;
      const foreign = await subscribe(push, context);
      const { endpoint, keys } = foreign.subscription;
      const { id: deviceId } = await carillon.registerDevice(JSON.stringify({ endpoint, keys }));
      const { id, report } = await carillon.send([deviceId], { title: 'Not yours' });
      deepEqual(report, { accepted: 1, sent: 0, failed: 1, skipped: 0 });
      const delivery = await carillon.findDelivery(id);
      equal(delivery?.error_code, 'credential_mismatch');
      const attempt = delivery?.timeline.find(({ type }) => type === 'attempt');
      equal(attempt?.provider?.http_status, push.wrongKeyStatus);
      await foreign.send({ title: 'By its own sender' });
      await foreign.site.log.waitFor('shown', ({ title }) => title === 'By its own sender');
      equal(foreign.site.log.list('push').length, 1);
    },
  },
  {
    name: 'negative control: a message that nobody clicks is never told as clicked',
    async run(bench, context) {
      const { carillon, push } = bench;
      const { deviceId } = await visitDemo(bench, context);
      const unclicked = await sendTo(bench, deviceId, { title: 'Leave me' });
      await waitUntilDisplayed(bench, unclicked);
      const clicked = await sendTo(bench, deviceId, { title: 'Click me' });
      await waitUntilDisplayed(bench, clicked);
      await push.browser.notifications.click('Click me');
      await carillon.waitForDelivery(clicked, 'clicked', ({ clicked_at }) => clicked_at !== null);
      const delivery = await carillon.findDelivery(unclicked);
      deepEqual([delivery?.clicked_at, delivery?.dismissed_at], [null, null]);
    },
  },
];

/** Firefox's own notification windows have no buttons, so this test needs the desktop. */
export const carillonActionTests: readonly Test<CarillonBench>[] = [
  {
    name: 'a pressed button opens its own url and is named in the timeline',
    async run(bench, context) {
      const { carillon, push } = bench;
      const landing = await startLandingSite(context);
      const { deviceId } = await visitDemo(bench, context);
      const messageId = await sendTo(bench, deviceId, {
        title: 'Your order',
        url: `${landing.origin}/order`,
        webpush: { actions: [{ action: 'track', title: 'Track it', url: `${landing.origin}/track` }] },
      });
      await waitUntilDisplayed(bench, messageId);
      await push.browser.notifications.clickAction('Your order', 'Track it');
      await landing.log.waitFor('ready', ({ path }) => path === '/track');
      const clicked = await carillon.waitForDelivery(messageId, 'clicked', ({ clicked_at }) => clicked_at !== null);
      equal(clicked.action, 'track');
      equal(clicked.timeline.find(({ type }) => type === 'clicked')?.action, 'track');
    },
  },
];
