// The reports as a person in marketing uses them, by role and label only: read what a campaign
// brought, by zone and currency, as a table and as CSV, and hand on a link to it.
import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import type { ConsoleApp, ConsoleBench } from './console-bench.ts';
import { untilEqual } from './deadline.ts';
import type { Test } from './runner.ts';

const dayMs = 86_400_000;

/** A day as the tables of reports name it. */
const nameOfDay = (at: string): string =>
  new Intl.DateTimeFormat('en-US', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  } as Intl.DateTimeFormatOptions).format(new Date(at));

async function choose(page: Page, field: string, option: string): Promise<void> {
  const input = page.getByRole('combobox', { name: field });
  await input.click();
  if (field === 'Time zone') await input.fill(option);
  await page.getByRole('option', { name: option, exact: true }).click();
}

/** The cells of a row of a table, by the row's name. */
async function cellsOf(page: Page, table: RegExp, row: string, holds = ''): Promise<string[]> {
  const rows = page.getByRole('region', { name: table }).getByRole('row');
  const found = rows.filter({ hasText: row }).filter({ hasText: holds });
  await found.waitFor();
  return found.getByRole('cell').allInnerTexts();
}

async function makeCampaign(bench: ConsoleBench): Promise<{ app: ConsoleApp; message: string; late: string }> {
  const { stage } = bench;
  const app = await bench.makeApp('Campaign Books');
  const { id } = await bench.makeDevice(app);
  await stage.api(app.serverKey, 'POST', '/v1/users', { external_id: 'u-1', device_id: id, country: 'DE' });
  const filter = { field: 'country', op: 'eq', value: 'DE' };
  await stage.api(app.serverKey, 'POST', '/v1/segments', { name: 'Germans', filter });
  const message = await bench.send(app, {
    name: 'Spring sale',
    audience: { all: true },
    content: { title: 'Sale', body: 'Now on' },
  });
  const buy = (amount: number, currency: string, more: object) => ({
    name: 'purchase',
    properties: { amount, currency },
    ...more,
  });
  // Half past ten in the evening in UTC is the next morning in Tokyo.
  const late = `${new Date(Date.now() - 3 * dayMs).toISOString().slice(0, 10)}T22:30:00.000Z`;
  const events = [
    buy(20, 'EUR', { external_id: 'u-1' }),
    buy(5.5, 'EUR', { external_id: 'u-1' }),
    buy(100, 'EUR', { external_id: 'nobody', occurred_at: late }),
    buy(7, 'USD', { external_id: 'u-1' }),
  ];
  await stage.api(app.serverKey, 'POST', '/v1/events', { events });
  return { app, message, late };
}

