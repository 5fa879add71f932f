import { expect, it, onTestFinished } from 'vitest';
import { lookupPlaces } from '../../src/ground/outbound/address-guard.ts';
import { createNameLookups } from '../../src/ground/outbound/name-lookups.ts';
import { startPushServer } from './push-server.ts';
import { createTestChannel, pushTo, subscriptionTo } from './webpush-bundle.ts';

const providers = ['fcm.googleapis.com', 'jmt17.google.com', 'web.push.apple.com', 'updates.push.services.mozilla.com'];
const region = 'wns2-test.notify.windows.com';

/**
 * Name lookups of a process. Real hosts are resolved at once; others are refused when the test says
 * so.
 */
function createLookups() {
  const unanswered: (() => void)[] = [];
  const lookup = createNameLookups((host) => {
    if (host === region || providers.includes(host)) return Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
    return new Promise((_resolve, reject) => {
      unanswered.push(() => reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })));
    });
  }, lookupPlaces);
  const answerAll = (): void => {
    for (const answer of unanswered.splice(0)) answer();
  };
  return { lookup, unanswered, answerAll };
}

async function setUp() {
  const server = await startPushServer({ protocol: 'http/1.1' });
  onTestFinished(() => server.close());
  const names = createLookups();
  const channel = createTestChannel({ resolver: names.lookup, allowPorts: String(server.port) });
  onTestFinished(async () => {
    const timer = setInterval(names.answerAll, 10);
    await channel.close();
    clearInterval(timer);
  });
  const sendTo = (host: string, device = 'a') =>
    channel.send(pushTo(subscriptionTo(`https://${host}:${server.port}/wpush/v2/${device}`)));
  /** Pushes to hosts that do not exist and whose lookups stay unanswered. */
  const invent = (count: number) =>
    Array.from({ length: count }, (_, i) => {
      const domain = ['notify.windows.com', 'push.services.mozilla.com', 'push.apple.com'][i % 3];
      return sendTo(`invented-${i}.${domain}`);
    });
  return { names, sendTo, invent };
}

it('R-27 every device at a real push host is reached, however many invented hosts hang', async () => {
  const { names, sendTo, invent } = await setUp();
  // A regional host counts as real once it has been resolved.
  expect((await sendTo(region)).kind).toBe('sent');
  const invented = invent(300);
  const genuine = [...providers, region].flatMap((host) => ['a', 'b', 'c', 'd'].map((device) => sendTo(host, device)));
  expect((await Promise.all(genuine)).map(({ kind }) => kind)).toEqual(genuine.map(() => 'sent'));
  expect(names.unanswered).toHaveLength(lookupPlaces.ofProvidersMax);
  names.answerAll();
  // Pushes that got no place were not tried and report that.
  const ends = await Promise.all(invented);
  expect(ends.filter((end) => end.kind === 'refused' && end.isUntried).length).toBeGreaterThan(250);
});

it('R-27 a new real host beside them is not tried at first, and is reached when there is room', async () => {
  const { names, sendTo, invent } = await setUp();
  const invented = invent(lookupPlaces.ofProvidersMax);
  expect(await sendTo(region)).toMatchObject({
    kind: 'refused',
    isUntried: true,
    provider: { transportError: 'dns_error' },
  });
  names.answerAll();
  for (const end of await Promise.all(invented)) expect(end).not.toHaveProperty('isUntried');
  expect((await sendTo(region)).kind).toBe('sent');
});
