// The console in Firefox, in one walk: set-up link, app and keys, a channel, a message that tells
// its story live, and why a person got nothing.
import { match } from 'node:assert/strict';
import { owner } from './console-bench.ts';
import type { ConsoleFirefoxBench } from './console-firefox-bench.ts';
import type { Test } from './runner.ts';

export const consoleFirefoxTests: readonly Test<ConsoleFirefoxBench>[] = [
  {
    name: 'an owner sets up, makes an app and a channel, and follows a message to the reason why somebody got nothing',
    timeoutMs: 120_000,
    async run({ stage, browser }, context) {
      const { link } = await stage.command('owner', 'setup-link');
      const page = await browser.openPage(String(link));
      context.defer(() => page.close());
      await page.fill('Organisation', 'Harbour Books Ltd');
      await page.fill('Your name', owner.name);
      await page.fill('E-mail', owner.email);
      // Firefox gives a hidden password no role, so it is typed in sight.
      await page.click('button', 'Show the password');
      await page.fill('Password', owner.password);
      await page.click('button', 'Set up');
      await page.waitForRole('heading', 'Apps');

      await page.click('link', 'New app');
      await page.fill('Name', 'Harbour Books');
      await page.click('button', 'Make the app');
      const serverKey = (await page.waitForRole('region', 'Server key')).trim();
      match(serverKey, /^sk_live_/);
      await page.click('checkbox', 'I keep it in a safe place');
      await page.click('button', 'Done');
      await page.waitForRole('heading', 'Harbour Books');

      await page.click('link', 'Set up a channel');
      await page.click('button', 'Set up');
      await page.fill('Contact', 'mailto:push@harbour-books.example');
      await page.click('button', 'Set up web push');
      await page.waitForText('Healthy');

      const { vapid_public_key } = await stage.api(serverKey, 'GET', '/v1/config');
      const made = await stage.sandbox('POST', '/subscriptions', {
        vendor: 'mozilla',
        vapid_key: vapid_public_key,
        hosts: 'vendor',
      });
      const [token] = made['subscriptions'] as unknown[];
      const device = await stage.api(serverKey, 'POST', '/v1/devices', { platform: 'web', token });
      const ada = { external_id: 'u-42', first_name: 'Ada', country: 'FR', device_id: device['id'] };
      await stage.api(serverKey, 'POST', '/v1/users', ada);
      await page.click('link', 'Messages');
      await page.waitForText('Nothing sent yet');
      await stage.api(serverKey, 'POST', '/v1/messages', {
        name: 'Autumn sale',
        audience: { all: true },
        content: { title: 'Sale', body: 'Now on' },
      });
      // The list shows the message by itself.
      await page.waitForText('Autumn sale');

      await stage.api(serverKey, 'POST', '/v1/messages', {
        name: 'Only Germany',
        audience: { filter: { field: 'country', op: 'eq', value: 'DE' } },
        content: { title: 'Hallo' },
      });
      const origin = new URL(stage.serviceUrl).origin;
      const app = /apps\/(?<id>app_\w+)/.exec(page.url())?.groups?.['id'];
      const user = await browser.openPage(`${origin}/console/apps/${app}/users/u-42`);
      context.defer(() => user.close());
      await user.waitForText('Why did they get nothing?');
      await user.waitForText('country is FR');
    },
  },
];
