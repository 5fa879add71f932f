// The waits of a person who writes: each key in the composer, the drawn previews, and the count of
// a filter over all seeded devices.
import type { BrowserContext, Page } from 'playwright-core';
import { percentile } from '../../../rig/src/measure.ts';
import { type Figure, figure, percentiles } from '../figures.ts';
import { untilThere } from './chromium.ts';
import type { ConsoleWorld } from './world.ts';

/** Event Timing reports nothing faster than this, so a faster key counts as this long. */
const shortestToldMs = 16;
/** Pauses between keys: a fast typist's, and one after which the page renders each time. */
const pausesMs = [40, 200];
const keysEach = 120;
const rounds = 20;
const prose = 'The autumn sale has begun, and everything on the second floor is twenty percent off until Sunday. ';

const field = (page: Page, label: string) =>
  page.getByLabel(label, { exact: true }).and(page.locator('input, textarea')).first();

export async function measureComposer(owner: BrowserContext, { service, seeded }: ConsoleWorld): Promise<Figure[]> {
  const page = await owner.newPage();
  await page.goto(`${service.url}/console/apps/${seeded.id}/compose`);
  await page.getByRole('radio', { name: 'Everyone' }).click();
  await page
    .getByRole('status')
    .filter({ hasText: /^[\d,]+ devices? of/ })
    .waitFor();
  const figures = [...(await typeProse(page)), ...(await waitForPreviews(page))];
  await page.close();
  return figures;
}

async function typeProse(page: Page): Promise<Figure[]> {
  await field(page, 'Title').fill('Sale');
  await field(page, 'Body').focus();
  await page.evaluate(() => {
    for (const id of Object.keys(globalThis.noted.interactionsMs)) delete globalThis.noted.interactionsMs[Number(id)];
  });
  for (const delay of pausesMs) await page.keyboard.type(prose.repeat(2).slice(0, keysEach), { delay });
  // The browser reports an entry after the frame that ends it.
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 500)));
  const told = await page.evaluate(() => Object.values(globalThis.noted.interactionsMs));
  const keys = keysEach * pausesMs.length;
  const all = [...told, ...Array<number>(Math.max(0, keys - told.length)).fill(shortestToldMs)];
  return [
    figure(`typing, ${keys} keys: p95 to the next frame`, percentile(all, 0.95), 'ms', { atMost: 50 }),
    figure(`typing, ${keys} keys: the slowest`, Math.max(...all), 'ms'),
  ];
}

async function waitForPreviews(page: Page): Promise<Figure[]> {
  await page.evaluate(() => performance.clearResourceTimings());
  const drawn: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const title = `Round ${round}`;
    drawn.push(
      await untilThere(
        page,
        () => field(page, 'Title').fill(title),
        (wanted) => {
          const figures = [...document.querySelectorAll('figure')];
          const isDrawn = figures.length > 0 && figures.every((each) => each.textContent.includes(wanted));
          return isDrawn && performance.now() - globalThis.noted.lastInputAt;
        },
        title,
      ),
    );
  }
  const answers = await page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .filter(({ name }) => new URL(name).pathname.endsWith('/render'))
      .map(({ duration }) => duration),
  );
  return [
    ...percentiles('previews: from the question to the answer', answers, [0.95], { atMost: 150 }),
    ...percentiles('previews: from the last key to all screens drawn', drawn, [0.5, 0.95]),
  ];
}

/** Filters as people build them. Each one counts another number of devices. */
const filters: Readonly<Record<string, object>> = {
  'one country': { field: 'country', op: 'eq', value: 'DE' },
  'several countries': { field: 'country', op: 'in', value: ['US', 'GB', 'FR'] },
  'a property is': { field: 'properties.plan', op: 'eq', value: 'pro' },
  'a number is at least': { field: 'properties.orders', op: 'gte', value: 5 },
  'three conditions': {
    and: [
      { field: 'country', op: 'eq', value: 'US' },
      { field: 'properties.plan', op: 'neq', value: 'free' },
      { field: 'properties.newsletter', op: 'eq', value: true },
    ],
  },
  'one of two, and not': {
    and: [
      {
        or: [
          { field: 'properties.plan', op: 'eq', value: 'team' },
          { field: 'properties.orders', op: 'gt', value: 20 },
        ],
      },
      { not: { field: 'language', op: 'eq', value: 'en' } },
    ],
  },
  'a phone': { field: 'device.platform', op: 'in', value: ['ios', 'android'] },
  'seen within a week': { field: 'device.last_seen_at', op: 'within_last', value: '7d' },
  'did purchase within 30 days': { event: 'purchase', within: '30d' },
  'one country, and not one user': {
    and: [
      { field: 'country', op: 'eq', value: 'FR' },
      { field: 'external_id', op: 'neq', value: 'nobody' },
    ],
  },
};

const platformOrders = [
  ['web', 'ios', 'android'],
  ['ios', 'android', 'web'],
  ['android', 'web', 'ios'],
];

export async function measureCounts(owner: BrowserContext, { service, seeded }: ConsoleWorld): Promise<Figure[]> {
  const page = await owner.newPage();
  await page.goto(`${service.url}/console/apps/${seeded.id}/segments/new`);
  const json = page.getByLabel('Filter as JSON', { exact: true });
  await json.waitFor();
  const figures: Figure[] = [];
  for (const [name, filter] of Object.entries(filters)) {
    const times: number[] = [];
    for (let again = 0; again < 3; again++) {
      // All platforms, in an order that was not used before, so that each count does the same work
      // for the same devices. A condition on a field outside of the indexes would make every count
      // read whole rows.
      const asked = { and: [filter, { field: 'device.platform', op: 'in', value: platformOrders[again] }] };
      times.push(await countOnce(page, again === 0 ? filter : asked));
    }
    figures.push(figure(`count: ${name}, after the last change`, Math.max(...times), 'ms', { atMost: 300 }));
  }
  await page.close();
  return figures;
}

/** Changes the filter and waits until its count is shown. */
function countOnce(page: Page, filter: object): Promise<number> {
  const json = page.getByLabel('Filter as JSON', { exact: true });
  return untilThere(
    page,
    () => json.fill(JSON.stringify(filter)),
    (text) => {
      const { activeElement: area } = document;
      const status = document.querySelector('.live-count');
      const isAsked = area instanceof HTMLTextAreaElement && area.value === text;
      const isCounted =
        isAsked && status?.getAttribute('aria-busy') === 'false' && /\d devices? of/.test(status.textContent);
      return isCounted && performance.now() - globalThis.noted.lastInputAt;
    },
    JSON.stringify(filter),
  );
}
