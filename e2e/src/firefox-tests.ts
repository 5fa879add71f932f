// Tests features that only Firefox and Mozilla's protocol have: acknowledgements, topics and time
// to live while the browser is away, and a push service that forgets.

import { deepEqual, equal } from 'node:assert/strict';
import type { SendOptions } from './independent-sender.ts';
import type { FirefoxBench } from './push-bench.ts';
import type { Test } from './runner.ts';
import { pressSubscribe, sendControl, subscribe } from './stand-in-tests.ts';

export const firefoxTests: readonly Test<FirefoxBench>[] = [
  {
    name: 'Firefox acknowledges a shown push with 100 and a spoiled one with 101',
    async run(bench, context) {
      const { site, send } = await subscribe(bench, context);
      const { log } = bench.autopush;
      // Pushes of an earlier test may be acknowledged meanwhile.
      const codeOf = async (payload: object, options?: SendOptions): Promise<number> => {
        const after = log.mark();
        await send({ ...payload }, options);
        const { messageId } = await log.waitFor('accepted', undefined, { after });
        return (await log.waitFor('ack', (ack) => ack.messageId === messageId, { after })).code;
      };
      equal(await codeOf({ title: 'Acknowledged' }), 100);
      await site.log.waitFor('shown');
      equal(await codeOf({ title: 'Spoiled' }, { corrupt: true }), 101);
    },
  },
  {
    name: 'Firefox reconnects by itself when the connection is cut, under the same identity',
    async run(bench, context) {
      const subscriber = await subscribe(bench, context);
      const { log } = bench.autopush;
      const after = log.mark();
      const before = log.list('hello').at(-1);
      bench.autopush.dropConnections();
      const { uaid, offered } = await log.waitFor('hello', undefined, { after });
      deepEqual([uaid, offered], [before?.uaid, before?.uaid]);
      await sendControl(subscriber, 'Connected again');
    },
  },
  {
    name: 'while Firefox is away a Topic replaces what waits, and the rest comes in order',
    async run(bench, context) {
      const subscriber = await subscribe(bench, context);
      const { site, send } = subscriber;
      bench.autopush.hold();
      context.defer(() => bench.autopush.release());
      const { log } = bench.autopush;
      const after = log.mark();
      await send({ title: 'First' });
      await send({ title: 'Weather at noon' }, { topic: 'weather' });
      await send({ title: 'Weather at night' }, { topic: 'weather' });
      await send({ title: 'Other weather' }, { topic: 'sea-weather' });
      bench.autopush.release();
      await site.log.waitFor('shown', (shown) => shown.title === 'Other weather');
      const [first, noon, night, other] = log.list('accepted', after).map(({ messageId }) => messageId);
      deepEqual(log.list('replaced', after), [{ type: 'replaced', messageId: noon, by: night }]);
      const own = [first, noon, night, other];
      // A push of an earlier test is delivered again when the connection was cut before its
      // acknowledgement.
      const delivered = log
        .list('delivered', after)
        .flatMap(({ messageId }) => (own.includes(messageId) ? messageId : []));
      deepEqual(delivered, [first, night, other]);
      await sendControl(subscriber, 'Last');
      // Firefox decrypts pushes in parallel, so the worker may see them in another order.
      for (const title of ['First', 'Weather at night']) {
        await site.log.waitFor('shown', (shown) => shown.title === title);
      }
      const titles = site.log.list('shown').map(({ title }) => title);
      deepEqual(titles.sort(), ['First', 'Last', 'Other weather', 'Weather at night']);
    },
  },
  {
    name: 'what expires while Firefox is away is never shown',
    async run(bench, context) {
      const subscriber = await subscribe(bench, context);
      const { site, send } = subscriber;
      bench.autopush.hold();
      context.defer(() => bench.autopush.release());
      equal((await send({ title: 'Now or never' }, { TTL: 0 })).status, 201);
      equal((await send({ title: 'For a minute' }, { TTL: 60 })).status, 201);
      await send({ title: 'For an hour' }, { TTL: 3600 });
      bench.autopush.passTime(61_000);
      bench.autopush.release();
      await site.log.waitFor('shown', (shown) => shown.title === 'For an hour');
      await sendControl(subscriber, 'Last');
      equal(site.log.list('push').length, 2);
    },
  },
  {
    name: 'TTL 0 is delivered to a Firefox that is connected',
    async run(bench, context) {
      const { site, send } = await subscribe(bench, context);
      await send({ title: 'Right now' }, { TTL: 0 });
      await site.log.waitFor('shown', (shown) => shown.title === 'Right now');
    },
  },
  {
    name: 'when the push service forgets the browser the worker is told, and subscribing again works',
    async run(bench, context) {
      const { site, page, send, subscription } = await subscribe(bench, context);
      bench.autopush.forgetBrowsers();
      const { oldEndpoint, newEndpoint } = await site.log.waitFor('changed');
      deepEqual([oldEndpoint, newEndpoint], [subscription.endpoint, null]);
      equal((await send({ title: 'Forgotten' })).status, 410);
      await page.click('button', 'Look');
      equal((await site.log.waitFor('looked')).endpoint, null);
      const renewed = await pressSubscribe(site, page);
      equal(renewed.endpoint === subscription.endpoint, false);
    },
  },
  {
    name: 'Firefox offers the same identity after a restart',
    async run(bench, context) {
      await subscribe(bench, context);
      const { log } = bench.autopush;
      const before = log.list('hello').at(-1);
      await bench.quitBrowser();
      const after = log.mark();
      await bench.startBrowser();
      const { uaid, offered } = await log.waitFor('hello', undefined, { after });
      deepEqual([uaid, offered], [before?.uaid, before?.uaid]);
    },
  },
];
