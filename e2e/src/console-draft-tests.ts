// The composer loses no text: every field comes back as it was, people may leave the page at any
// letter, and they can bring back what they took away.
import { deepEqual, equal, ok } from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { ConsoleApp, ConsoleBench } from './console-bench.ts';
import { field } from './console-compose-tests.ts';
import { untilDefined, untilEqual } from './deadline.ts';
import type { Test } from './runner.ts';

interface StoredDraft {
  readonly id: string;
  readonly title: string | null;
  readonly message: { readonly content: Record<string, Record<string, unknown>> };
}

const draftsOf = async (bench: ConsoleBench, app: ConsoleApp, page: Page): Promise<readonly StoredDraft[]> => {
  const answer = await page.request.get(`${bench.stage.serviceUrl}/console/api/apps/${app.id}/drafts`);
  return ((await answer.json()) as { data: StoredDraft[] }).data;
};

/** The drafts' titles, as soon as one of them is this. */
const untilTitled = (bench: ConsoleBench, app: ConsoleApp, page: Page, title: string): Promise<string[]> =>
  untilDefined(`a draft with the title ${title}`, async () => {
    const titles = (await draftsOf(bench, app, page)).map((draft) => draft.title ?? '');
    return titles.includes(title) ? titles : undefined;
  });

async function readDraft(bench: ConsoleBench, app: ConsoleApp, page: Page, id: string): Promise<StoredDraft> {
  const answer = await page.request.get(`${bench.stage.serviceUrl}/console/api/apps/${app.id}/drafts/${id}`);
  return (await answer.json()) as StoredDraft;
}

async function makeDraft(bench: ConsoleBench, app: ConsoleApp, page: Page, message: object): Promise<string> {
  const { serviceUrl: origin } = bench.stage;
  const made = await page.request.post(`${origin}/console/api/apps/${app.id}/drafts`, {
    headers: { origin },
    data: { message },
  });
  return ((await made.json()) as StoredDraft).id;
}

/** Every field of content, with values that a text field could spoil. */
const everyField = {
  title: 'Sale',
  body: 'Now on',
  url: 'https://shop.example/sale',
  image: 'https://shop.example/a.png',
  icon: 'https://shop.example/i.png',
  ttl: 5400,
  priority: 'normal',
  collapse_key: 'order-17',
  data: { order: '17', share: 0.5, isFirst: true, note: 'a = b\nand "more"' },
  locales: { de: { title: 'Ausverkauf', image: null }, 'pt-BR': {} },
  webpush: {
    badge: 'https://shop.example/b.png',
    tag: 'sale',
    renotify: true,
    require_interaction: false,
    silent: null,
    actions: [
      { action: 'buy', title: 'Buy', url: 'https://shop.example/buy', icon: 'https://shop.example/buy.png' },
      { action: 'later', title: 'Later' },
    ],
    dir: 'rtl',
    lang: 'ar',
    app_badge: 3,
  },
  apns: {
    body: null,
    subtitle: 'Today',
    sound: { name: 'bell.caf', critical: true, volume: 0.5 },
    badge: 2,
    category: 'OFFER',
    thread_id: 'offers',
    interruption_level: 'time-sensitive',
    relevance_score: 0.7,
    mutable_content: true,
    content_available: false,
    target_content_id: 'sale',
    data: { only: 'ios' },
  },
  fcm: {
    channel_id: 'offers',
    sound: 'bell',
    color: '#b0722a',
    tag: 'sale',
    visibility: 'private',
    ttl: 0,
    notification_count: 4,
    click_action: 'OPEN',
    analytics_label: 'autumn',
    direct_boot_ok: true,
  },
};

