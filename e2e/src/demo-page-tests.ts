// Tests the demo page as a visitor meets it: found by roles and labels, with and without a key,
// before and after a push.

import { deepEqual, equal } from 'node:assert/strict';
import type { CarillonBench } from './carillon-bench.ts';
import { visitDemo } from './carillon-tests.ts';
import { untilDefined } from './deadline.ts';
import type { Test } from './runner.ts';

export const demoPageTests: readonly Test<CarillonBench>[] = [
  {
    name: 'opened without a key the demo page asks for one, says what is wrong with another, and goes on with the right one',
    async run({ carillon, push }, context) {
      const origin = carillon.origin.replace('localhost', 'keyless.localhost');
      const page = await push.browser.openPage(`${origin}/demo`);
      context.defer(async () => await page.close());
      await page.fill('Client key', 'ck_live_too_short');
      await page.click('button', 'Use this key');
      await page.waitForText('Is a part missing?');
      await page.fill('Client key', carillon.clientKey);
      await page.click('button', 'Use this key');
      await page.waitForRole('button', 'Allow notifications');
    },
  },
  {
    name: 'a key that no app has is refused in words, and nothing is subscribed',
    async run({ carillon, push }, context) {
      // The published vector of the contract: its checksum is valid, and no app ever has this key.
      const unknownKey = 'ck_live_7cMxemzhJjkW31yzTx5H07wJF2A2uBEOEec26ubYMsJ045q4F';
      const before = (await carillon.listDevices()).length;
      const origin = carillon.origin.replace('localhost', 'stranger.localhost');
      const page = await push.browser.openPage(`${origin}/demo#${unknownKey}`);
      context.defer(async () => await page.close());
      await page.waitForRole('textbox', 'Client key');
      equal((await carillon.listDevices()).length, before);
    },
  },
  {
    name: 'the key leaves the address bar, and the page tells what its worker saw',
    async run(bench, context) {
      const { carillon, push } = bench;
      const { page, deviceId } = await visitDemo(bench, context);
      equal(page.url().includes('ck_live_'), false);
      await carillon.send([deviceId], { title: 'Seen by the page' });
      await page.waitForText('Displayed');
      await push.browser.notifications.click('Seen by the page');
      await page.waitForText('Clicked');
      equal((await page.waitForRole('log')).includes('Seen by the page'), true);
    },
  },
  {
    name: 'a browser that unsubscribes on the demo page leaves every audience, and may come back',
    async run(bench, context) {
      const { carillon } = bench;
      const { page, deviceId } = await visitDemo(bench, context);
      await page.click('button', 'Unsubscribe');
      await untilDefined('the device to be unsubscribed', async () => {
        const device = await carillon.findDevice(deviceId);
        return device?.status === 'unsubscribed' ? device : undefined;
      });
      const { report } = await carillon.send([deviceId], { title: 'Never' });
      deepEqual(report, { accepted: 0, sent: 0, failed: 0, skipped: 0 });
      await page.click('button', 'Allow notifications');
      await page.waitForRole('button', 'Unsubscribe');
    },
  },
];
