// The live pages of the console: messages that are being sent, events as they arrive, a
// pause; and what stays true when the feed breaks.
import { equal, match, ok } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { BrowserContext, Request } from 'playwright-core';
import type { ConsoleApp, ConsoleBench } from './console-bench.ts';
import type { Test } from './runner.ts';

const isFeed = (request: Request): boolean => /\/apps\/[^/]+\/live$/.test(new URL(request.url()).pathname);

/** The requests of a browser from now on that `wanted` selects. */
function watch(context: BrowserContext, wanted: (request: Request) => boolean): Request[] {
  const seen: Request[] = [];
  context.on('request', (request) => {
    if (wanted(request)) seen.push(request);
  });
  return seen;
}

async function makeDevices(bench: ConsoleBench, app: ConsoleApp, number: number) {
  const devices = [];
  for (let made = 0; made < number; made++) devices.push(await bench.makeDevice(app));
  return devices;
}

const sendTo = (bench: ConsoleBench, app: ConsoleApp, name: string): Promise<string> =>
  bench.send(app, { name, audience: { all: true }, content: { title: name } });

export const consoleLiveTests: readonly Test<ConsoleBench>[] = [
  {
    name: 'a message that is being sent moves on its page by itself, and the page asks for nothing meanwhile',
    async run(bench, context) {
      const app = await bench.makeApp('Moving');
      // One a second, so that a slow browser sees it under way, too.
      await makeDevices(bench, app, 10);
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/messages`));
      await page.getByText('Nothing sent yet').waitFor();
      const body = { audience: { all: true }, content: { title: 'Slow' }, name: 'Slow', per_second: 1 };
      // The answer to a small send comes when it is done.
      const sent = bench.send(app, body);
      // The list shows the new message without a reload.
      await page.getByRole('link', { name: /Slow/ }).click();
      await page.getByText(/Sending: [1-9] of 10 devices done/).waitFor();
      const { pathname } = new URL(page.url());
      const message = pathname.slice(pathname.lastIndexOf('/'));
      const asked = watch(browser, (request) => new URL(request.url()).pathname.endsWith(message));
      await page.getByText(/Sent to 10 of 10 devices/).waitFor({ timeout: 30_000 });
      equal(asked.length, 0);
      equal(`/${await sent}`, message);
    },
  },
  {
    name: 'the tabs of a browser share one stream, and another tab takes it over when the first one closes',
    async run(bench, context) {
      const app = await bench.makeApp('Shared');
      await makeDevices(bench, app, 1);
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const feeds = watch(browser, isFeed);
      const [first, second] = [await browser.newPage(), await browser.newPage()];
      for (const page of [first, second]) {
        await page.goto(bench.url(`/apps/${app.id}/messages`));
        await page.getByText('Nothing sent yet').waitFor();
      }
      await sendTo(bench, app, 'Heard by both');
      for (const page of [first, second]) await page.getByRole('link', { name: /Heard by both/ }).waitFor();
      equal(feeds.length, 1);
      await first.close();
      await sendTo(bench, app, 'Heard by the second');
      await second.getByRole('link', { name: /Heard by the second/ }).waitFor();
      equal(feeds.length, 2);
    },
  },
  {
    name: 'a feed that is refused is opened again, and the page says meanwhile that it is lost',
    async run(bench, context) {
      const app = await bench.makeApp('Reconnecting');
      await makeDevices(bench, app, 1);
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const busy = { error: 'unavailable', message: 'Busy.', request_id: 'req_0' };
      await browser.route(/\/live$/, (route) => route.fulfill({ status: 503, json: busy }));
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/messages`));
      await page.getByText('The live feed is lost.').waitFor();
      await browser.unroute(/\/live$/);
      await page.getByText('The live feed is lost.').waitFor({ state: 'hidden' });
      await sendTo(bench, app, 'After the loss');
      await page.getByRole('link', { name: /After the loss/ }).waitFor();
    },
  },
  {
    name: 'events appear under Developers as they arrive, and wait while the list is paused',
    async run(bench, context) {
      const app = await bench.makeApp('Tail');
      const track = (name: string) =>
        bench.stage.api(app.serverKey, 'POST', '/v1/events', { name, external_id: 'u-42', properties: { page: name } });
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}`));
      await page.getByRole('link', { name: 'Developers' }).click();
      await page.getByRole('link', { name: 'Live events' }).click();
      await page.getByText('Listening.').waitFor();
      await page.getByText('Waiting for the first event').waitFor();
      await track('article_read');
      const events = page.getByRole('list', { name: 'Events' });
      await events.getByText('article_read').first().waitFor();
      await page.getByRole('button', { name: 'Pause' }).click();
      await track('cart_filled');
      await page.getByRole('button', { name: 'Go on, 1 new event' }).waitFor();
      equal(await events.getByText('cart_filled').count(), 0);
      await page.getByRole('button', { name: 'Go on, 1 new event' }).click();
      await events.getByText('cart_filled').first().waitFor();
      await page.getByLabel('Event name').fill('article_read');
      await events.getByText('cart_filled').first().waitFor({ state: 'hidden' });
      await page.waitForURL(/name=article_read/);
    },
  },
  {
    name: 'a user shows the deliveries, the events and the segments of this person, a device its deliveries',
    async run(bench, context) {
      const app = await bench.makeApp('History');
      const { serverKey: key } = app;
      const device = await bench.makeDevice(app);
      // The device tracks this before anybody knows whose it is.
      await bench.stage.api(key, 'POST', '/v1/events', { name: 'page_seen', device_id: device.id });
      const ada = { external_id: 'u-42', first_name: 'Ada', country: 'DE', device_id: device.id };
      await bench.stage.api(key, 'POST', '/v1/users', ada);
      await bench.stage.api(key, 'POST', '/v1/events', { name: 'cart_filled', external_id: 'u-42' });
      const filter = { field: 'country', op: 'eq', value: 'DE' };
      await bench.stage.api(key, 'POST', '/v1/segments', { name: 'In Germany', filter });
      await sendTo(bench, app, 'Autumn sale');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/users/u-42`));
      await page.getByText('In Germany').waitFor();
      const deliveries = page.getByRole('list', { name: 'Deliveries' });
      await deliveries.getByRole('link', { name: /Autumn sale/ }).waitFor();
      await page.getByRole('navigation', { name: 'History' }).getByRole('link', { name: 'Events' }).click();
      const events = page.getByRole('list', { name: 'Events' });
      await events.getByText('cart_filled').waitFor();
      await events.getByRole('listitem').filter({ hasText: 'page_seen' }).getByText('Before the log-in').waitFor();
      await page.goto(bench.url(`/apps/${app.id}/devices/${device.id}`));
      await deliveries.getByRole('link', { name: /Autumn sale/ }).click();
      await page.getByText(/Attempt 1: sent/).waitFor();
    },
  },
  {
    name: 'the deliveries of a message are saved as CSV, with the filter of the list',
    async run(bench, context) {
      const app = await bench.makeApp('Saved');
      const [there] = await makeDevices(bench, app, 1);
      const gone = await bench.makeDevice(app);
      await bench.removeSubscription(gone.endpoint);
      const message = await sendTo(bench, app, 'Autumn sale');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      const save = async (query: string): Promise<string> => {
        await page.goto(bench.url(`/apps/${app.id}/messages/${message}${query}`));
        await page.getByRole('list', { name: 'Deliveries' }).getByText(gone.id).waitFor();
        const [file] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name: 'CSV', exact: true }).click(),
        ]);
        return readFileSync(await file.path(), 'utf8');
      };
      const all = await save('');
      match(all, /^device_id,external_id,platform,channel,status,error_code,/);
      ok(
        all.includes(`${there?.id},,web,webpush,sent,,1,`) &&
          all.includes(`${gone.id},,web,webpush,failed,unregistered,1,`),
      );
      const failed = await save('?status=failed');
      equal(failed.trimEnd().split('\r\n').length, 2);
    },
  },
  {
    name: 'a pause is loud on every page as soon as it begins, says how much waits, and an owner ends it',
    async run(bench, context) {
      const app = await bench.makeApp('Paused');
      await makeDevices(bench, app, 1);
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/messages`));
      await page.getByText('Nothing sent yet').waitFor();
      await bench.stage.command('pause');
      context.defer(() => bench.stage.command('resume'));
      await page.getByText('Sending is paused').waitFor();
      await sendTo(bench, app, 'Waits');
      await page.getByRole('link', { name: /Waits/ }).waitFor();
      await page.reload();
      await page.getByText('1 message would go out now.').waitFor();
      await page.getByRole('button', { name: 'Resume sending' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Resume sending' }).click();
      await page.getByText('Sending is paused').waitFor({ state: 'hidden' });
      await page.getByRole('link', { name: /Waits/ }).click();
      await page.getByText(/Sent to 1 of 1 device/).waitFor();
    },
  },
  {
    name: 'the set-up guide knows of a click on a message that is no longer among the newest',
    async run(bench, context) {
      const app = await bench.makeApp('Clicked long ago');
      await makeDevices(bench, app, 1);
      await sendTo(bench, app, 'Clicked first');
      const { entries } = await bench.stage.sandbox('GET', '/inbox?limit=100');
      const inbox = entries as { id: string; payload: { text: string } | null }[];
      const rung = inbox.find(({ payload }) => payload?.text.includes('Clicked first'));
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}`));
      const toDo = page.getByRole('list', { name: 'To do' });
      const done = page.getByRole('list', { name: 'Done' });
      await toDo.getByText('See the first click').waitFor();
      await bench.stage.sandbox('POST', `/inbox/${rung?.id}/act`, { event: 'clicked' });
      // More than the overview shows.
      for (let number = 1; number <= 11; number++) await sendTo(bench, app, `Later ${number}`);
      await page.reload();
      await page.getByRole('link', { name: 'Later 11' }).waitFor();
      await done.getByText('See the first click').waitFor();
      equal(await page.getByRole('link', { name: 'Clicked first' }).count(), 0);
    },
  },
];