export const consoleDraftTests: readonly Test<ConsoleBench>[] = [
  {
    name: 'compose: every field of a message is in the form, and a draft with all of them comes back whole',
    timeoutMs: 120_000,
    async run(bench, context) {
      const app = await bench.makeApp('Every field');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      const message = {
        audience: { all: true },
        content: everyField,
        metadata: { n: '26', text: ' a\nb ' },
        per_second: 50,
        send_at: '2099-12-01T09:00:00+13:00',
        local_time: true,
        local_time_past: 'skip',
        later: [1, null],
      };
      const id = await makeDraft(bench, app, page, message);
      await page.goto(bench.url(`/apps/${app.id}/compose?draft=${id}`));
      await untilEqual(() => field(page, 'Title').inputValue(), 'Sale');
      await untilEqual(() => page.getByLabel('Date and time').inputValue(), '2099-12-01T09:00');
      await untilEqual(() => field(page, 'Give up after').inputValue(), '90');
      await untilEqual(() => field(page, 'Give up after: unit').inputValue(), 'minutes');
      await page.getByRole('tab', { name: /Apple push/ }).click();
      await untilEqual(() => field(page, 'Body').inputValue(), 'None on Apple push');
      await untilEqual(() => field(page, 'Sound').inputValue(), 'bell.caf');
      await untilEqual(() => field(page, 'Interrupts').inputValue(), 'Also during a focus');
      await page.getByRole('tab', { name: /Android/ }).click();
      await untilEqual(() => field(page, 'On the lock screen').inputValue(), 'Shown without its text');
      await page.getByRole('tab', { name: /Web push/ }).click();
      await untilEqual(() => field(page, 'Button 1: icon').inputValue(), 'https://shop.example/buy.png');

      // One change saves the whole draft, and nothing else of it changes.
      await field(page, 'Tag').fill('autumn');
      const webpush = { ...everyField.webpush, tag: 'autumn' };
      const saved = await untilDefined('the save', async () => {
        const draft = await readDraft(bench, app, page, id);
        return draft.message.content['webpush']?.['tag'] === 'autumn' ? draft : undefined;
      });
      deepEqual(saved.message, { ...message, content: { ...everyField, webpush } });

      // A field is taken away for one channel, and given back.
      await page.getByRole('tab', { name: /Android/ }).click();
      await page.getByRole('button', { name: 'Image: none here' }).click();
      await untilEqual(() => field(page, 'Image').inputValue(), 'None on Android push');
      const imageOnAndroid = async () => (await readDraft(bench, app, page, id)).message.content['fcm'];
      await untilDefined('the image to be taken away', async () =>
        (await imageOnAndroid())?.['image'] === null ? true : undefined,
      );
      await page.getByRole('button', { name: 'Image: same as everywhere' }).click();
      const back = await untilDefined('the image to be given back', async () => {
        const fields = await imageOnAndroid();
        return fields && !('image' in fields) ? fields : undefined;
      });
      deepEqual(back, everyField.fcm);
    },
  },
  {
    name: 'compose: what was typed last is kept when the page is left, by a step back, a link or another site',
    async run(bench, context) {
      const app = await bench.makeApp('Left early');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/messages`));
      const compose = page.getByRole('navigation', { name: 'App' }).getByRole('link', { name: 'Compose', exact: true });
      await compose.click();
      await field(page, 'Title').pressSequentially('Left by a step back');
      await page.goBack();
      await untilTitled(bench, app, page, 'Left by a step back');

      await compose.click();
      await field(page, 'Title').pressSequentially('Left by a link');
      await page.getByRole('link', { name: 'Segments', exact: true }).click();
      await untilTitled(bench, app, page, 'Left by a link');

      await compose.click();
      await field(page, 'Title').pressSequentially('Half');
      await page.getByText('Draft saved').waitFor();
      const { length } = await draftsOf(bench, app, page);
      await field(page, 'Title').pressSequentially(' a thought, and another');
      await page.goto('about:blank');
      const titles = await untilTitled(bench, app, page, 'Half a thought, and another');
      equal(titles.length, length);
    },
  },
  {
    name: 'compose: a first save whose answer is lost makes one draft, and the next save goes on with it',
    async run(bench, context) {
      const app = await bench.makeApp('Made once');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      // The service makes the draft, and the answer never comes.
      let isLost = false;
      await page.route(
        (url) => url.pathname.endsWith(`/apps/${app.id}/drafts`),
        async (route) => {
          if (isLost || route.request().method() !== 'POST') return route.fallback();
          isLost = true;
          await route.fetch();
          await route.abort();
        },
      );
      await page.goto(bench.url(`/apps/${app.id}/compose`));
      await field(page, 'Title').fill('Half');
      await page.getByText('The draft is not saved.').waitFor();
      deepEqual(await untilTitled(bench, app, page, 'Half'), ['Half']);
      await field(page, 'Title').fill('Half a thought');
      await page.getByText('Draft saved').waitFor();
      deepEqual(await untilTitled(bench, app, page, 'Half a thought'), ['Half a thought']);
    },
  },
  {
    name: 'compose: a deleted draft, a removed language and another audience are brought back',
    async run(bench, context) {
      const app = await bench.makeApp('Brought back');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await makeDraft(bench, app, page, { audience: { all: true }, content: { title: 'Kept for years' } });
      await page.goto(bench.url(`/apps/${app.id}/compose`));
      await page.getByRole('button', { name: 'Drafts and templates' }).click();
      const link = page.getByRole('link', { name: 'Kept for years' });
      await link.waitFor();
      await page.getByRole('button', { name: 'Delete Kept for years' }).click();
      await page.getByText('“Kept for years” is deleted.').waitFor();
      await link.waitFor({ state: 'detached' });
      await untilEqual(async () => (await draftsOf(bench, app, page)).length, 0);
      await page.getByRole('button', { name: 'Undo' }).click();
      await link.click();
      await untilEqual(() => field(page, 'Title').inputValue(), 'Kept for years');

      await page.getByRole('button', { name: 'Add a language' }).click();
      await field(page, 'Language').fill('de');
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      await field(page, 'Title').fill('Jahrelang');
      await page.getByRole('tab', { name: /^German\s*1/ }).waitFor();
      await page.getByRole('button', { name: 'Remove German' }).click();
      await page.getByRole('tab', { name: /^German/ }).waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Undo' }).last().click();
      await page.getByRole('tab', { name: /^German/ }).click();
      await untilEqual(() => field(page, 'Title').inputValue(), 'Jahrelang');

      await page.getByRole('radio', { name: 'Users by id' }).click();
      await field(page, 'External ids of users').fill('u-1, u-2');
      await page.getByRole('radio', { name: 'Everyone' }).click();
      await page.getByRole('radio', { name: 'Users by id' }).click();
      await untilEqual(() => field(page, 'External ids of users').inputValue(), 'u-1\nu-2');
    },
  },
  {
    name: 'compose: a filter chooses the audience, and the message goes to the devices that were counted',
    async run(bench, context) {
      const app = await bench.makeApp('By filter');
      for (const [externalId, country] of [
        ['u-1', 'DE'],
        ['u-2', 'FR'],
      ]) {
        const { id } = await bench.makeDevice(app);
        await bench.stage.api(app.serverKey, 'POST', '/v1/users', { external_id: externalId, country, device_id: id });
      }
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/compose`));
      await page.getByRole('radio', { name: 'A filter' }).click();
      await page.getByText('The filter is not complete yet.').waitFor();
      await page.getByRole('button', { name: 'Condition', exact: true }).click();
      await page.getByLabel('Condition 1: field', { exact: true }).first().click();
      await page.getByRole('option', { name: 'country', exact: true }).click();
      await page.getByLabel('Condition 1: value', { exact: true }).first().click();
      await page.getByRole('option', { name: 'FR', exact: true }).click();
      await page
        .getByRole('status')
        .filter({ hasText: /^1 device of 1 user/ })
        .first()
        .waitFor();
      await field(page, 'Title').fill('Bonjour');
      await page.getByRole('button', { name: 'Send to 1 device' }).click();
      await page.getByText(/Sent to 1 of 1 device/).waitFor();
      const [, id = ''] = /messages\/(msg_\w+)/.exec(page.url()) ?? [];
      const sent = await bench.stage.api(app.serverKey, 'GET', `/v1/messages/${id}`);
      deepEqual(sent['audience'], { filter: { and: [{ field: 'country', op: 'eq', value: 'FR' }] } });
    },
  },
  {
    name: 'compose: a duplicate keeps the excluded segment and the pace, and its count leaves the segment out',
    async run(bench, context) {
      const app = await bench.makeApp('Left out');
      for (const [externalId, country] of [
        ['u-1', 'DE'],
        ['u-2', 'FR'],
        ['u-3', 'FR'],
      ]) {
        const { id } = await bench.makeDevice(app);
        await bench.stage.api(app.serverKey, 'POST', '/v1/users', { external_id: externalId, country, device_id: id });
      }
      const filter = { field: 'external_id', op: 'eq', value: 'u-2' };
      const segment = await bench.stage.api(app.serverKey, 'POST', '/v1/segments', { name: 'Unwilling', filter });
      const message = await bench.send(app, {
        audience: { filter: { field: 'country', op: 'eq', value: 'FR' } },
        content: { title: 'Bonjour' },
        exclude_segment_id: segment['id'],
        per_second: 50,
      });
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/messages/${message}`));
      await page.getByRole('link', { name: 'Unwilling' }).waitFor();
      await page.getByText('at most 50 pushes a second').waitFor();
      await page.getByRole('link', { name: 'Duplicate' }).click();
      await untilEqual(() => field(page, 'Except those in').inputValue(), 'Unwilling');
      await untilEqual(() => field(page, 'Pushes a second, at most').inputValue(), '50');
      // The filter alone has two devices, and the message reaches one of them.
      const counts = page.getByRole('region', { name: 'Who' }).getByRole('status');
      await counts.filter({ hasText: /^2 devices of 2 users/ }).waitFor();
      await counts.filter({ hasText: /^1 device of 1 user/ }).waitFor();
      await page.getByRole('button', { name: 'Send to 1 device' }).click();
      await page.getByText(/Sent to 1 of 1 device/).waitFor();
    },
  },
  {
    name: 'compose: a value of the reader is put into a text by keys alone',
    async run(bench, context) {
      const app = await bench.makeApp('By keys');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/compose`));
      const title = field(page, 'Title');
      await title.pressSequentially('Hello {{');
      await page.getByRole('status').filter({ hasText: 'A value of each user' }).waitFor();
      for (const key of ['ArrowDown', 'ArrowDown', 'ArrowUp', 'Enter']) await page.keyboard.press(key);
      await page.getByLabel('Instead of first_name, for those who have none').waitFor();
      await page.keyboard.type('you');
      await page.keyboard.press('Enter');
      await untilEqual(() => title.inputValue(), "Hello {{first_name | default: 'you'}}");
      await untilEqual(() => title.evaluate((input) => input === document.activeElement), true);
      // Escape leads back from the list into the text.
      await page.keyboard.type('{{');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Escape');
      await page.keyboard.type('!');
      await untilEqual(() => title.inputValue(), "Hello {{first_name | default: 'you'}}{{!");
      await page.getByRole('button', { name: 'Insert a value into Body' }).press('Enter');
      const first = page.getByRole('button', { name: /^first_name/ });
      await untilEqual(() => first.evaluate((button) => button === document.activeElement), true);
      await page.keyboard.press('Enter');
      await page.getByLabel('Instead of first_name, for those who have none').waitFor();
      await page.keyboard.press('Enter');
      await untilEqual(() => field(page, 'Body').inputValue(), '{{first_name}}');
    },
  },
  {
    name: 'compose: the slowest pace that still finishes is shown, and a slower one is refused in words',
    timeoutMs: 120_000,
    async run(bench, context) {
      const made = await bench.stage.command('seed', '--devices', '1200', '--seed', 'pace');
      const app = (made['app'] as { id: string }).id;
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app}/compose`));
      await field(page, 'Title').fill('Now or never');
      await page.getByText('Delivery, icon and data').click();
      // Now or never means within a minute.
      await field(page, 'Give up after').fill('0');
      await field(page, 'Pushes a second, at most').fill('1');
      const told = page.getByText(/The slowest pace that still finishes in time is \d+ a second/);
      const least = Number(/is (\d+) a/.exec(await told.innerText())?.[1]);
      ok(least > 1, `the least pace is ${least}`);
      await untilEqual(() => page.getByRole('button', { name: 'Send', exact: true }).isDisabled(), true);
      await field(page, 'Pushes a second, at most').fill(String(least));
      await page.getByText(/^Goes out at once to 1,\d{3} devices/).waitFor();
      await untilEqual(() => page.getByRole('button', { name: /^Send to 1,\d{3} devices$/ }).isDisabled(), false);
    },
  },
  {
    name: 'compose: test users are chosen in their dialog, and a test goes to their devices alone',
    async run(bench, context) {
      const app = await bench.makeApp('Tested first');
      const [{ id }] = [await bench.makeDevice(app), await bench.makeDevice(app)];
      await bench.stage.api(app.serverKey, 'POST', '/v1/users', { external_id: 'u-tester', device_id: id });
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/compose`));
      await field(page, 'Title').fill('For testers');
      await untilEqual(() => page.getByRole('button', { name: 'Send to test users' }).isDisabled(), true);
      await page.getByRole('button', { name: 'Test users', exact: true }).click();
      const dialog = page.getByRole('dialog', { name: 'Test users' });
      await dialog.getByLabel('External id').fill('u-tester');
      await dialog.getByRole('button', { name: 'Add' }).click();
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Send to 1 test device' }).click();
      await page.getByText('The test went to 1 of 1 device.').waitFor();
      await page.getByRole('button', { name: 'Test users', exact: true }).click();
      await dialog.getByText('1 active device').waitFor();
      await dialog.getByRole('button', { name: 'Remove u-tester' }).click();
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('button', { name: 'Send to test users' }).waitFor();
      await page.getByRole('button', { name: 'Send to 2 devices' }).waitFor();
    },
  },
];
