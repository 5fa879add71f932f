// States of the console's screens beside the full one: tabs, dialogs and menus, a message with
// every kind of text in the composer, an app without anything, answers that do not come, a viewer.
import type { Page } from 'playwright-core';
import type { ConsoleApp, ConsoleBench } from './console-bench.ts';
import type { Screen } from './console-scene.ts';

/** A message with a text for each place, buttons, and a field that one channel does without. */
const richMessage = {
  name: 'Autumn sale, readers',
  audience: { all: true },
  content: {
    title: "{{first_name | default: 'Reader'}}, the autumn sale begins",
    body: 'Everything 20% off until Sunday, {{properties.book}} too.',
    url: 'https://harbour-books.example/sale',
    image: 'https://harbour-books.example/autumn.png',
    ttl: 14_400,
    data: { campaign: 'autumn-26', first: true },
    locales: {
      de: { title: 'Der Herbst-Ausverkauf beginnt', body: 'Bis Sonntag 20 % auf alles.' },
      'pt-BR': { title: 'A liquidação de outono começou', image: null },
    },
    webpush: {
      actions: [
        { action: 'buy', title: 'Buy now', url: 'https://harbour-books.example/buy' },
        { action: 'later', title: 'Remind me later' },
      ],
      require_interaction: true,
    },
    apns: {
      subtitle: 'Until Sunday',
      sound: { name: 'bell.caf', critical: true, volume: 0.5 },
      interruption_level: 'time-sensitive',
      image: null,
    },
    fcm: { channel_id: 'offers', color: '#b0722a', visibility: 'private' },
  },
  metadata: { campaign: 'autumn-26' },
};

/** The screens that need a hand to appear. `user` is the address of a user with properties. */
export async function statesOf(bench: ConsoleBench, app: ConsoleApp, user: string): Promise<readonly Screen[]> {
  const at = `/apps/${app.id}`;
  const browser = await bench.owner();
  const { serviceUrl: origin } = bench.stage;
  const made = await browser.request.post(`${origin}/console/api/apps/${app.id}/drafts`, {
    headers: { origin },
    data: { name: richMessage.name, message: richMessage },
  });
  const draft = ((await made.json()) as { id: string }).id;
  const firstOf = async (list: string): Promise<string> => {
    const answer = await browser.request.get(`${origin}/console/api/apps/${app.id}/${list}`);
    return ((await answer.json()) as { data: { id: string }[] }).data[0]?.id ?? '';
  };
  const [device, webhook] = [await firstOf('devices'), await firstOf('webhooks')];
  await browser.close();
  const compose = { path: `${at}/compose?draft=${draft}`, heading: 'Compose' };
  return [
    { ...compose, name: 'compose-what', act: (page) => toStep(page, 'What') },
    { ...compose, name: 'compose-preview', act: (page) => toStep(page, 'Preview') },
    { ...compose, name: 'compose-send', act: (page) => toStep(page, 'Send') },
    { ...compose, name: 'compose-de', act: toTab('German') },
    { ...compose, name: 'compose-pt-br', act: toTab('Portuguese (Brazil)') },
    { ...compose, name: 'compose-web-push', act: toTab('Web push') },
    { ...compose, name: 'compose-apple-push', act: toTab('Apple push') },
    { ...compose, name: 'compose-android-push', act: toTab('Android push') },
    { ...compose, name: 'compose-value', act: offerValues },
    { ...compose, name: 'compose-library', act: openDialog('Drafts and templates') },
    { ...compose, name: 'compose-template', act: openDialog('Save as template') },
    { path: user, name: 'user-edit', heading: 'Why did they get nothing?', act: openDialog('Edit') },
    { path: `${at}/devices/${device}`, name: 'device-edit', heading: 'History', act: openDialog('Edit') },
    {
      path: `${at}/settings/webhooks/${webhook}`,
      name: 'webhook-rotate',
      heading: 'Verify the signature',
      act: openDialog('Rotate'),
    },
    { path: at, name: 'palette', heading: 'Last messages', act: openPalette },
    { path: at, name: 'menu', heading: 'Last messages', act: openMenu },
    { path: at, name: 'shortcuts', heading: 'Last messages', act: openShortcuts },
    { path: `${at}/settings/webhooks`, name: 'new-webhook', heading: 'Webhooks', act: openDialog('New webhook') },
    { path: `${at}/settings`, name: 'new-key', heading: 'Keys', act: openDialog('New key') },
    { path: '/team', name: 'invite', heading: 'People', act: openDialog('Invite') },
  ];
}

