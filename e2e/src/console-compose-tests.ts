// The composer as a person in marketing uses it: from the sign-in to a scheduled message, and from
// the drawn preview to what browsers and phones decrypted.
import { equal, ok } from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { type ConsoleApp, type ConsoleBench, owner } from './console-bench.ts';
import { untilDefined, untilEqual } from './deadline.ts';
import type { Test } from './runner.ts';

/** Contract of the console: from signed in to a scheduled segment message. */
const interactionsMax = 12;

export const consoleComposeTests: readonly Test<ConsoleBench>[] = [
  {
    name: 'compose: a segment message is scheduled within twelve interactions from the sign-in',
    async run(bench, context) {
      const app = await bench.makeApp('Twelve steps');
      await bench.makeDevice(app, { locale: 'de-DE' });
      await makeSegment(bench, app, 'German devices');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url('/'));
      const counted = counter();
      await counted.click(page.getByRole('link', { name: 'Twelve steps' }).first());
      await counted.click(
        page.getByRole('navigation', { name: 'App' }).getByRole('link', { name: 'Compose', exact: true }),
      );
      await counted.click(page.getByRole('radio', { name: 'A segment' }));
      await counted.click(field(page, 'Segment'));
      await counted.click(page.getByRole('option', { name: 'German devices' }));
      await counted.fill(field(page, 'Title'), 'Sonntag ist Markt');
      await counted.fill(field(page, 'Body'), 'Von acht bis zwölf.');
      await counted.click(page.getByRole('radio', { name: 'At a time' }));
      await counted.fill(page.getByLabel('Date and time'), tomorrow());
      await counted.click(page.getByRole('button', { name: 'Schedule for 1 device' }));
      await page.getByRole('heading', { name: 'Sonntag ist Markt' }).waitFor();
      await page.getByText('Scheduled', { exact: true }).first().waitFor();
      ok(counted.count() <= interactionsMax, `${counted.count()} interactions`);
      process.stdout.write(`  ${counted.count()} interactions\n`);
    },
  },
  {
    name: 'compose: every drawn screen shows the text that its browser or phone decrypts',
    timeoutMs: 120_000,
    async run(bench, context) {
      const app = await bench.makeApp('As previewed');
      const person = { external_id: 'u-42', first_name: 'Zoë', language: 'de', properties: { book: 'Die Wellen' } };
      for (const device of [
        (await bench.makeDevice(app)).id,
        await makePhone(bench, app, 'ios'),
        await makePhone(bench, app, 'android'),
      ]) {
        await bench.stage.api(app.serverKey, 'POST', '/v1/users', { ...person, device_id: device });
      }
      await makeSegment(bench, app, 'Readers', { field: 'language', op: 'eq', value: 'de' });
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/compose`));
      await page.getByRole('radio', { name: 'A segment' }).click();
      await field(page, 'Segment').click();
      await page.getByRole('option', { name: 'Readers' }).click();
      await page.getByText('3 devices').first().waitFor();

      // `{{` offers values with samples, and asks for what stands there without one.
      const title = field(page, 'Title');
      await title.pressSequentially('Hello {{fir');
      await page.getByRole('button', { name: /first_name/ }).click();
      await page.getByLabel(/Instead of first_name/).fill('reader');
      await page.getByRole('button', { name: 'Insert', exact: true }).click();
      await untilEqual(() => title.inputValue(), "Hello {{first_name | default: 'reader'}}");
      await field(page, 'Body').fill('Your next book waits.');
      await page.getByRole('button', { name: 'Add a language' }).click();
      await field(page, 'Language').fill('de');
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByRole('tab', { name: /^German/, selected: true }).waitFor();
      await field(page, 'Title').fill("Hallo {{first_name | default: 'du'}}");
      await field(page, 'Body').fill('{{properties.book}} liegt bereit.');
      await page.getByRole('tab', { name: /Apple push/ }).click();
      await field(page, 'Subtitle').fill('Heute');
      await page.getByRole('tab', { name: /^German/ }).waitFor();

      await page.getByLabel('As this user sees it').fill('u-42');
      const iphone = page.getByRole('figure', { name: 'iPhone preview' });
      await iphone.getByText('Hallo Zoë').waitFor();
      await iphone.getByText('Heute').waitFor();
      const expected = 'Hallo Zoë | Die Wellen liegt bereit.';
      await untilEqual(async () => Object.values(await readDrawn(page)), Array(5).fill(expected));
      // Somebody without values reads the fallback, in the language of everybody.
      await page.getByLabel('As this user sees it').fill('');
      await iphone.getByText('Hello reader').waitFor();

      await page.getByRole('button', { name: 'Send to 3 devices' }).click();
      await page.getByText(/Sent to 3 of 3 devices/).waitFor();
      const message = /messages\/(?<id>msg_\w+)/.exec(page.url())?.groups?.['id'] ?? '';
      const got = ['android', 'chrome', 'ios'].map((device) => `${device}: ${expected}`);
      await untilEqual(() => readInbox(bench, message), got);
    },
  },
  {
    name: 'compose: what is typed is there after a reload, for a colleague too, and nobody overwrites it unseen',
    async run(bench, context) {
      const app = await bench.makeApp('Drafts');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const [page, colleague] = [await browser.newPage(), await browser.newPage()];
      await page.goto(bench.url(`/apps/${app.id}/compose`));
      await field(page, 'Title').fill('Half a thought');
      await page.getByText('Draft saved').waitFor();
      await page.waitForURL(/draft=drf_/);
      await page.reload();
      await untilEqual(() => field(page, 'Title').inputValue(), 'Half a thought');

      await colleague.goto(bench.url(`/apps/${app.id}/compose`));
      await colleague.getByRole('button', { name: 'Drafts and templates' }).click();
      await colleague.getByRole('link', { name: 'Half a thought' }).click();
      await colleague.getByText(`by ${owner.email}`).waitFor();
      await field(colleague, 'Title').fill('Their thought');
      await colleague.getByText('Saving the draft…').or(colleague.getByText('Draft saved')).first().waitFor();
      await untilDefined('the colleague’s save', async () =>
        (await draftTitle(bench, app, page)) === 'Their thought' ? true : undefined,
      );
      await field(page, 'Title').fill('My thought');
      await page.getByText('Somebody else saved this draft meanwhile').waitFor();
      await page.getByRole('alert').filter({ hasText: 'Their thought' }).waitFor();
      await page.getByRole('button', { name: 'Save mine over theirs' }).click();
      await untilDefined('my save', async () =>
        (await draftTitle(bench, app, page)) === 'My thought' ? true : undefined,
      );
    },
  },
  {
    name: 'compose: a template is saved, saved again and started from, also in its first version',
    async run(bench, context) {
      const app = await bench.makeApp('Templates');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/compose`));
      await field(page, 'Title').fill('Weekly offer');
      await saveAsTemplate(page, async () => {
        await page.getByLabel('Name of the template').fill('Offer');
      });
      await page.getByText('Saved as Offer, version 1.').waitFor();
      await field(page, 'Title').fill('Weekly offer, better');
      await page.getByRole('figure', { name: 'Android preview' }).getByText('Weekly offer, better').waitFor();
      await saveAsTemplate(page, async () => {
        await field(page, 'Save as').click();
        await page.getByRole('option', { name: 'A new version of Offer' }).click();
      });
      await page.getByText('Saved as Offer, version 2.').waitFor();

      await page.goto(bench.url(`/apps/${app.id}/compose`));
      await page.getByRole('button', { name: 'Drafts and templates' }).click();
      await page.getByRole('tab', { name: 'Templates' }).click();
      await page.getByRole('button', { name: 'Versions' }).click();
      await page.getByRole('link', { name: 'Version 1' }).click();
      await page.getByRole('figure', { name: 'Android preview' }).waitFor();
      await untilEqual(() => field(page, 'Title').inputValue(), 'Weekly offer');

      // Somebody deletes the template meanwhile: its content is kept as a new one.
      const [, template = ''] = /template=(tpl_\w+)/.exec(page.url()) ?? [];
      const { serviceUrl: origin } = bench.stage;
      await page.request.delete(`${origin}/console/api/apps/${app.id}/templates/${template}`, { headers: { origin } });
      await saveAsTemplate(page, async () => {
        await page.getByLabel('Name of the template').fill('Offer, kept');
      });
      await page.getByText('Saved as Offer, kept, version 1.').waitFor();
    },
  },
  {
    name: 'compose: of two people with one template open, the second to save it is told what changed',
    async run(bench, context) {
      const app = await bench.makeApp('One template');
      const [first, second] = [await bench.owner(), await bench.owner()];
      context.defer(() => first.close());
      context.defer(() => second.close());
      const [anna, ben] = [await first.newPage(), await second.newPage()];
      const { serviceUrl: origin } = bench.stage;
      const made = await anna.request.post(`${origin}/console/api/apps/${app.id}/templates`, {
        headers: { origin },
        data: { name: 'Offer', content: { title: 'Weekly offer', body: 'Until Sunday' } },
      });
      const { id } = (await made.json()) as { id: string };
      for (const page of [anna, ben]) {
        await page.goto(bench.url(`/apps/${app.id}/compose?template=${id}`));
        await untilEqual(() => field(page, 'Title').inputValue(), 'Weekly offer');
      }
      await field(anna, 'Title').fill('Offer of the week');
      await field(anna, 'Body').fill('Until Monday');
      await saveAsTemplate(anna, async () => {});
      await anna.getByText('Saved as Offer, version 2.').waitFor();
      // Nobody else saved it since.
      await field(anna, 'Body').fill('Until Tuesday');
      await saveAsTemplate(anna, async () => {});
      await anna.getByText('Saved as Offer, version 3.').waitFor();

      await field(ben, 'Title').fill('Only this week');
      await saveAsTemplate(ben, async () => {});
      const told = ben.getByRole('alert').filter({ hasText: 'Somebody else saved this template meanwhile' });
      await told.getByText('Title: changed from Weekly offer to Offer of the week; you typed Only this week').waitFor();
      await told.getByText('Body: changed from Until Sunday to Until Tuesday', { exact: true }).waitFor();
      await ben.getByRole('button', { name: 'Save mine as version 4' }).click();
      await ben.getByText('Saved as Offer, version 4.').waitFor();
    },
  },
  {
    name: 'compose: more than a thousand devices ask for their number, and a message can be duplicated',
    timeoutMs: 120_000,
    async run(bench, context) {
      const made = await bench.stage.command('seed', '--devices', '1200', '--seed', 'compose');
      const key = String(made['server_key']);
      const app = (made['app'] as { id: string }).id;
      const sent = await bench.stage.api(key, 'POST', '/v1/messages', {
        audience: { all: true },
        content: { title: 'To many' },
        send_at: new Date(Date.now() + 86_400_000).toISOString(),
      });
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app}/messages/${String(sent['id'])}`));
      await page.getByRole('link', { name: 'Duplicate' }).click();
      await untilEqual(() => field(page, 'Title').inputValue(), 'To many');
      await page.getByRole('radio', { name: 'At a time' }).click();
      await page.getByLabel('Date and time').fill(tomorrow());
      await page.getByRole('switch', { name: "In each person's local time" }).click();
      await page.getByRole('radio', { name: /Leave those people out/ }).click();
      await page.getByRole('button', { name: /^Schedule for 1,\d{3} devices$/ }).click();
      const dialog = page.getByRole('dialog');
      const label = await dialog.getByText(/^Type [\d,]+ to go on/).innerText();
      const number = /[\d,]+/.exec(label)?.[0] ?? '';
      equal(await dialog.getByRole('button', { name: /^Schedule for/ }).isDisabled(), true);
      await dialog.getByLabel(/^Type/).fill(number.replace(',', ''));
      await dialog.getByRole('button', { name: /^Schedule for/ }).click();
      await page.getByRole('heading', { name: 'To many' }).waitFor();
      const id = /messages\/(?<id>msg_\w+)/.exec(page.url())?.groups?.['id'] ?? '';
      equal((await bench.stage.api(key, 'GET', `/v1/messages/${id}`))['status'], 'scheduled');
    },
  },
];

/** The input with this label; a list of options may have the same label. */
export const field = (page: Page, label: string): Locator =>
  page.getByLabel(label, { exact: true }).and(page.locator('input, textarea')).first();

function counter() {
  let interactions = 0;
  return {
    count: () => interactions,
    async click(locator: Locator): Promise<void> {
      interactions += 1;
      await locator.click();
    },
    async fill(locator: Locator, text: string): Promise<void> {
      interactions += 1;
      await locator.fill(text);
    },
  };
}

/** A time of tomorrow in the form of the browser's own field. */
function tomorrow(): string {
  const at = new Date(Date.now() + 86_400_000);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

async function makeSegment(
  bench: ConsoleBench,
  app: ConsoleApp,
  name: string,
  filter: object = { field: 'device.locale', op: 'starts_with', value: 'de' },
): Promise<void> {
  await bench.stage.api(app.serverKey, 'POST', '/v1/segments', { name, filter });
}

/** A simulated phone of the app, with a channel to it. */
export async function makePhone(bench: ConsoleBench, app: ConsoleApp, platform: 'ios' | 'android'): Promise<string> {
  const { stage } = bench;
  if (platform === 'ios') {
    const made = await stage.sandbox('POST', '/apns/keys', {});
    const file = join(stage.directory, `${app.id}.p8`);
    writeFileSync(file, String(made['p8']));
    const ids = ['--key-id', String(made['key_id']), '--team-id', String(made['team_id'])];
    await stage.command(
      'channel',
      'set',
      app.id,
      'apns',
      '--key-file',
      file,
      ...ids,
      '--bundle-id',
      'com.example.shop',
    );
  } else {
    const file = join(stage.directory, `${app.id}.json`);
    writeFileSync(file, JSON.stringify(await stage.sandbox('POST', '/fcm/service-accounts', {})));
    await stage.command('channel', 'set', app.id, 'fcm', '--service-account', file);
  }
  const made = await stage.sandbox('POST', '/devices', { platform });
  const [phone] = made['devices'] as object[];
  return String((await stage.api(app.serverKey, 'POST', '/v1/devices', phone))['id']);
}

/** `title | body` of each drawn screen, by its name. */
export async function readDrawn(page: Page): Promise<Record<string, string>> {
  const figures = await page.getByRole('figure').all();
  const read = await Promise.all(
    figures.map(async (figure) => {
      const title = await figure.getByRole('strong').innerText();
      const body = await figure.getByRole('paragraph').first().innerText();
      return [(await figure.getAttribute('aria-label')) ?? '', `${title} | ${body}`] as const;
    }),
  );
  return Object.fromEntries(read);
}

interface InboxEntry {
  readonly vendor: string;
  readonly service: string;
  readonly payload: { readonly text: string } | null;
  readonly notification: { readonly title: string; readonly body: string; readonly phone: unknown } | null;
}

/** `chrome: title | body` of each push of a message that a browser or a phone decrypted, sorted. */
export async function readInbox(bench: ConsoleBench, message: string): Promise<readonly string[]> {
  const { entries } = await bench.stage.sandbox('GET', '/inbox?limit=100');
  const own = (entries as InboxEntry[]).filter(({ payload }) => payload?.text.includes(message));
  const nameOf = ({ service }: InboxEntry): string =>
    service === 'apns' ? 'ios' : service === 'fcm' ? 'android' : 'chrome';
  return own.map((entry) => `${nameOf(entry)}: ${entry.notification?.title} | ${entry.notification?.body}`).sort();
}

async function draftTitle(bench: ConsoleBench, app: ConsoleApp, page: Page): Promise<string | null> {
  const answer = await page.request.get(`${bench.stage.serviceUrl}/console/api/apps/${app.id}/drafts`);
  const { data } = (await answer.json()) as { data: { title: string | null }[] };
  return data[0]?.title ?? null;
}

async function saveAsTemplate(page: Page, fill: () => Promise<void>): Promise<void> {
  await page.getByRole('button', { name: 'Save as template' }).click();
  await fill();
  await page.getByRole('button', { name: 'Save template' }).click();
}
