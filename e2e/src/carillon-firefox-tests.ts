// Tests Carillon with features that only Mozilla's push service has: HTTP/2 on the wire, collapsing
// by Topic, and a service that forgets the browser.

import { deepEqual, equal } from 'node:assert/strict';
import type { CarillonBench } from './carillon-bench.ts';
import { visitDemo } from './carillon-tests.ts';
import { untilDefined } from './deadline.ts';
import type { FirefoxBench } from './push-bench.ts';
import type { Test } from './runner.ts';

export const carillonFirefoxTests: readonly Test<CarillonBench<FirefoxBench>>[] = [
  {
    name: 'pushes travel over HTTP/2, and the browser acknowledges each as shown',
    async run(bench, context) {
      const { log } = bench.push.autopush;
      const { deviceId } = await visitDemo(bench, context);
      const after = log.mark();
      await bench.carillon.send([deviceId], { title: 'Over HTTP/2' });
      const { messageId, httpVersion } = await log.waitFor('accepted', undefined, { after });
      equal(httpVersion, '2.0');
      equal((await log.waitFor('ack', (ack) => ack.messageId === messageId, { after })).code, 100);
    },
  },
  {
    name: 'a collapse_key replaces what still waits for the browser, and other messages stay',
    async run(bench, context) {
      const { carillon, push } = bench;
      const { deviceId } = await visitDemo(bench, context);
      push.autopush.hold();
      context.defer(() => push.autopush.release());
      const noon = await carillon.send([deviceId], { title: 'Weather at noon', collapse_key: 'weather' });
      const night = await carillon.send([deviceId], { title: 'Weather at night', collapse_key: 'weather' });
      const news = await carillon.send([deviceId], { title: 'News' });
      push.autopush.release();
      for (const { id } of [night, news]) {
        await carillon.waitForDelivery(id, 'displayed', ({ displayed_at }) => displayed_at !== null);
      }
      deepEqual((await carillon.findDelivery(noon.id))?.displayed_at, null);
    },
  },
  {
    name: 'when the push service forgets the browser the worker renews the device under its id',
    async run(bench, context) {
      const { carillon, push } = bench;
      const { deviceId } = await visitDemo(bench, context);
      const before = await carillon.findDevice(deviceId);
      push.autopush.forgetBrowsers();
      await untilDefined('the device to have a new token', async () => {
        const device = await carillon.findDevice(deviceId);
        return device?.status === 'active' && device.token_hint !== before?.token_hint ? device : undefined;
      });
      const { id } = await carillon.send([deviceId], { title: 'Still the same device' });
      await carillon.waitForDelivery(id, 'displayed', ({ displayed_at }) => displayed_at !== null);
    },
  },
];