/** The composer's columns are steps where the window is narrow. */
async function toStep(page: Page, name: string): Promise<void> {
  const steps = page.getByRole('radiogroup', { name: 'Step' });
  if (await steps.isVisible()) await steps.getByText(name, { exact: true }).click();
}

const toTab = (name: string) => async (page: Page) => {
  await toStep(page, 'What');
  await page.getByRole('tab', { name }).click();
  await page.getByRole('tab', { name, selected: true }).waitFor();
  // Each channel renders its screens by itself.
  await page.locator('.screens[aria-busy="true"]').waitFor({ state: 'detached' });
};

async function offerValues(page: Page): Promise<void> {
  await toStep(page, 'What');
  await page.getByRole('button', { name: 'Insert a value into Body' }).click();
  await page.getByRole('button', { name: /first_name/ }).waitFor();
}

const openDialog = (button: string) => async (page: Page) => {
  await page.getByRole('button', { name: button, exact: true }).first().click();
  await page.getByRole('dialog').waitFor();
};

async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search pages' }).fill('u-4');
  await page.getByRole('option', { name: /User u-42/ }).waitFor();
}

/** The navigation of a phone is a drawer; elsewhere the switch of the app opens. */
async function openMenu(page: Page): Promise<void> {
  const drawer = page.getByRole('button', { name: 'Open navigation' });
  if (await drawer.isVisible()) await drawer.click();
  else await page.getByRole('button', { name: /Harbour Books/ }).click();
}

async function openShortcuts(page: Page): Promise<void> {
  await page.keyboard.press('Shift+?');
  await page.getByRole('dialog').waitFor();
}

/** The screens of an app without anything. */
export function emptyScreens({ id }: { readonly id: string }): Screen[] {
  const at = `/apps/${id}`;
  return [
    { name: 'empty-overview', path: at, heading: 'Last messages' },
    { name: 'empty-compose', path: `${at}/compose`, heading: 'Compose' },
    { name: 'empty-messages', path: `${at}/messages`, heading: 'Messages' },
    { name: 'empty-users', path: `${at}/users`, heading: 'Users' },
    { name: 'empty-devices', path: `${at}/devices`, heading: 'Devices' },
    { name: 'empty-segments', path: `${at}/segments`, heading: 'Segments' },
    { name: 'empty-segment', path: `${at}/segments/new`, heading: 'New segment' },
    { name: 'empty-properties', path: `${at}/properties`, heading: 'Properties' },
    { name: 'empty-events', path: `${at}/events`, heading: 'Events' },
    { name: 'error-segment', path: `${at}/segments/seg_0000000000000000000000`, heading: 'Empty app' },
    { name: 'empty-revenue', path: `${at}/reports`, heading: 'Revenue' },
    { name: 'empty-engagement', path: `${at}/reports/engagement`, heading: 'Engagement' },
    { name: 'empty-audience', path: `${at}/reports/audience`, heading: 'Audience' },
    { name: 'empty-deliverability', path: `${at}/reports/deliverability`, heading: 'Deliverability' },
    { name: 'empty-webhooks', path: `${at}/settings/webhooks`, heading: 'Webhooks' },
    { name: 'empty-requests', path: `${at}/developers`, heading: 'Developers' },
    { name: 'empty-live-events', path: `${at}/developers/events`, heading: 'Developers' },
    { name: 'error-message', path: `${at}/messages/msg_0000000000000000000000`, heading: 'Empty app' },
  ];
}

/** Screens whose answers do not come. */
export function loadingScreens(at: string): Screen[] {
  const paths = {
    overview: at,
    messages: `${at}/messages`,
    revenue: `${at}/reports`,
    compose: `${at}/compose?draft=x`,
  };
  return Object.entries(paths).map(([name, path]) => ({ name: `loading-${name}`, path, heading: '', isHeld: true }));
}

/** Screens on which somebody may change nothing. */
export function viewerScreens(at: string): Screen[] {
  return [
    { name: 'viewer-messages', path: `${at}/messages`, heading: 'Messages' },
    { name: 'viewer-compose', path: `${at}/compose`, heading: 'Compose' },
    { name: 'viewer-keys', path: `${at}/settings`, heading: 'Keys' },
    { name: 'viewer-channels', path: `${at}/settings/channels`, heading: 'Web push' },
    { name: 'viewer-danger', path: `${at}/settings/danger`, heading: 'Danger zone' },
    { name: 'viewer-team', path: '/team', heading: 'Team' },
  ];
}
