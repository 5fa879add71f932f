// The looks that once were wrong: drawn screens that leave their column, tabs that move
// under the pointer, lengths of another language, a card on paper that says nothing.
import { deepEqual, equal } from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { ConsoleApp, ConsoleBench } from './console-bench.ts';
import { field } from './console-compose-tests.ts';
import { untilEqual } from './deadline.ts';
import type { Test } from './runner.ts';

const image = `https://harbour-books.example/${'autumn-'.repeat(12)}sale.png`;
const content = {
  title: 'Autumn sale',
  body: 'Everything 20% off.',
  image,
  locales: { de: { title: 'Der lange Herbst-Ausverkauf' } },
  webpush: {
    actions: [
      { action: 'buy', title: 'Buy now' },
      { action: 'later', title: 'Remind me later' },
    ],
  },
};

async function openComposer(bench: ConsoleBench, app: ConsoleApp, page: Page): Promise<void> {
  const { serviceUrl: origin } = bench.stage;
  const made = await page.request.post(`${origin}/console/api/apps/${app.id}/drafts`, {
    headers: { origin },
    data: { message: { audience: { all: true }, content } },
  });
  const { id } = (await made.json()) as { id: string };
  await page.goto(bench.url(`/apps/${app.id}/compose?draft=${id}`));
}

const widthOf = (page: Page): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth);

export const consoleLookTests: readonly Test<ConsoleBench>[] = [
  {
    name: 'compose: a long image address and two buttons stay inside the drawn screens, wide and on a phone',
    async run(bench, context) {
      const app = await bench.makeApp('Inside the screen');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await openComposer(bench, app, page);
      const screen = page.getByRole('figure', { name: 'Chrome on Windows preview' });
      await screen.getByText('Remind me later').waitFor();
      equal(await widthOf(page), 1440);
      await page.setViewportSize({ width: 390, height: 844 });
      await page.getByRole('radiogroup', { name: 'Step' }).getByText('Preview', { exact: true }).click();
      await screen.getByText('Remind me later').waitFor();
      equal(await widthOf(page), 390);
    },
  },
  {
    name: 'compose: the texts of a language are drawn and counted while its tab is open',
    async run(bench, context) {
      const app = await bench.makeApp('Counted in German');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await openComposer(bench, app, page);
      const lengths = page.getByRole('list', { name: 'Length of the title on each screen' });
      const shown = page.getByRole('figure', { name: 'iPhone preview' }).getByRole('strong');
      await untilEqual(() => shown.innerText(), 'Autumn sale');
      await lengths.getByText('iPhone 11/').waitFor();
      await page.getByRole('tab', { name: /^German/ }).click();
      await untilEqual(() => shown.innerText(), 'Der lange Herbst-Ausverkauf');
      await lengths.getByText('iPhone 27/').waitFor();
      await untilEqual(() => field(page, 'In this language').inputValue(), 'German');
      await page.getByRole('tab', { name: /Apple push/ }).click();
      await untilEqual(() => shown.innerText(), 'Autumn sale');
    },
  },
  {
    name: 'compose: no tab moves when a tab before it begins to count its differences',
    async run(bench, context) {
      const app = await bench.makeApp('Steady tabs');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await openComposer(bench, app, page);
      const tab = page.getByRole('tab', { name: /Web push/ });
      await tab.click();
      await page.getByRole('tab', { name: 'Web push 1 differ' }).waitFor();
      const boxes = async () => {
        const found = await Promise.all((await page.getByRole('tab').all()).map((each) => each.boundingBox()));
        // The page may scroll to what is clicked.
        return found.map((box) => box && { ...box, y: box.y - (found[0]?.y ?? 0) });
      };
      const before = await boxes();
      await page.getByRole('button', { name: 'Remove button 2' }).click();
      await page.getByRole('button', { name: 'Remove button 1' }).click();
      await page.getByRole('tab', { name: 'Web push', exact: true }).waitFor();
      deepEqual(await boxes(), before);
    },
  },
  {
    name: 'compose: where no device is active, the way to the first one is shown',
    async run(bench, context) {
      const app = await bench.makeApp('Nobody yet');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/compose`));
      await page.getByRole('link', { name: 'The set-up guide' }).click();
      await page.getByText('Register the first device').waitFor();
    },
  },
  {
    name: 'settings: the page of one key stands under the tab Keys',
    async run(bench, context) {
      const app = await bench.makeApp('One key');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/settings`));
      await page.getByRole('link', { name: 'Server key' }).click();
      await page.getByRole('heading', { name: 'Server key' }).waitFor();
      const tabs = page.getByRole('navigation', { name: 'Settings' });
      await untilEqual(() => tabs.locator('[aria-current="page"]').allInnerTexts(), ['Keys']);
    },
  },
  {
    name: 'reports: revenue by segment is on paper only where segments are chosen',
    async run(bench, context) {
      const app = await bench.makeApp('On paper');
      const { stage } = bench;
      await stage.api(app.serverKey, 'POST', '/v1/events', {
        name: 'purchase',
        external_id: 'u-1',
        properties: { amount: 5, currency: 'EUR' },
      });
      const filter = { field: 'country', op: 'eq', value: 'DE' };
      const { id } = await stage.api(app.serverKey, 'POST', '/v1/segments', { name: 'Germans', filter });
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      const card = page.getByRole('heading', { name: 'By segment' });
      await page.goto(bench.url(`/apps/${app.id}/reports`));
      await card.waitFor();
      await page.emulateMedia({ media: 'print' });
      await untilEqual(() => card.isVisible(), false);
      equal(await page.getByRole('heading', { name: 'Revenue by day in EUR' }).isVisible(), true);
      await page.goto(bench.url(`/apps/${app.id}/reports?segments=${id}`));
      await page.getByRole('link', { name: 'Germans' }).waitFor();
      equal(await card.isVisible(), true);
    },
  },
];