export const consoleReportTests: readonly Test<ConsoleBench>[] = [
  {
    name: 'a report opened by its address asks for all its figures before any answer but the session is there',
    timeoutMs: 60_000,
    async run(bench, context) {
      const app = await bench.makeApp('Quick Books');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      const asked: string[] = [];
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      await page.route(new RegExp(`/console/api/apps/${app.id}($|/reports/revenue)`), async (route) => {
        const { pathname, searchParams } = new URL(route.request().url());
        const day = searchParams.get('from')?.slice(0, 10);
        asked.push([pathname.split('/').at(-1), day, searchParams.get('group')].filter(Boolean).join(' '));
        await released;
        await route.continue();
      });
      await page.goto(bench.url(`/apps/${app.id}/reports?from=2026-11-08&to=2026-11-14&tz=UTC&by=day`));
      const all = [app.id, 'revenue 2026-11-01', 'revenue 2026-11-08 day'];
      await untilEqual(() => [...new Set(asked)].sort(), all);
      release();
      await page.getByText('Nothing was bought in this range.').waitFor();
      equal(asked.length, all.length);
    },
  },
  {
    name: 'a day of a report is typed digit by digit, and the other day stays',
    async run(bench, context) {
      const app = await bench.makeApp('Typed days');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      const asked: string[] = [];
      page.on('request', (request) => {
        const { pathname, searchParams } = new URL(request.url());
        if (pathname.endsWith('/reports/revenue')) asked.push(searchParams.get('to')?.slice(0, 10) ?? '');
      });
      await page.goto(bench.url(`/apps/${app.id}/reports?from=2025-02-10&to=2025-03-20&tz=UTC`));
      await page.getByText('Nothing was bought in this range.').waitFor();
      // The month 1, and the year 2, come by on the way to 12/15/2025.
      await page.getByLabel('To', { exact: true }).focus();
      await page.keyboard.type('12152025', { delay: 30 });
      await page.waitForURL(/to=2025-12-15/);
      match(page.url(), /from=2025-02-10/);
      await untilEqual(() => page.getByLabel('From', { exact: true }).inputValue(), '2025-02-10');
      const meant = ['2025-02-10', '2025-03-21', '2025-12-16'];
      deepEqual(
        asked.filter((day) => !meant.includes(day)),
        [],
      );
      // A day behind the last one is not taken.
      await page.getByLabel('From', { exact: true }).focus();
      await page.keyboard.type('12312025');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await untilEqual(() => page.getByLabel('From', { exact: true }).inputValue(), '2025-02-10');
    },
  },
  {
    name: 'the revenue of a campaign is read by zone and currency, as a table and as CSV, and by its link',
    timeoutMs: 180_000,
    async run(bench, context) {
      const { app, message, late } = await makeCampaign(bench);
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}`));
      await page.getByRole('link', { name: 'Reports', exact: true }).click();
      await page
        .getByText('€125.50 in 3 purchases. €0.00 followed a click, €25.50 a push that was not clicked.')
        .waitFor();

      // The chart is read by keys, and its table has the same numbers.
      await choose(page, 'Time zone', 'UTC');
      const chart = page.getByRole('img', { name: /^Revenue by day in EUR/ });
      await chart.focus();
      await page.keyboard.press('ArrowLeft');
      await page.getByText('Influenced €25.50').waitFor();
      await page.getByRole('button', { name: 'Table of Revenue by day in EUR' }).click();
      const table = /^Revenue by day/;
      const ofLate = ['€100.00', '1', '€0.00', '€0.00', '€100.00', '€0.00'];
      await untilEqual(() => cellsOf(page, table, nameOfDay(late)), ofLate);
      await choose(page, 'Time zone', 'Asia/Tokyo');
      const nextDay = new Date(Date.parse(late) + dayMs).toISOString();
      const cells = await cellsOf(page, table, nameOfDay(nextDay), '€100.00');
      equal(cells[0], '€100.00');

      const saved = page.waitForEvent('download');
      await page.getByRole('button', { name: 'CSV of Revenue by day in EUR' }).click();
      const csv = readFileSync(await (await saved).path(), 'utf8')
        .trimEnd()
        .split('\r\n');
      match(csv[0] ?? '', /^from,to,message_id,currency,total,/);
      const ofMessage = csv.filter((row) => row.includes(message)).map((row) => row.split(',').slice(3, 6));
      deepEqual(ofMessage.sort(), [
        ['EUR', '25.5', '2'],
        ['USD', '7', '1'],
      ]);

      await choose(page, 'Currency', 'USD');
      await page.getByText('$7.00 in 1 purchase.').waitFor();
      const link = page.url();
      const other = await browser.newPage();
      await other.goto(link);
      await other.getByText('$7.00 in 1 purchase.').waitFor();
      await untilEqual(() => other.getByRole('combobox', { name: 'Time zone' }).inputValue(), 'Asia/Tokyo');
      await other.getByRole('button', { name: 'Chart of Revenue by day in USD' }).waitFor();

      // The people of a segment, beside everybody.
      await other.getByRole('combobox', { name: 'Segments' }).or(other.getByLabel('Segments')).first().click();
      await other.getByRole('option', { name: 'Germans' }).click();
      deepEqual((await cellsOf(other, /^Revenue by segment/, 'Germans', '$7.00')).slice(0, 2), ['$7.00', '1']);
      await other.waitForURL(/segments=seg_/);
      const ofSegments = other.waitForEvent('download');
      await other.getByRole('button', { name: 'CSV of segments' }).click();
      const rows = readFileSync(await (await ofSegments).path(), 'utf8')
        .trimEnd()
        .split('\r\n');
      match(rows[0] ?? '', /^segment_id,segment,currency,total,purchases,direct,/);
      const told = rows.slice(1).map((row) => row.split(',').slice(1, 5));
      deepEqual(told.sort(), [
        ['Germans', 'EUR', '25.5', '2'],
        ['Germans', 'USD', '7', '1'],
      ]);

      // From the revenue to its message, whose funnel ends with the same purchases.
      await other.getByRole('link', { name: 'Spring sale' }).click();
      await other.getByRole('region', { name: 'Funnel' }).getByText('€25.50, $7.00').waitFor();
      await other.getByRole('heading', { name: 'Sent over time' }).waitFor();
    },
  },
  {
    name: 'a report is printed black on white also from a dark screen, without the frame and with its range',
    async run(bench, context) {
      const { app } = await makeCampaign(bench);
      const browser = await bench.owner({ colorScheme: 'dark' });
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/reports?tz=UTC`));
      const chart = page.getByRole('img', { name: /^Revenue by day in EUR/ });
      await chart.waitFor();
      const lightness = () =>
        page.evaluate(() => {
          const [text = 0, ground = 0] = ['color', 'background-color'].map((name) => {
            const parts = getComputedStyle(document.body).getPropertyValue(name).match(/\d+/g) ?? [];
            return parts.slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
          });
          return { text, ground };
        });
      const onScreen = await lightness();
      ok(onScreen.text > onScreen.ground, 'the screen is dark');
      await page.setViewportSize({ width: 718, height: 1000 });
      await page.emulateMedia({ media: 'print' });
      // A browser tells the page before it prints; an emulated medium alone does not.
      await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
      const onPaper = await lightness();
      ok(onPaper.text < 250 && onPaper.ground === 3 * 255, JSON.stringify(onPaper));
      await page.getByText(/, days of UTC$/).waitFor();
      equal(await page.getByRole('navigation').filter({ visible: true }).count(), 0);
      equal(await page.getByRole('button').filter({ visible: true }).count(), 0);
      const { x = 0, width = 999 } = (await chart.boundingBox()) ?? {};
      ok(x + width <= 718, `the chart ends at ${x + width}`);
      await page.emulateMedia({ media: 'screen' });
      await page.evaluate(() => window.dispatchEvent(new Event('afterprint')));
      const again = await lightness();
      deepEqual(again, onScreen);
      equal((await page.pdf({ format: 'A4' })).subarray(0, 5).toString(), '%PDF-');
    },
  },
  {
    name: 'engagement, audience and deliverability tell what was sent, in the same range',
    async run(bench, context) {
      const { app } = await makeCampaign(bench);
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/reports?tz=UTC&view=table`));
      const tabs = page.getByRole('navigation', { name: 'Reports' });
      await tabs.getByRole('link', { name: 'Engagement' }).click();
      await page.getByText('0 clicks on 1 sent push').waitFor();
      equal((await cellsOf(page, /^Engagement by message/, 'Spring sale'))[1], '1');
      await tabs.getByRole('link', { name: 'Audience' }).click();
      await page.getByText('1 active device at the end: 1 registered, 0 lost.').waitFor();
      await tabs.getByRole('link', { name: 'Deliverability' }).click();
      await page.getByText('1 push sent, and none failed.').waitFor();
      deepEqual((await cellsOf(page, /^Deliverability by push service/, 'Web, Google')).slice(0, 3), ['1', '0', '0%']);
      match(page.url(), /tz=UTC/);
    },
  },
];
