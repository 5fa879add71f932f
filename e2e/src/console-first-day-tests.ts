// The first day with the console as one story in one browser, by role and label only: the first
// owner, a developer who follows a push, an operator of webhooks and keys, and at last a viewer.
// Each step goes on with the result of the step before.
import { equal, match } from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { type ConsoleApp, type ConsoleBench, owner, setUp, totp } from './console-bench.ts';
import type { Test, TestContext } from './runner.ts';

const failuresThatDisable = 15;
/** The sandbox's push server answers 404 there. */
const failingEndpoint = 'https://fcm.googleapis.com/no-such-hook';

export const consoleFirstDayTests: readonly Test<ConsoleBench>[] = [
  {
    name: 'R-50 R-53 the first day: from the set-up link, which works once, to a viewer who sees and cannot change',
    timeoutMs: 360_000,
    async run(bench, context) {
      const browser = await bench.stranger();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await becomeOwner(bench, context, page);
      await turnOnSecondFactor(bench, page);
      bench.keepOwner(await browser.storageState());
      const app = await makeApp(bench, page);
      await changePlan(bench, page, app);
      await setUpWebPush(page);
      const message = await followMessage(bench, page, app);
      await askWhy(bench, page, app);
      await watchWebhookFail(bench, page, app);
      await rotateKey(page);
      const link = await inviteViewer(page);
      await lookAsViewer(bench, context, { link, app, message });
      await readAudit(bench, page, app);
    },
  },
];

async function becomeOwner(bench: ConsoleBench, context: TestContext, page: Page): Promise<void> {
  await page.goto(bench.stage.serviceUrl);
  await page.getByText('Nobody has set it up yet').waitFor();
  const { link } = await bench.stage.command('owner', 'setup-link');
  await setUp(page, String(link));
  await page.getByRole('heading', { name: 'Apps' }).waitFor();

  const stranger = await bench.stranger();
  context.defer(() => stranger.close());
  const second = await stranger.newPage();
  await setUp(second, String(link));
  await second.getByRole('alert').waitFor();
}

