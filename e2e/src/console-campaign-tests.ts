// A campaign as one story in one browser, by role and label only: a segment, a message for it in
// two languages and each person's local time, what the push services got of it, and what it earned.
import { equal } from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { ConsoleApp, ConsoleBench } from './console-bench.ts';
import { field, makePhone, readDrawn, readInbox } from './console-compose-tests.ts';
import { choose, countOf } from './console-segment-tests.ts';
import { untilEqual } from './deadline.ts';
import type { Test } from './runner.ts';

/**
 * Long enough for the last clicks before the time comes, and as short as a minute's clock allows.
 */
const leadMs = 40_000;
const minuteMs = 60_000;

export const consoleCampaignTests: readonly Test<ConsoleBench>[] = [
  {
    name: 'a campaign: a segment is built, composed for in two languages, sent at a local time as previewed, and earns',
    timeoutMs: 360_000,
    async run(bench, context) {
      const app = await makeReaders(bench);
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await buildSegment(bench, page, app);
      await writeTexts(page);
      const expected = await lookAtPreviews(page);
      const message = await schedule(page);
      await page.getByText(/Sent to 4 of 4 devices/).waitFor({ timeout: leadMs + 3 * minuteMs });
      await untilEqual(() => readInbox(bench, message), expected);
      await readRevenue(bench, page, app);
    },
  },
];

/**
 * Zoë reads German on three devices, Emma English in a zone that is ahead, and Luc is somewhere
 * else.
 */
async function makeReaders(bench: ConsoleBench): Promise<ConsoleApp> {
  const app = await bench.makeApp('A campaign');
  const tell = (profile: object, device: string) =>
    bench.stage.api(app.serverKey, 'POST', '/v1/users', { ...profile, device_id: device });
  const zoe = { external_id: 'zoe', first_name: 'Zoë', country: 'DE', language: 'de', timezone: 'Europe/Berlin' };
  for (const device of [
    (await bench.makeDevice(app)).id,
    await makePhone(bench, app, 'ios'),
    await makePhone(bench, app, 'android'),
  ]) {
    await tell({ ...zoe, properties: { book: 'Die Wellen' } }, device);
  }
  const emma = { external_id: 'emma', first_name: 'Emma', country: 'GB', language: 'en', timezone: 'Asia/Tokyo' };
  await tell(emma, (await bench.makeDevice(app)).id);
  await tell({ external_id: 'luc', country: 'FR', timezone: 'Europe/Paris' }, (await bench.makeDevice(app)).id);
  return app;
}

async function buildSegment(bench: ConsoleBench, page: Page, app: ConsoleApp): Promise<void> {
  await page.goto(bench.url(`/apps/${app.id}/segments/new`));
  await page.getByRole('button', { name: 'Condition', exact: true }).click();
  await choose(page, 'Condition 1: field', 'country');
  await choose(page, 'Condition 1: operator', 'is not');
  await page.getByLabel('Condition 1: value', { exact: true }).first().fill('FR');
  const counted = await countOf(bench, app, { field: 'country', op: 'neq', value: 'FR' });
  equal(counted, 4);
  await page
    .getByRole('status')
    .filter({ hasText: `${counted} devices of 2 users` })
    .waitFor();
  await page.getByRole('textbox', { name: /^Name/ }).fill('Readers outside France');
  await page.getByRole('button', { name: 'Make the segment' }).click();
  await page.getByRole('heading', { name: 'Readers outside France' }).waitFor();
  await page.getByRole('link', { name: 'Compose for this segment' }).click();
  await page.getByText(`${counted} devices`).first().waitFor();
}

