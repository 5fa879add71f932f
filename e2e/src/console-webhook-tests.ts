// Webhooks as an operator uses them, by role and label only: a new secret that takes over by
// itself, and events that are told again.
import { deepEqual, equal } from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { ConsoleApp, ConsoleBench } from './console-bench.ts';
import { untilDefined } from './deadline.ts';
import type { Test } from './runner.ts';

/** The sandbox's push server answers 404 there. */
const endpoint = 'https://fcm.googleapis.com/no-such-hook';
const dayMs = 86_400_000;

export const consoleWebhookTests: readonly Test<ConsoleBench>[] = [
  {
    name: 'a rotation of a signing secret finishes by itself at the time that was chosen',
    async run(bench, context) {
      const app = await bench.makeApp('Rotated by itself');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      const webhook = await makeWebhook(bench, page, app, []);
      await page.goto(bench.url(`/apps/${app.id}/settings/webhooks/${webhook}`));
      await page.getByRole('button', { name: 'Rotate', exact: true }).click();
      const chosen = inField(Date.now() + 2 * dayMs);
      await page.getByLabel('Finish by itself at').fill(chosen);
      await page.getByRole('button', { name: 'Make the new secret' }).click();
      await page.getByText(/It finishes by itself on /).waitFor();
      await page.getByLabel('I keep it in a safe place').check();
      await page.getByRole('button', { name: 'Done' }).click();
      await page.getByText(/until you finish, or by itself in 2 days/).waitFor();
      const { rotation } = await read(bench, page, `/webhooks/${webhook}`);
      deepEqual(rotation, { ...(rotation as object), finish_at: new Date(chosen).toISOString(), dual: false });

      // Another secret takes the place of the one that waits. The dialog begins with the time of that
      // one, which can be cleared.
      await page.getByRole('button', { name: 'Make another secret' }).click();
      equal(await page.getByLabel('Finish by itself at').inputValue(), chosen);
      await page.getByLabel('Finish by itself at').fill('');
      await page.getByRole('button', { name: 'Make the new secret' }).click();
      await page.getByLabel('I keep it in a safe place').check();
      await page.getByRole('button', { name: 'Done' }).click();
      await page.getByText(/with the old secret alone until you finish\./).waitFor();

      // The field refuses a time that the service would refuse.
      await page.getByRole('button', { name: 'Finish the rotation' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Finish the rotation' }).click();
      await page.getByRole('button', { name: 'Rotate', exact: true }).click();
      const field = page.getByLabel('Finish by itself at');
      await field.fill(inField(Date.now() + 32 * dayMs));
      equal(await field.evaluate((input: HTMLInputElement) => input.validity.rangeOverflow), true);
    },
  },
  {
    name: 'a replay tells the chosen kinds of events again, and otherwise all that the webhook hears',
    async run(bench, context) {
      const app = await bench.makeApp('Told again');
      await bench.makeDevice(app);
      const { endpoint: gone } = await bench.makeDevice(app);
      await bench.removeSubscription(gone);
      const message = await bench.send(app, { audience: { all: true }, content: { title: 'Once more' } });
      await untilDefined('the end of the message', async () => {
        const { status } = await bench.stage.api(app.serverKey, 'GET', `/v1/messages/${message}`);
        return status === 'sent' ? status : undefined;
      });
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      const all = await makeWebhook(bench, page, app, []);
      await page.goto(bench.url(`/apps/${app.id}/settings/webhooks/${all}`));
      await page.getByLabel(/^From/).fill(inField(Date.now() - dayMs));
      await page.getByLabel(/^To\b/).fill(inField(Date.now() + dayMs));
      await page.getByLabel(/^Message failed/).check();
      await page.getByRole('button', { name: 'Replay' }).click();
      await page.getByText('1 event queued.').waitFor();
      await page.getByLabel(/^Message failed/).uncheck();
      await page.getByRole('button', { name: 'Replay' }).click();
      await page.getByText('2 events queued.').waitFor();

      // A webhook that hears one kind has no choice of kinds.
      const some = await makeWebhook(bench, page, app, ['message.failed']);
      await page.goto(bench.url(`/apps/${app.id}/settings/webhooks/${some}`));
      await page.getByRole('heading', { name: 'Replay' }).waitFor();
      equal(await page.getByRole('group', { name: 'Events to replay' }).count(), 0);
      await page.getByLabel(/^From/).fill(inField(Date.now() - dayMs));
      await page.getByLabel(/^To\b/).fill(inField(Date.now() + dayMs));
      await page.getByRole('button', { name: 'Replay' }).click();
      await page.getByText('1 event queued.').waitFor();
    },
  },
];

async function makeWebhook(
  bench: ConsoleBench,
  page: Page,
  app: ConsoleApp,
  events: readonly string[],
): Promise<string> {
  const { serviceUrl: origin } = bench.stage;
  const path = `${origin}/console/api/apps/${app.id}/webhooks`;
  const made = await page.request.post(path, { headers: { origin }, data: { endpoint, events } });
  return ((await made.json()) as { id: string }).id;
}

async function read(bench: ConsoleBench, page: Page, path: string): Promise<Readonly<Record<string, unknown>>> {
  const answer = await page.request.get(`${bench.stage.serviceUrl}/console/api${path}`);
  return (await answer.json()) as Readonly<Record<string, unknown>>;
}

/** An instant as a field of date and time writes it, on the clock of this machine. */
function inField(ms: number): string {
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
