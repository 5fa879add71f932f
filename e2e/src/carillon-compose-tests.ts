// "Send test to this browser" in a real Firefox: the composer subscribes it by a key of the
// session, the notification shows, and no device stays in the app.
import { deepEqual } from 'node:assert/strict';
import type { CarillonBench } from './carillon-bench.ts';
import { owner } from './console-bench.ts';
import { untilEqual } from './deadline.ts';
import type { Test } from './runner.ts';

export const carillonComposeTests: readonly Test<CarillonBench>[] = [
  {
    name: 'compose: a test to this browser is shown there, and leaves no device behind',
    timeoutMs: 120_000,
    async run({ carillon, push }, context) {
      const { browser } = push;
      await browser.setNotificationPermission(carillon.origin, 'allow');
      const page = await browser.openPage(carillon.setupLink);
      context.defer(() => page.close());
      await page.fill('Organisation', 'Harbour Books Ltd');
      await page.fill('Your name', owner.name);
      await page.fill('E-mail', owner.email);
      // Firefox gives a hidden password no role, so it is typed in sight.
      await page.click('button', 'Show the password');
      await page.fill('Password', owner.password);
      await page.click('button', 'Set up');
      await page.waitForRole('heading', 'Apps');
      const countActive = async () => (await carillon.listDevices()).filter(({ status }) => status === 'active').length;
      const before = await countActive();
      await page.clickText('Demo');
      await page.click('link', 'Compose');
      await page.fill('Title', 'Only for my own browser');
      await page.fill('Body', 'Rendered as it will be.');
      // The page is at rest when the draft is kept and the screens are drawn.
      await page.waitForRole('figure', 'Firefox preview');
      await page.waitForText('Draft saved');
      await page.click('button', 'Send test to this browser');
      const { body } = await browser.notifications.waitFor('Only for my own browser');
      deepEqual(body, 'Rendered as it will be.');
      await page.waitForText('This browser has shown it.');
      await untilEqual(countActive, before);
    },
  },
];
