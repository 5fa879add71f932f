// Segments as people make them in the console, by role and label only: with the mouse, with the
// keyboard alone, and as JSON. The counts are those of the API.
import { deepEqual, equal } from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { ConsoleApp, ConsoleBench } from './console-bench.ts';
import { untilDefined, untilEqual } from './deadline.ts';
import type { Test } from './runner.ts';

/** An app with four users: two of Germany, one of them on the free plan. */
async function makePeople(bench: ConsoleBench): Promise<ConsoleApp> {
  const app = await bench.makeApp('Segmented');
  for (const [externalId, country, plan] of [
    ['u-1', 'DE', 'pro'],
    ['u-2', 'DE', 'free'],
    ['u-3', 'FR', 'pro'],
    ['u-4', 'FR', 'team'],
  ] as const) {
    const { id } = await bench.makeDevice(app);
    const profile = { external_id: externalId, country, properties: { plan, age: 30 }, device_id: id };
    await bench.stage.api(app.serverKey, 'POST', '/v1/users', profile);
  }
  for (const externalId of ['u-1', 'u-3']) {
    const event = { name: 'purchase', external_id: externalId, properties: { amount: 60, currency: 'EUR' } };
    await bench.stage.api(app.serverKey, 'POST', '/v1/events', event);
  }
  return app;
}

/** The number of devices that the API counts for a filter. */
export async function countOf(bench: ConsoleBench, app: ConsoleApp, filter: unknown): Promise<number> {
  return Number((await bench.stage.api(app.serverKey, 'POST', '/v1/segments/preview', { filter }))['count']);
}

/** Chooses an option of a field that lists its options when it is opened. */
export async function choose(page: Page, label: string, option: string): Promise<void> {
  await page.getByLabel(label, { exact: true }).first().click();
  await page.getByRole('option', { name: option, exact: true }).click();
}

