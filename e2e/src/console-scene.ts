// Every screen of the console with data on it, and hostile data where somebody else writes the
// text.
import type { Page } from 'playwright-core';
import type { ConsoleApp, ConsoleBench } from './console-bench.ts';

export interface Screen {
  readonly name: string;
  /** Below /console. */
  readonly path: string;
  /** A heading that is there when the screen is complete. */
  readonly heading: string;
  readonly isSignedOut?: boolean;
  /** Its requests are not answered, so that it goes on loading. */
  readonly isHeld?: boolean;
  /** Brings the screen into its state, such as an open dialog. */
  readonly act?: (page: Page) => Promise<void>;
}

export interface Scene {
  readonly app: ConsoleApp;
  readonly screens: readonly Screen[];
}

export interface SceneText {
  readonly appName: string;
  readonly title: string;
  readonly externalId: string;
  readonly firstName: string;
  readonly property: string;
  readonly event: string;
  readonly segment: string;
  readonly purpose: string;
  /** A value of a list of countries. */
  readonly country: string;
  readonly device: { readonly app_version: string; readonly os: string; readonly model: string };
}

export const pleasantText: SceneText = {
  appName: 'Harbour Books',
  title: 'Autumn sale',
  externalId: 'u-42',
  firstName: 'Ada',
  property: 'The Voyage Out',
  event: 'article_read',
  segment: 'Readers in Germany',
  purpose: 'The autumn sale, for readers who may want a second book.',
  country: 'CH',
  device: { app_version: '4.2.0', os: 'Windows', model: 'Chrome 150' },
};

