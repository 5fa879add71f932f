// The waits of a person who reads: the first page with an empty cache, then page after page by
// clicks, and the reports.
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { median } from '../../../rig/src/measure.ts';
import { type Figure, figure } from '../figures.ts';
import { untilThere, withColdCache } from './chromium.ts';
import type { ConsoleWorld } from './world.ts';

const bytesPerKb = 1000;
const dayMs = 86_400_000;
const reportDays = 90;

export async function measurePages(browser: Browser, owner: BrowserContext, world: ConsoleWorld): Promise<Figure[]> {
  const context = await withColdCache(browser, owner);
  const page = await context.newPage();
  const first = await openFirstPage(page, `${world.service.url}/console/apps/${world.seeded.id}`);
  const navigation = page.getByRole('navigation', { name: 'App' });
  const link = (name: string): Locator => navigation.getByRole('link', { name, exact: true });
  const rowOf = (list: string): Locator => page.getByRole('list', { name: list }).getByRole('link').first();
  const clicks: readonly (readonly [name: string, link: Locator, path: string])[] = [
    ['Messages', link('Messages'), '/messages$'],
    ['a message', rowOf('Messages'), '/messages/msg_'],
    ['a delivery', rowOf('Deliveries'), '/deliveries/'],
    ['Users', link('Users'), '/users$'],
    ['a user', rowOf('Users'), '/users/'],
    ['Devices', link('Devices'), '/devices$'],
    ['a device', rowOf('Devices'), '/devices/'],
    ['Segments', link('Segments'), '/segments$'],
    ['Properties', link('Properties'), '/properties$'],
    ['Events', link('Events'), '/events$'],
    ['Developers', link('Developers'), '/developers$'],
    ['Settings', link('Settings'), '/settings$'],
    ['Overview', link('Overview'), `/${world.seeded.id}$`],
  ];
  const toContent: Figure[] = [];
  for (const [name, target, path] of clicks) {
    const ms = await clickToContent(page, target, path);
    toContent.push(figure(`${name}: click to content`, ms, 'ms', { atMost: 500 }));
  }
  const answers = await readInteractions(page);
  const reports = await measureReportPages(page, world);
  const slowest = Math.max(...answers, ...(await readInteractions(page)));
  await context.close();
  return [
    ...first,
    figure('slowest answer to a click, to its next frame', slowest, 'ms', { atMost: 100 }),
    ...toContent,
    ...reports,
  ];
}

async function openFirstPage(page: Page, address: string): Promise<Figure[]> {
  const client = await page.context().newCDPSession(page);
  await client.send('Network.enable');
  const scripts = new Set<string>();
  let scriptBytes = 0;
  client.on('Network.responseReceived', ({ requestId, type }) => void (type === 'Script' && scripts.add(requestId)));
  client.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (scripts.has(requestId)) scriptBytes += encodedDataLength;
  });
  await page.goto(address);
  const contentMs = await untilThere(page, async () => {}, hasContent, '');
  // The browser reports a paint one frame later.
  await page.waitForFunction(() => globalThis.noted.largestPaintMs > 0);
  const paintMs = await page.evaluate(() => globalThis.noted.largestPaintMs);
  await client.detach();
  return [
    figure('first page, cold: script, compressed', scriptBytes / bytesPerKb, 'kB', { atMost: 300 }),
    figure('first page, cold: largest paint', paintMs, 'ms', { atMost: 1500 }),
    figure('first page, cold: all content', contentMs, 'ms'),
  ];
}

/** The durations of clicks in the present document. Clicks of less than a frame are omitted. */
const readInteractions = (page: Page): Promise<number[]> =>
  page.evaluate(() => [0, ...Object.values(globalThis.noted.interactionsMs)]);

/**
 * Runs in the page. Returns whether the page is shown: its address contains `path` (or ends with
 * it, if `path` ends with `$`), and nothing is loading.
 */
function hasContent(path: string): number | false {
  const { pathname } = location;
  const isThere =
    (path.endsWith('$') ? pathname.endsWith(path.slice(0, -1)) : pathname.includes(path)) &&
    document.querySelector('main h1') !== null &&
    document.querySelector('main [aria-label="Loading"], main [aria-busy="true"]') === null;
  return isThere && performance.now() - globalThis.noted.lastInputAt;
}

function clickToContent(page: Page, target: Locator, path: string): Promise<number> {
  return untilThere(page, () => target.click(), hasContent, path);
}

/** Ninety days in each report; the first one is opened by its address, the others by a click. */
async function measureReportPages(page: Page, { service, reportsApp }: ConsoleWorld): Promise<Figure[]> {
  const day = (ago: number): string => new Date(Date.now() - ago * dayMs).toISOString().slice(0, 10);
  const range = `?from=${day(reportDays - 1)}&to=${day(0)}&tz=UTC`;
  const tabs = page.getByRole('navigation', { name: 'Reports' });
  const times: Record<string, number[]> = {};
  const note = (name: string, ms: number): void => {
    times[name] = [...(times[name] ?? []), ms];
  };
  for (let round = 0; round < 3; round++) {
    await page.goto(`${service.url}/console/apps/${reportsApp}/reports${range}`);
    note('Revenue, opened by its address', await untilThere(page, async () => {}, hasContent, '/reports$'));
    for (const [name, path] of [
      ['Engagement', '/engagement$'],
      ['Audience', '/audience$'],
      ['Deliverability', '/deliverability$'],
      ['Revenue', '/reports$'],
    ] as const) {
      note(name, await clickToContent(page, tabs.getByRole('link', { name, exact: true }), path));
    }
  }
  return Object.entries(times).map(([name, ms]) =>
    figure(`report over all events: ${name}`, median(ms), 'ms', { atMost: 1000 }),
  );
}