/** The JSON beside the builder, or its text while it is none. */
async function jsonOf(page: Page): Promise<unknown> {
  const text = await page.getByLabel('Filter as JSON', { exact: true }).inputValue();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const isCounted = (page: Page, devices: number) =>
  page
    .getByRole('status')
    .filter({ hasText: new RegExp(`^${devices} devices? of`) })
    .waitFor();

export const consoleSegmentTests: readonly Test<ConsoleBench>[] = [
  {
    name: 'a segment is built condition by condition, and counts what the API counts',
    timeoutMs: 120_000,
    async run(bench, context) {
      const app = await makePeople(bench);
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/segments`));
      await page.getByText('No segments yet', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'New segment' }).first().click();

      await page.getByRole('button', { name: 'Condition', exact: true }).click();
      await choose(page, 'Condition 1: field', 'country');
      await page.getByLabel('Condition 1: value', { exact: true }).first().click();
      // The values are those that users have.
      await page.getByRole('option', { name: 'DE', exact: true }).click();
      await isCounted(page, 2);

      await page.getByRole('button', { name: 'Group', exact: true }).click();
      await choose(page, 'Condition 2.1: field', 'plan');
      await choose(page, 'Condition 2.1: operator', 'is not');
      await page.getByLabel('Condition 2.1: value', { exact: true }).first().fill('free');
      await page
        .getByRole('group', { name: /^Group 2:/ })
        .getByRole('button', { name: 'What they did' })
        .click();
      await page.getByLabel('Condition 2.2: event', { exact: true }).first().fill('purchase');
      const filter = {
        and: [
          { field: 'country', op: 'eq', value: 'DE' },
          { or: [{ field: 'properties.plan', op: 'neq', value: 'free' }, { event: 'purchase' }] },
        ],
      };
      await isCounted(page, await countOf(bench, app, filter));
      await untilEqual(() => jsonOf(page), filter);
      // Each condition has its own count.
      for (const [index, part] of [filter.and[0], { event: 'purchase' }].entries()) {
        const devices = await countOf(bench, app, part);
        const row = page.getByRole('group', { name: index === 0 ? /^Condition 1:/ : /^Condition 2\.2:/ });
        await row.getByRole('note', { name: new RegExp(`^${devices} devices? fulfil`) }).waitFor();
      }

      await page.getByRole('textbox', { name: /^Name/ }).fill('Good customers');
      await page.getByRole('button', { name: 'Make the segment' }).click();
      await page.getByRole('heading', { name: 'Good customers' }).waitFor();
      await page.getByText('country is DE and (plan is not free or did purchase)').first().waitFor();
      const [, segment = ''] = /segments\/(seg_\w+)/.exec(page.url()) ?? [];
      const stored = await bench.stage.api(app.serverKey, 'GET', `/v1/segments/${segment}`);
      deepEqual(stored['filter'], filter);

      // A scheduled message keeps it, and the page says so before anybody deletes.
      await bench.send(app, {
        name: 'Newsletter',
        audience: { segment_id: segment },
        content: { title: 'News' },
        send_at: new Date(Date.now() + 86_400_000).toISOString(),
      });
      await page.reload();
      await page.getByRole('link', { name: 'Newsletter' }).waitFor();
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByText('1 scheduled message needs it, so it is kept.').waitFor();
    },
  },
  {
    name: 'a filter that is pasted as JSON stands in the builder, and what the builder changes stands in the JSON',
    async run(bench, context) {
      const app = await makePeople(bench);
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/segments/new`));
      const filter = {
        not: {
          or: [
            { field: 'country', op: 'in', value: ['DE', 'JP'] },
            { event: 'purchase', count: null },
          ],
        },
      };
      await page.getByLabel('Filter as JSON', { exact: true }).fill(JSON.stringify(filter));
      await isCounted(page, await countOf(bench, app, filter));
      await untilEqual(
        () => page.getByLabel('The filter: how its conditions are joined').first().inputValue(),
        'None of these is true',
      );
      // A text that is no JSON changes nothing, and says why.
      await page.getByLabel('Filter as JSON', { exact: true }).fill('{"not": ');
      await page.getByLabel('Filter as JSON', { exact: true }).and(page.locator('[aria-invalid="true"]')).waitFor();
      await page.getByRole('group', { name: /^Condition 1:/ }).waitFor();
      // A change in the builder writes the JSON again.
      await page.getByRole('button', { name: 'Remove condition 1', exact: true }).click();
      await untilEqual(() => jsonOf(page), { not: { or: [{ event: 'purchase', count: null }] } });
      await page.getByRole('button', { name: 'Undo' }).click();
      await untilEqual(() => jsonOf(page), filter);
      // The service's own words stand at the condition that they are about.
      const wrong = {
        and: [
          { field: 'country', op: 'eq', value: 'DE' },
          { field: 'properties.age', op: 'gt', value: 'x' },
        ],
      };
      await page.getByLabel('Filter as JSON', { exact: true }).fill(JSON.stringify(wrong));
      await page
        .getByRole('group', { name: /^Condition 2:/ })
        .getByRole('alert')
        .waitFor();
    },
  },
  {
    name: 'a filter that takes too long to count names its slowest part, and says that it still works',
    async run(bench, context) {
      const app = await makePeople(bench);
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      // Four users are counted in no time, so the answer of a large app is put in its place.
      await page.route('**/segments/preview', (route) =>
        route.fulfill({
          status: 503,
          json: { error: 'unavailable', message: 'It takes too long.', path: ['filter', 'and', 1, 'not'] },
        }),
      );
      await page.goto(bench.url(`/apps/${app.id}/segments/new`));
      const filter = { and: [{ field: 'country', op: 'eq', value: 'DE' }, { not: { event: 'purchase' } }] };
      await page.getByLabel('Filter as JSON', { exact: true }).fill(JSON.stringify(filter));
      await page.getByText('A message still reaches exactly these people.').waitFor();
      const slow = page.getByRole('group', { name: /^Condition 2:/ }).getByRole('alert');
      await untilEqual(() => slow.innerText(), 'This part takes the longest to count.');
      equal(await page.getByRole('alert').count(), 1);
      await page.getByRole('textbox', { name: /^Name/ }).fill('Slow');
      await page.getByRole('button', { name: 'Make the segment' }).click();
      await page.getByRole('heading', { name: 'Slow' }).waitFor();
    },
  },
  {
    name: 'the builder is worked by keyboard alone: add, move into a group, remove, and the focus is never lost',
    async run(bench, context) {
      const app = await makePeople(bench);
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/segments/new`));
      const german = { field: 'country', op: 'eq', value: 'DE' };
      const filter = { and: [german, { or: [{ event: 'purchase' }] }] };
      await page.getByLabel('Filter as JSON', { exact: true }).fill(JSON.stringify(filter));
      const inFocus = (name: RegExp) =>
        untilEqual(
          async () => name.test(await page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '')),
          true,
        );

      await page.getByRole('button', { name: 'More for condition 1', exact: true }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('menuitem', { name: /^Move into/ }).waitFor();
      await untilDefined('the item to be in focus', async () => {
        const inFocus = await page.evaluate(() => document.activeElement?.textContent ?? '');
        if (/^Move into/.test(inFocus)) return true;
        await page.keyboard.press('ArrowDown');
        return undefined;
      });
      await page.keyboard.press('Enter');
      await page.getByRole('group', { name: /^Condition 1\.2:/ }).waitFor();
      await untilEqual(() => jsonOf(page), { and: [{ or: [{ event: 'purchase' }, german] }] });
      await inFocus(/condition 1\.2/i);
      await page.getByRole('status').filter({ hasText: 'moved into the group' }).waitFor({ state: 'attached' });

      await page.getByRole('button', { name: 'Remove condition 1.1', exact: true }).focus();
      await page.keyboard.press('Enter');
      await untilEqual(() => jsonOf(page), { and: [{ or: [german] }] });
      await inFocus(/condition 1\.1/i);

      await page.getByRole('button', { name: 'Condition', exact: true }).last().focus();
      await page.keyboard.press('Enter');
      await page.getByRole('group', { name: /^Condition 2:/ }).waitFor();
      await inFocus(/^Condition 2: field$/);
      await page.keyboard.type('plan');
      await page.getByRole('option', { name: 'plan', exact: true }).waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await page.getByLabel('Condition 2: operator', { exact: true }).first().waitFor();
    },
  },
  {
    name: 'a viewer reads a segment and how many are in it, and asks for no count of their own',
    async run(bench, context) {
      const app = await makePeople(bench);
      const filter = { and: [{ field: 'country', op: 'eq', value: 'DE' }] };
      const made = await bench.stage.api(app.serverKey, 'POST', '/v1/segments', { name: 'Germans', filter });
      const browser = await bench.member({ name: 'Nora', email: 'nora@harbour-books.example', role: 'viewer' });
      context.defer(() => browser.close());
      const page = await browser.newPage();
      const asked: unknown[] = [];
      page.on('request', (request) => {
        if (request.url().endsWith('/segments/preview')) asked.push(request.postDataJSON());
      });
      await page.goto(bench.url(`/apps/${app.id}/segments/${made['id']}`));
      await isCounted(page, 2);
      equal(await page.getByRole('button', { name: 'Condition', exact: true }).count(), 0);
      deepEqual(
        new Set(asked.map((body) => JSON.stringify(body))),
        new Set([JSON.stringify({ segment_id: made['id'] })]),
      );
    },
  },
  {
    name: 'two people save one segment: the second sees what changed and loses nothing',
    async run(bench, context) {
      const app = await makePeople(bench);
      const filter = { and: [{ field: 'country', op: 'eq', value: 'DE' }] };
      const made = await bench.stage.api(app.serverKey, 'POST', '/v1/segments', { name: 'Shared', filter });
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/segments/${made['id']}`));
      await page.getByLabel('What it is for').fill('For the newsletter');
      await bench.stage.api(app.serverKey, 'PUT', `/v1/segments/${made['id']}`, { name: 'Shared by two', filter });
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Somebody else saved this meanwhile').waitFor();
      await untilEqual(() => page.getByLabel('What it is for').inputValue(), 'For the newsletter');
      await page.getByRole('button', { name: 'Keep mine, take their other changes' }).click();
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByRole('heading', { name: 'Shared by two' }).waitFor();
    },
  },
  {
    name: 'a property says what a deletion touches, and an event shows who did it lately',
    async run(bench, context) {
      const app = await makePeople(bench);
      const filter = { field: 'properties.plan', op: 'eq', value: 'pro' };
      await bench.stage.api(app.serverKey, 'POST', '/v1/segments', { name: 'Pros', filter });
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/properties`));
      await page.getByRole('button', { name: 'Declare a property' }).click();
      await page.getByRole('textbox', { name: 'Key' }).fill('plan');
      await page.getByRole('button', { name: 'Declare it' }).click();
      await page.getByRole('textbox', { name: 'Key' }).and(page.locator('[aria-invalid="true"]')).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('link', { name: /^plan/ }).click();
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('4 users').waitFor();
      await dialog.getByRole('link', { name: 'Pros' }).waitFor();
      await dialog.getByLabel(/^Type plan/).fill('plan');
      await dialog.getByRole('button', { name: 'Delete the property' }).click();
      await page.getByRole('heading', { name: 'Properties' }).waitFor();
      await page.getByRole('link', { name: 'Segments', exact: true }).click();
      await page.getByText('Needs repair').waitFor();

      await page.getByRole('link', { name: 'Events', exact: true }).click();
      await page.getByRole('link', { name: /purchase/ }).click();
      await page.getByText('2 events in all').waitFor();
      const event = { name: 'purchase', external_id: 'u-4', properties: { amount: 7.25, currency: 'EUR' } };
      await bench.stage.api(app.serverKey, 'POST', '/v1/events', event);
      await page.reload();
      await page.getByText('7.25').first().waitFor();
      await page.getByRole('link', { name: 'u-4' }).waitFor();
    },
  },
];
