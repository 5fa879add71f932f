// The console's manners, by role and label only: refusals in words, two people who edit one thing,
// input that survives a reload, and the palette.
import { deepEqual, equal, match } from 'node:assert/strict';
import { type ConsoleBench, memberPassword, owner } from './console-bench.ts';
import { untilEqual } from './deadline.ts';
import type { Test } from './runner.ts';

const nameField = /^Name( \*)?$/;

export const consoleTests: readonly Test<ConsoleBench>[] = [
  {
    name: 'a wrong password is refused in words, and what was typed stays',
    async run(bench, context) {
      const browser = await bench.stranger();
      context.defer(() => browser.close());
      await (await bench.owner()).close();
      const page = await browser.newPage();
      await page.goto(bench.url('/sign-in'));
      await page.getByLabel('E-mail').fill(owner.email);
      await page.getByLabel(/^Password/).fill('not this one');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('alert').waitFor();
      equal(await page.getByLabel('E-mail').inputValue(), owner.email);
    },
  },
  {
    name: 'a sign-in that the provider did not finish is explained in words',
    async run(bench, context) {
      const browser = await bench.stranger();
      context.defer(() => browser.close());
      await (await bench.owner()).close();
      const page = await browser.newPage();
      for (const [word, text] of [
        ['cancelled', 'The sign-in was canceled at the provider.'],
        ['failed', 'The answer of the provider belongs to another attempt'],
        ['unavailable', 'The provider does not answer.'],
        ['unverified', 'The provider has not verified your e-mail address.'],
        ['not_invited', 'Your address is not invited here.'],
        ['confirm', 'An account with your address exists already.'],
        ['https_required', 'This address is plain http'],
      ] as const) {
        await page.goto(bench.url(`/sign-in?oidc=${word}`));
        await page.getByRole('alert').filter({ hasText: text }).waitFor();
      }
    },
  },
  {
    name: 'of two people who edit one app, the second is told what changed and loses nothing',
    async run(bench, context) {
      const app = await bench.makeApp('Two editors');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const [first, second] = [await browser.newPage(), await browser.newPage()];
      for (const page of [first, second]) {
        await page.goto(bench.url(`/apps/${app.id}/settings/general`));
        await untilEqual(() => page.getByLabel(nameField).inputValue(), 'Two editors');
      }
      await first.getByLabel(nameField).fill('Theirs');
      await first.getByLabel('Default address').fill('https://theirs.example');
      await first.getByRole('button', { name: 'Save', exact: true }).click();
      await first.getByText('Saved.').waitFor();

      await second.getByLabel(nameField).fill('Mine');
      await second.getByRole('button', { name: 'Save', exact: true }).click();
      const told = await second
        .getByRole('alert')
        .filter({ hasText: 'Somebody else saved this meanwhile' })
        .innerText();
      match(told, /Name: changed from Two editors to Theirs; you typed Mine/);
      match(told, /Default url: changed from nothing to https:\/\/theirs\.example/);
      await second.getByRole('button', { name: 'Keep mine, take their other changes' }).click();
      await untilEqual(() => second.getByLabel(nameField).inputValue(), 'Mine');
      await untilEqual(() => second.getByLabel('Default address').inputValue(), 'https://theirs.example');
      await second.getByRole('button', { name: 'Save', exact: true }).click();
      await second.getByText('Saved.').waitFor();
    },
  },
  {
    name: 'what was typed into a form is there again after a reload, until it is saved',
    async run(bench, context) {
      const app = await bench.makeApp('Draft');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      const general = bench.url(`/apps/${app.id}/settings/general`);
      await page.goto(general);
      await page.getByLabel('Default address').fill('https://half.example');
      // The browser asks before the page goes; the person insists.
      page.on('dialog', (dialog) => void dialog.accept());
      await page.reload();
      await page.getByText('The form has what you typed before.').waitFor();
      await untilEqual(() => page.getByLabel('Default address').inputValue(), 'https://half.example');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Saved.').waitFor();
      await page.reload();
      await untilEqual(() => page.getByLabel('Default address').inputValue(), 'https://half.example');
      equal(await page.getByText('The form has what you typed before.').count(), 0);
    },
  },
  {
    name: 'a network that is cut while somebody saves keeps the form, and the next save works',
    async run(bench, context) {
      const app = await bench.makeApp('Cut off');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/settings/general`));
      await page.getByLabel('Default address').fill('https://cut.example');
      await page.route(`**/apps/${app.id}`, (route) =>
        route.request().method() === 'PATCH' ? route.abort() : route.continue(),
      );
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByRole('alert').getByText('Carillon does not answer').first().waitFor();
      equal(await page.getByLabel('Default address').inputValue(), 'https://cut.example');
      await page.unroute(`**/apps/${app.id}`);
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Saved.').waitFor();
    },
  },
  {
    name: 'a session that ends while somebody types leads to the sign-in page, with few questions, and back to what was typed',
    async run(bench, context) {
      const app = await bench.makeApp('Ended');
      // The owner may have a second factor by now.
      const person = { name: 'Ines', email: 'ines@harbour-books.example', role: 'admin' };
      const browser = await bench.member(person);
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/settings/general`));
      await page.getByLabel('Default address').fill('https://kept.example');
      await browser.clearCookies();
      let asked = 0;
      page.on('request', (request) => {
        if (request.url().endsWith('/console/api/session')) asked++;
      });
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      // Questions that were under way are refused, too, and each asks whether there is a session.
      equal(asked < 10, true);
      await page.getByLabel('E-mail').fill(person.email);
      await page.getByLabel(/^Password/).fill(memberPassword);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('The form has what you typed before.').waitFor();
      await untilEqual(() => page.getByLabel('Default address').inputValue(), 'https://kept.example');
    },
  },
  {
    name: 'the overview calls nothing healthy before it has read channels and webhooks, or when it cannot',
    async run(bench, context) {
      const app = await bench.makeApp('Not known yet');
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.route(`**/apps/${app.id}/webhooks*`, (route) => route.abort());
      await page.goto(bench.url(`/apps/${app.id}`));
      await page.getByText('Nothing sent yet').waitFor();
      equal(await page.getByText(/healthy/i).count(), 0);
      await page.unroute(`**/apps/${app.id}/webhooks*`);
      await page.reload();
      await page.getByRole('button', { name: 'State of channels and webhooks: Healthy' }).waitFor();
    },
  },
  {
    name: 'a profile is edited by the types of the catalog, a refusal marks its field, and the second of two people is told what changed',
    async run(bench, context) {
      const app = await bench.makeApp('Profiles');
      const key = app.serverKey;
      const tell = (profile: object) => bench.stage.api(key, 'POST', '/v1/users', { external_id: 'u-42', ...profile });
      await tell({ first_name: 'Ada', properties: { plan: 'pro', level: 2, trial: true } });
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/users/u-42`));
      await page.getByRole('button', { name: 'Edit', exact: true }).click();
      const form = page.getByRole('dialog', { name: 'Edit the profile' });
      await form.getByLabel('First name').fill('Augusta');
      await form.getByLabel('level (number)').fill('3');
      await form.getByRole('button', { name: 'Remove trial' }).click();
      await form.getByLabel('Country').fill('Q1');
      await form.getByRole('button', { name: 'Save' }).click();
      await form.getByRole('textbox', { name: 'Country' }).and(form.locator('[aria-invalid="true"]')).waitFor();
      equal(await form.getByLabel('First name').inputValue(), 'Augusta');
      await form.getByLabel('Country').fill('');
      // Somebody else saves the same profile.
      await tell({ language: 'de' });
      await form.getByRole('button', { name: 'Save' }).click();
      const changed = form.getByRole('alert').filter({ hasText: 'Somebody else saved this meanwhile' });
      await changed.getByText('Language: changed from nothing to de').waitFor();
      await changed.getByRole('button', { name: 'Keep mine, take their other changes' }).click();
      await form.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('heading', { name: 'Augusta' }).waitFor();
      const { first_name, language, properties } = await bench.stage.api(key, 'GET', '/v1/users/u-42');
      deepEqual(
        { first_name, language, properties },
        { first_name: 'Augusta', language: 'de', properties: { plan: 'pro', level: 3 } },
      );
    },
  },
  {
    name: 'a property that was added before a reload is gone when the form starts over',
    async run(bench, context) {
      const app = await bench.makeApp('Starts over');
      await bench.stage.api(app.serverKey, 'POST', '/v1/users', { external_id: 'u-1', properties: { plan: 'pro' } });
      await bench.stage.api(app.serverKey, 'POST', '/v1/users', { external_id: 'u-2', first_name: 'Ada' });
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/users/u-2`));
      const edit = page.getByRole('button', { name: 'Edit', exact: true });
      const form = page.getByRole('dialog', { name: 'Edit the profile' });
      await edit.click();
      await form.getByRole('combobox', { name: 'Add a property' }).click();
      await page.getByRole('option', { name: /^plan/ }).click();
      await form.getByLabel('plan (text)').fill('free');
      page.on('dialog', (dialog) => void dialog.accept());
      await page.reload();
      await edit.click();
      await form.getByText('The form has what you typed before.').waitFor();
      await untilEqual(() => form.getByLabel('plan (text)').inputValue(), 'free');
      await form.getByRole('button', { name: 'Start over' }).click();
      await form.getByLabel('plan (text)').waitFor({ state: 'detached' });
      await untilEqual(() => form.getByRole('button', { name: 'Save' }).isDisabled(), true);
      await untilEqual(() => form.getByLabel('First name').inputValue(), 'Ada');
    },
  },
  {
    name: 'the palette finds a page and an object by the keyboard alone',
    async run(bench, context) {
      const app = await bench.makeApp('By keyboard');
      const device = await bench.makeDevice(app);
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}`));
      await page.getByRole('heading', { name: 'By keyboard' }).waitFor();
      // Nobody waits for the palette: keys that come before it has the focus are its own.
      await page.keyboard.press('Control+k');
      await page.keyboard.type('webhooks');
      await untilEqual(() => page.getByRole('combobox', { name: 'Search pages' }).inputValue(), 'webhooks');
      await page.getByRole('option', { name: /Webhooks/ }).waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Webhooks' }).waitFor();
      // Nor for its answer: the first that is found is opened.
      await page.keyboard.press('Control+k');
      await page.keyboard.type('segments');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Segments', exact: true }).waitFor();
      await page.keyboard.press('Control+k');
      await page.keyboard.type(device.id);
      await page.getByRole('option', { name: device.id }).waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'History' }).waitFor();
    },
  },
  {
    name: 'a suspect credential names the devices it would have cost, and says when there may be others',
    async run(bench, context) {
      const app = await bench.makeApp('Suspect');
      const devices = [await bench.makeDevice(app), await bench.makeDevice(app)];
      const message = await bench.send(app, { audience: { all: true }, content: { title: 'Refused' } });
      const browser = await bench.owner();
      context.defer(() => browser.close());
      // The refusals of an hour and a hundred devices take long, so the service's answers are
      // written here. The live feed would tell the true state.
      let hasMore = false;
      const at = new Date().toISOString();
      await browser.route(/\/live$/, (route) => route.abort());
      await browser.route(/\/channels\?/, async (route) => {
        const response = await route.fetch();
        const { data, ...page } = (await response.json()) as { data: object[] };
        const json = { ...page, data: data.map((credential) => ({ ...credential, health: 'suspect' })) };
        await route.fulfill({ response, json });
      });
      await browser.route(/\/channels\/webpush\/spared$/, (route) => {
        const data = devices.map(({ id }) => ({ device_id: id, message_id: message, error_code: 'invalid_token', at }));
        return route.fulfill({ json: { data, has_more: hasMore } });
      });
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/settings/channels`));
      await page.getByText(/^2 devices would have been retired for its refusals/).waitFor();
      hasMore = true;
      await page.reload();
      await page.getByText(/^At least 2 devices would have been retired for its refusals/).waitFor();
      const kept = page.getByRole('list', { name: 'Kept devices of web push' });
      await kept.getByRole('link', { name: 'Its answer' }).first().click();
      await page.waitForURL(/\/deliveries\//);
    },
  },
  {
    name: 'a device is edited on its page, and what a colleague saves meanwhile is kept',
    async run(bench, context) {
      const app = await bench.makeApp('Edited devices');
      const { id } = await bench.makeDevice(app, { locale: 'en-GB', properties: { topic: 'sport', shoe: 'red' } });
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const page = await browser.newPage();
      await page.goto(bench.url(`/apps/${app.id}/devices/${id}`));
      await page.getByRole('button', { name: 'Edit', exact: true }).click();
      const form = page.getByRole('dialog', { name: 'Edit the device' });
      await form.getByLabel('Locale').fill('German');
      await form.getByRole('button', { name: 'Remove shoe' }).click();
      await form.getByRole('button', { name: 'Save' }).click();
      await form.getByRole('textbox', { name: 'Locale' }).and(form.locator('[aria-invalid="true"]')).waitFor();
      await form.getByLabel('Locale').fill('de-DE');
      // Somebody else edits the same device.
      const { serviceUrl: origin } = bench.stage;
      const address = `${origin}/console/api/apps/${app.id}/devices/${id}`;
      const { updated_at } = (await (await page.request.get(address)).json()) as { updated_at: string };
      await page.request.patch(address, { headers: { origin }, data: { updated_at, timezone: 'Europe/Paris' } });
      await form.getByRole('button', { name: 'Save' }).click();
      const changed = form.getByRole('alert').filter({ hasText: 'Somebody else saved this meanwhile' });
      await changed.getByText('Timezone: changed from nothing to Europe/Paris').waitFor();
      await changed.getByRole('button', { name: 'Keep mine, take their other changes' }).click();
      await form.getByRole('button', { name: 'Save' }).click();
      await form.waitFor({ state: 'hidden' });
      await page.getByText('de-DE', { exact: true }).waitFor();
      const { data } = await bench.stage.api(app.serverKey, 'GET', '/v1/devices');
      const [stored] = data as { locale: string; timezone: string; properties: object }[];
      deepEqual(
        { locale: stored?.locale, timezone: stored?.timezone, properties: stored?.properties },
        { locale: 'de-DE', timezone: 'Europe/Paris', properties: { topic: 'sport' } },
      );
    },
  },
];