/** Seeds an app: users, a device that is gone, messages of several states, a webhook. */
export async function setConsoleScene(bench: ConsoleBench, text: SceneText): Promise<Scene> {
  const { stage } = bench;
  const app = await bench.makeApp(text.appName);
  const key = app.serverKey;
  const devices = [
    await bench.makeDevice(app, text.device),
    await bench.makeDevice(app, text.device),
    await bench.makeDevice(app),
  ];
  const [first, second, third] = devices.map(({ id }) => id);
  const profile = { first_name: text.firstName, country: 'DE', language: 'de', properties: { book: text.property } };
  await stage.api(key, 'POST', '/v1/users', { external_id: text.externalId, ...profile, device_id: first });
  await stage.api(key, 'POST', '/v1/users', { external_id: 'u-43', country: 'FR', device_id: second });
  for (const name of [text.event, 'purchase']) {
    const properties = name === 'purchase' ? { amount: 19.9, currency: 'EUR' } : { title: text.property };
    await stage.api(key, 'POST', '/v1/events', { name, external_id: text.externalId, properties });
  }
  await stage.api(key, 'POST', '/v1/segments', {
    name: text.segment,
    filter: { field: 'country', op: 'eq', value: 'DE' },
  });
  await bench.removeSubscription(devices[2]?.endpoint ?? '');
  const content = {
    title: text.title,
    body: 'Everything 20% off until Sunday.',
    url: 'https://harbour-books.example/sale',
  };
  const message = await bench.send(app, {
    name: text.title,
    audience: { all: true },
    content,
    metadata: { campaign: text.property },
  });
  const sendAt = new Date(Date.now() + 86_400_000).toISOString();
  await bench.send(app, { name: 'Newsletter 47', audience: { all: true }, content, send_at: sendAt });
  await bench.send(app, {
    name: 'Only France',
    audience: { filter: { field: 'country', op: 'eq', value: 'FR' } },
    content: { title: 'Bonjour' },
  });
  await stage.api(key, 'POST', '/v1/users', { external_id: 'u-43', properties: { book: 1927 } });
  for (const amount of [14.5, 22, 9.95]) {
    const properties = { amount, currency: 'EUR', book: text.property };
    await stage.api(key, 'POST', '/v1/events', { name: 'purchase', external_id: text.externalId, properties });
  }
  const segment = await stage.api(key, 'POST', '/v1/segments', {
    name: `Buyers: ${text.segment}`.slice(0, 128),
    description: text.purpose,
    filter: {
      and: [
        { field: 'country', op: 'in', value: ['DE', 'AT', text.country] },
        {
          or: [
            { field: 'properties.book', op: 'neq', value: text.property },
            { event: 'purchase', within: '90d' },
          ],
        },
        { not: { field: 'device.last_seen_at', op: 'within_last', value: '1m' } },
      ],
    },
  });
  await trackPurchases(bench, app, text.externalId);
  const made = await stage.command('webhook', 'create', app.id, 'https://hooks.harbour-books.example/push');
  const [serverKey, entry] = await firstIds(bench, app, ['/keys', '/audit']);
  const at = `/apps/${app.id}`;
  const user = encodeURIComponent(text.externalId);
  const screens: readonly Screen[] = [
    { name: 'sign-in', path: '/sign-in', heading: 'Sign in', isSignedOut: true },
    { name: 'apps', path: '/', heading: 'Apps' },
    { name: 'new-app', path: '/apps/new', heading: 'New app' },
    { name: 'overview', path: at, heading: 'Last messages' },
    { name: 'compose', path: `${at}/compose?message=${message}`, heading: 'Compose' },
    { name: 'messages', path: `${at}/messages`, heading: 'Messages' },
    { name: 'message', path: `${at}/messages/${message}`, heading: 'Deliveries' },
    { name: 'delivery', path: `${at}/messages/${message}/deliveries/${third}`, heading: 'Timeline' },
    { name: 'users', path: `${at}/users`, heading: 'Users' },
    { name: 'user', path: `${at}/users/${user}`, heading: 'Why did they get nothing?' },
    { name: 'user-events', path: `${at}/users/${user}?show=events`, heading: 'Why did they get nothing?' },
    { name: 'devices', path: `${at}/devices`, heading: 'Devices' },
    { name: 'device', path: `${at}/devices/${third}`, heading: 'History' },
    { name: 'requests', path: `${at}/developers`, heading: 'Developers' },
    { name: 'live-events', path: `${at}/developers/events`, heading: 'Developers' },
    { name: 'segments', path: `${at}/segments`, heading: 'Segments' },
    { name: 'segment', path: `${at}/segments/${segment['id']}`, heading: 'Who is in it' },
    { name: 'new-segment', path: `${at}/segments/new?event=purchase`, heading: 'New segment' },
    { name: 'properties', path: `${at}/properties`, heading: 'Properties' },
    { name: 'property', path: `${at}/properties/book`, heading: 'Values of another type' },
    { name: 'events', path: `${at}/events`, heading: 'Events' },
    { name: 'event', path: `${at}/events/purchase`, heading: 'The latest events' },
    { name: 'revenue', path: `${at}/reports`, heading: 'By segment' },
    { name: 'revenue-segment', path: `${at}/reports?segments=${segment['id']}`, heading: 'By segment' },
    { name: 'revenue-table', path: `${at}/reports?view=table`, heading: 'By segment' },
    { name: 'engagement', path: `${at}/reports/engagement`, heading: 'By message' },
    { name: 'audience', path: `${at}/reports/audience`, heading: 'Gained and lost' },
    { name: 'deliverability', path: `${at}/reports/deliverability`, heading: 'By push service' },
    { name: 'overview-table', path: `${at}?view=table&span=last_30_days`, heading: 'Last messages' },
    { name: 'keys', path: `${at}/settings`, heading: 'Keys' },
    { name: 'key', path: `${at}/settings/keys/${serverKey}`, heading: 'Server key' },
    { name: 'channels', path: `${at}/settings/channels`, heading: 'Web push' },
    { name: 'webhooks', path: `${at}/settings/webhooks`, heading: 'Webhooks' },
    { name: 'webhook', path: `${at}/settings/webhooks/${made['id']}`, heading: 'Verify the signature' },
    { name: 'identity', path: `${at}/settings/identity`, heading: 'Check a proof' },
    { name: 'usage', path: `${at}/settings/usage`, heading: 'This month' },
    { name: 'client-events', path: `${at}/settings/client-events`, heading: 'Client events' },
    { name: 'general', path: `${at}/settings/general`, heading: 'General' },
    { name: 'audit', path: `${at}/settings/audit`, heading: 'Audit' },
    { name: 'audit-entry', path: `${at}/settings/audit/${entry}`, heading: 'Change' },
    { name: 'not-found', path: `${at}/nowhere`, heading: 'There is no such page' },
    { name: 'danger', path: `${at}/settings/danger`, heading: 'Danger zone' },
    { name: 'team', path: '/team', heading: 'People' },
    { name: 'organisation-audit', path: '/audit', heading: 'Entries' },
    { name: 'tokens', path: '/tokens', heading: 'Operator tokens' },
    { name: 'account', path: '/account', heading: 'Sessions' },
  ];
  return { app, screens };
}

/** The id of the first row of each list of the app, as its owner reads it. */
async function firstIds(bench: ConsoleBench, app: ConsoleApp, lists: readonly string[]): Promise<string[]> {
  const browser = await bench.owner();
  const ids: string[] = [];
  for (const list of lists) {
    const answer = await browser.request.get(`${bench.stage.serviceUrl}/console/api/apps/${app.id}${list}`);
    const { data } = (await answer.json()) as { data: { id: string }[] };
    ids.push(data[0]?.id ?? '');
  }
  await browser.close();
  return ids;
}

/** Three weeks of purchases, and two after the message. */
async function trackPurchases({ stage }: ConsoleBench, app: ConsoleApp, externalId: string): Promise<void> {
  const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
  const purchase = (amount: number, currency: string, more: object) => ({
    name: 'purchase',
    properties: { amount, currency },
    ...more,
  });
  const past = Array.from({ length: 20 }, (_, i) =>
    purchase(20 + ((i * 37) % 60), 'EUR', { external_id: 'u-43', occurred_at: daysAgo(i + 1) }),
  );
  const events = [
    ...past,
    purchase(12, 'GBP', { external_id: 'u-43', occurred_at: daysAgo(3) }),
    purchase(79.9, 'EUR', { external_id: externalId }),
    purchase(20.1, 'EUR', { external_id: externalId }),
  ];
  await stage.api(app.serverKey, 'POST', '/v1/events', { events });
}