async function turnOnSecondFactor(bench: ConsoleBench, page: Page): Promise<void> {
  await page.goto(bench.url('/account'));
  await page.getByRole('button', { name: 'Set up a second factor' }).click();
  await page.getByLabel('Your password').fill(owner.password);
  await page.getByRole('button', { name: 'Go on' }).click();
  const secret = await readSecret(page, 'Secret');
  await page.getByLabel('Code').fill(totp(secret, Date.now()));
  await page.getByRole('button', { name: 'Turn it on' }).click();
  const [code = ''] = (await readSecret(page, 'Recovery codes')).split(/\s+/);
  await keepSecret(page);

  await page.getByRole('button', { name: `Account of ${owner.name}` }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByLabel('E-mail').fill(owner.email);
  await page.getByLabel(/^Password/).fill(owner.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Use a recovery code' }).click();
  await page.getByLabel('Recovery code').fill(code);
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.getByRole('heading', { name: 'Apps' }).waitFor();
}

async function makeApp(bench: ConsoleBench, page: Page): Promise<ConsoleApp> {
  await page.goto(bench.url('/apps/new'));
  await page.getByLabel(/^Name( \*)?$/).fill('Harbour Books');
  await page.getByRole('button', { name: 'Make the app' }).click();
  const serverKey = await readSecret(page, 'Server key');
  const clientKey = await readSecret(page, 'Client key');
  match(serverKey, /^sk_live_/);
  match(clientKey, /^ck_live_/);
  await keepSecret(page);
  await page.getByRole('heading', { name: 'Harbour Books' }).waitFor();
  await page.waitForURL(/\/apps\/app_\w+/);
  const id = /apps\/(app_\w+)/.exec(page.url())?.[1] ?? '';
  return { id, name: 'Harbour Books', serverKey, clientKey };
}

/** The plan of a new app admits too few requests a second for what follows. */
async function changePlan(bench: ConsoleBench, page: Page, app: ConsoleApp): Promise<void> {
  await page.goto(bench.url(`/apps/${app.id}/settings/usage`));
  await page.getByRole('combobox', { name: 'Plan of this app' }).click();
  await page.getByRole('option', { name: /^unlimited/ }).click();
  await page.getByRole('button', { name: 'Change the plan' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Change the plan' }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await page.getByRole('navigation', { name: 'App' }).getByRole('link', { name: 'Overview' }).click();
}

async function setUpWebPush(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Set up a channel' }).click();
  await page.getByRole('button', { name: 'Set up' }).first().click();
  await page.getByLabel('Contact').fill('mailto:push@harbour-books.example');
  await page.getByRole('button', { name: 'Set up web push' }).click();
  await page.getByRole('main').getByText('Healthy').waitFor();
}

/** A message that reaches two of three devices, from its row in the list to the raw answer. */
async function followMessage(bench: ConsoleBench, page: Page, app: ConsoleApp): Promise<string> {
  const [there, , gone] = [await bench.makeDevice(app), await bench.makeDevice(app), await bench.makeDevice(app)];
  const ada = { external_id: 'u-42', first_name: 'Ada', country: 'FR', device_id: there.id };
  await bench.stage.api(app.serverKey, 'POST', '/v1/users', ada);
  await bench.removeSubscription(gone.endpoint);

  await page.getByRole('link', { name: 'Messages', exact: true }).click();
  await page.getByText('Nothing sent yet').waitFor();
  const sent = bench.send(app, {
    name: 'Autumn sale',
    audience: { all: true },
    per_second: 1,
    content: { title: 'Sale', body: 'Now on' },
  });
  // Neither the list nor the message is loaded again.
  await page.getByRole('link', { name: /Autumn sale/ }).click();
  await page.getByText(/Sent to 2 of 3 devices/).waitFor();
  const message = await sent;
  await page
    .getByText(/the app was removed or notifications were blocked/)
    .first()
    .waitFor();

  await page.getByRole('link', { name: gone.id }).click();
  await page.getByText(/Attempt 1: the device is gone/i).waitFor();
  match(await page.getByRole('region', { name: 'Answer of the push service' }).innerText(), /HTTP 410/);
  equal(page.url(), bench.url(`/apps/${app.id}/messages/${message}/deliveries/${gone.id}`));
  return message;
}

async function askWhy(bench: ConsoleBench, page: Page, app: ConsoleApp): Promise<void> {
  const filter = { field: 'country', op: 'eq', value: 'DE' };
  await bench.send(app, { name: 'Only Germany', audience: { filter }, content: { title: 'Hallo' } });
  await page.goto(bench.url(`/apps/${app.id}/users/u-42`));
  await page.getByRole('heading', { name: 'Ada' }).waitFor();
  await page.getByRole('heading', { name: 'Why did they get nothing?' }).waitFor();
  const message = page.getByRole('listitem').filter({ hasText: 'Only Germany' });
  await message.getByRole('button', { name: 'Step by step' }).click();
  const step = page.getByRole('listitem').filter({ hasText: 'Are they in the audience?' });
  match(await step.innerText(), /No\..*country.*DE.*FR/s);
  equal(await page.getByText('Did the push service take it?').count(), 0);
}

async function watchWebhookFail(bench: ConsoleBench, page: Page, app: ConsoleApp): Promise<void> {
  await page.goto(bench.url(`/apps/${app.id}/settings/webhooks`));
  await page.getByRole('button', { name: 'New webhook' }).click();
  await page.getByLabel('Endpoint').fill('http://hooks.harbour-books.example/push');
  await page.getByRole('button', { name: 'Add the webhook' }).click();
  // The field is marked, and the form stays.
  await page.getByLabel('Endpoint').and(page.locator('[aria-invalid="true"]')).waitFor();
  await page.getByLabel('Endpoint').fill(failingEndpoint);
  await page.getByRole('button', { name: 'Add the webhook' }).click();
  await keepSecret(page);
  await page.getByRole('link', { name: failingEndpoint }).click();
  await page.getByText('Nothing has been sent to it yet.').waitFor();

  for (let sent = 0; sent < failuresThatDisable; sent++) {
    await bench.send(app, { audience: { all: true }, content: { title: `Message ${sent}` } });
  }
  await page.getByText('15 attempts in a row failed').waitFor({ timeout: 90_000 });
  await page.getByText('Disabled', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Enable' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click();
  await page.getByText('Enabled', { exact: true }).waitFor();
}

async function rotateKey(page: Page): Promise<void> {
  await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Keys' }).click();
  // The page of a webhook, which was open before, has a button of this name too.
  await page.getByRole('button', { name: 'New key' }).waitFor();
  await page.getByRole('button', { name: 'Rotate' }).first().click();
  await page.getByRole('button', { name: 'Make the new key' }).click();
  await keepSecret(page);
  await page.getByText('Expiring').waitFor();
}

async function inviteViewer(page: Page): Promise<string> {
  await page.getByRole('navigation', { name: 'Organisation' }).getByRole('link', { name: 'Team' }).click();
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByLabel('E-mail').fill('vera@harbour-books.example');
  await page.getByRole('button', { name: 'Make the link' }).click();
  const link = await readSecret(page, 'Link');
  await keepSecret(page);
  return link;
}

interface Seen {
  readonly link: string;
  readonly app: ConsoleApp;
  readonly message: string;
}

async function lookAsViewer(bench: ConsoleBench, context: TestContext, { link, app, message }: Seen): Promise<void> {
  const browser = await bench.stranger();
  context.defer(() => browser.close());
  const page = await browser.newPage();
  await page.goto(link);
  await page.getByLabel('Your name').fill('Vera');
  await page.getByLabel(/^Password/).fill('another long password');
  await page.getByRole('button', { name: 'Join' }).click();
  await page.getByRole('heading', { name: 'Apps' }).waitFor();
  equal(await page.getByRole('link', { name: 'New app' }).count(), 0);

  await page.goto(bench.url(`/apps/${app.id}/messages/${message}`));
  await page.getByText(/Sent to 2 of 3 devices/).waitFor();
  equal(await page.getByRole('link', { name: /^(Compose|Duplicate|Users)$/ }).count(), 0);
  await page.goto(bench.url(`/apps/${app.id}/settings/channels`));
  await page.getByText('Only admins and owners can set up and change channels. Your role is viewer.').first().waitFor();
  equal(await page.getByRole('button', { name: /^(Set up|Replace|Remove|Test)$/ }).count(), 0);
  await page.goto(bench.url(`/apps/${app.id}/users`));
  await page.getByText('Your role may not open this').waitFor();
}

async function readAudit(bench: ConsoleBench, page: Page, app: ConsoleApp): Promise<void> {
  await page.getByRole('navigation', { name: 'Organisation' }).getByRole('link', { name: 'Audit' }).click();
  await page.getByRole('heading', { name: 'Entries' }).waitFor();
  const byOwner = ['organisation.set_up', 'two_factor.enable', 'invite.create'];
  for (const action of byOwner) await findEntry(page, action, owner.name);
  await findEntry(page, 'member.join', 'Vera');
  await page.goto(bench.url(`/apps/${app.id}/settings/audit`));
  const ofApp = ['app.create', 'app.plan', 'channel.set', 'webhook.create', 'webhook.enable', 'key.rotate'];
  for (const action of ofApp) await findEntry(page, action, owner.name);
}

async function findEntry(page: Page, action: string, who: string): Promise<void> {
  await page.getByLabel('Find').fill(action);
  const entries = page.getByRole('list', { name: 'Audit' }).getByRole('listitem');
  await entries.filter({ hasText: action }).filter({ hasText: who }).first().waitFor();
}

async function readSecret(page: Page, name: string): Promise<string> {
  return (await page.getByRole('region', { name, exact: true }).innerText()).trim();
}

async function keepSecret(page: Page): Promise<void> {
  await page.getByLabel('I keep it in a safe place').check();
  await page.getByRole('button', { name: 'Done' }).click();
}