/** One text for everybody, another one for German readers, and a title of its own on iPhones. */
async function writeTexts(page: Page): Promise<void> {
  await field(page, 'Title').fill("Hello {{first_name | default: 'reader'}}");
  await field(page, 'Body').fill("{{properties.book | default: 'Your next book'}} waits for you.");
  await page.getByRole('button', { name: 'Add a language' }).click();
  await field(page, 'Language').fill('de');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('tab', { name: /^German/, selected: true }).waitFor();
  await field(page, 'Title').fill("Hallo {{first_name | default: 'du'}}");
  await field(page, 'Body').fill("{{properties.book | default: 'Dein Buch'}} liegt bereit.");
  await page.getByRole('tab', { name: /Apple push/ }).click();
  await page.getByRole('tab', { name: /Apple push/, selected: true }).waitFor();
  await field(page, 'Title').fill("{{first_name | default: 'Reader'}} & iPhone");
}

/** Compares the drawn screens of both readers, and returns what their devices have to get. */
async function lookAtPreviews(page: Page): Promise<readonly string[]> {
  const everywhere = 'Hallo Zoë | Die Wellen liegt bereit.';
  const onIphone = 'Zoë & iPhone | Die Wellen liegt bereit.';
  const ofEmma = 'Hello Emma | Your next book waits for you.';
  await page.getByLabel('As this user sees it').fill('zoe');
  await untilEqual(() => readDrawn(page), {
    'iPhone preview': onIphone,
    'Android preview': everywhere,
    'Chrome on Windows preview': everywhere,
    'Chrome on macOS preview': everywhere,
    'Firefox preview': everywhere,
  });
  await page.getByLabel('As this user sees it').fill('emma');
  await untilEqual(async () => (await readDrawn(page))['Chrome on Windows preview'], ofEmma);
  return [`android: ${everywhere}`, `chrome: ${everywhere}`, `chrome: ${ofEmma}`, `ios: ${onIphone}`].sort();
}

async function schedule(page: Page): Promise<string> {
  await page.getByText('Name and metadata').click();
  await field(page, 'Name').fill('Books for autumn');
  await page.getByRole('radio', { name: 'At a time' }).click();
  // The switch is there as soon as a time may be typed; the time comes last, because it passes.
  await page.getByRole('switch', { name: "In each person's local time" }).click();
  await page.getByRole('radio', { name: /Send there at once/ }).click();
  await page.getByLabel('Date and time').fill(soonIn('Europe/Berlin'));
  await page.getByRole('button', { name: 'Schedule for 4 devices' }).click();
  await page.getByRole('heading', { name: 'Books for autumn' }).waitFor();
  await page.getByText('Scheduled', { exact: true }).first().waitFor();
  return /messages\/(?<id>msg_\w+)/.exec(page.url())?.groups?.['id'] ?? '';
}

/** The next minute on the clock of a zone that leaves time to click, in the form of the field. */
function soonIn(timeZone: string): string {
  const at = new Date(Math.ceil((Date.now() + leadMs) / minuteMs) * minuteMs);
  const text = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }).format(at);
  return text.replace(' ', 'T');
}

async function readRevenue(bench: ConsoleBench, page: Page, app: ConsoleApp): Promise<void> {
  const purchase = (externalId: string, amount: number) => ({
    name: 'purchase',
    external_id: externalId,
    properties: { amount, currency: 'EUR' },
  });
  // Luc was not in the segment, so nothing of his purchase is the message's.
  const events = [purchase('zoe', 49.9), purchase('luc', 10)];
  await bench.stage.api(app.serverKey, 'POST', '/v1/events', { events });
  await page.reload();
  await page.getByRole('region', { name: 'Funnel' }).getByText('€49.90').waitFor();
  await page.getByRole('link', { name: 'Reports', exact: true }).click();
  await page.getByText('€59.90 in 2 purchases. €0.00 followed a click, €49.90 a push that was not clicked.').waitFor();
  const rows = page.getByRole('region', { name: /^Revenue by message/ }).getByRole('row');
  const cells = rows.filter({ hasText: 'Books for autumn' }).getByRole('cell');
  await untilEqual(async () => (await cells.allInnerTexts()).slice(-3), ['€0.00', '€49.90', '1']);
}
