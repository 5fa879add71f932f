// `npm run demo`: twelve simulated browsers get one message, personalized and in their language.
// One browser is gone, one push service fails at first, and people click. It prints the report and
// what happened to three of them. It needs no internet, and ends with 0 only if everything is as
// expected.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ada,
  appName,
  browserNames,
  type CastMember,
  cast,
  content,
  francois,
  juergen,
  liam,
  nameOf,
  noor,
  type Vendor,
  vendors,
} from './demo-cast.ts';
import {
  type Actor,
  actorOf,
  type Delivery,
  deliveryOf,
  type InboxEntry,
  showReport,
  showScreens,
  showTimeline,
} from './demo-report.ts';
import { heading, paint, print, silence, step } from './demo-screen.ts';
import { type Json, Stage } from './demo-stage.ts';

interface Keys {
  readonly server: string;
  readonly client: string;
}

/**
 * Chrome and Firefox report that they display a notification; Safari displays a declarative one
 * without a report.
 */
const displaysReported = cast.filter((member) => member.vendor !== 'apple' && member !== noor).length;
const engagementExpected = { displayed: displaysReported, clicked: 2, dismissed: 1 };
const reportExpected = { accepted: cast.length, sent: cast.length - 1, failed: 1, skipped: 0 };
const receiptsWithinMs = 15_000;

interface Outcome {
  readonly keys: Keys;
  /** One sentence for each thing that is not as expected. */
  readonly surprises: readonly string[];
}

async function play(stage: Stage): Promise<Outcome> {
  print();
  print(`${paint('bold', 'Carillon')} ${paint('dim', '· a demo on this machine alone, without internet')}`);
  print();
  await step(
    'Sandbox',
    () => stage.startSandbox(),
    () => 'plays the push services of Google, Mozilla and Apple',
  );
  await step(
    'Carillon',
    () => stage.startService(),
    () => 'API, a worker and their own PostgreSQL are up',
  );
  const keys = await step(
    'App',
    () => makeApp(stage),
    () => `${appName}, plan unlimited, with web push keys`,
  );
  const actors = await step(
    'Browsers',
    () => registerBrowsers(stage, keys),
    (made) => `${made.length} subscribed, ${made.filter(({ member }) => member.user).length} of them logged in`,
  );
  await step(
    'Trouble',
    () => makeTrouble(stage, actors),
    () => `${nameOf(noor)} is gone (410), ${nameOf(liam)} answers 503 once`,
  );
  const sent = await step(
    'Message',
    () => stage.api(keys.server, 'POST', '/v1/messages', { audience: { all: true }, name: 'Books are here', content }),
    ({ report }) => `to everyone, ${(report as typeof reportExpected).sent} of ${cast.length} delivered`,
  );
  const messageId = String(sent['id']);
  const entries = await step(
    'People',
    () => actAsPeople(stage, actors),
    () => `${nameOf(ada)} and ${nameOf(francois)} are clicked, ${nameOf(juergen)} is dismissed`,
  );
  const message = await step(
    'Receipts',
    () => waitForReceipts(stage, keys, messageId),
    () => 'what the browsers had to say has arrived',
  );
  const deliveries = await listDeliveries(stage, keys, messageId);

  showScreens(actors, entries);
  showReport(messageId, message, actors, deliveries);
  for (const member of [ada, noor, liam]) showTimeline(member, deliveryOf(actors, deliveries, member));
  return { keys, surprises: findSurprises(message, actors, entries, deliveries) };
}

async function makeApp(stage: Stage): Promise<Keys> {
  const app = await stage.command('app', 'create', appName, '--plan', 'unlimited');
  await stage.command('channel', 'set', String(app['id']), 'webpush', '--subject', 'mailto:push@harbour-books.example');
  return { server: String(app['server_key']), client: String(app['client_key']) };
}

async function registerBrowsers(stage: Stage, keys: Keys): Promise<Actor[]> {
  const { vapid_public_key } = await stage.api(keys.client, 'GET', '/v1/config');
  const made = new Map<Vendor, { endpoint: string }[]>();
  for (const vendor of vendors) {
    const count = cast.filter((member) => member.vendor === vendor).length;
    const request = { vendor, count, vapid_key: vapid_public_key, hosts: 'vendor' };
    const answer = await stage.sandbox('POST', '/subscriptions', request);
    made.set(vendor, answer['subscriptions'] as { endpoint: string }[]);
  }
  const actors: Actor[] = [];
  for (const member of cast) {
    const subscription = made.get(member.vendor)?.shift();
    if (!subscription) throw new Error('the sandbox made too few browsers');
    // The request of the SDK: with the client key. The app's own server says who is logged in.
    const device = await stage.api(keys.client, 'POST', '/v1/devices', {
      platform: 'web',
      token: subscription,
      locale: member.locale,
      timezone: member.timezone,
      model: browserNames[member.vendor],
    });
    const deviceId = String(device['id']);
    if (member.user) await identify(stage, keys, member.user, deviceId);
    actors.push({ member, endpoint: subscription.endpoint, deviceId });
  }
  return actors;
}

async function identify(
  stage: Stage,
  keys: Keys,
  user: NonNullable<CastMember['user']>,
  deviceId: string,
): Promise<void> {
  await stage.api(keys.server, 'POST', '/v1/users', {
    external_id: user.externalId,
    first_name: user.firstName,
    country: user.country,
    language: user.language,
    properties: { book: user.book },
    device_id: deviceId,
  });
}

async function makeTrouble(stage: Stage, actors: readonly Actor[]): Promise<void> {
  await stage.sandbox('DELETE', `/subscriptions/${tokenOf(actors, noor)}`);
  await stage.sandbox('POST', '/faults', {
    match: { token: tokenOf(actors, liam), times: 1 },
    action: { type: 'status', status: 503, retry_after: 1 },
  });
}

async function actAsPeople(stage: Stage, actors: readonly Actor[]): Promise<InboxEntry[]> {
  const { entries } = await stage.sandbox('GET', '/inbox?limit=100');
  const delivered = (entries as InboxEntry[]).filter((entry) => entry.delivered);
  const act = async (member: CastMember, event: string): Promise<void> => {
    const entry = delivered.find(({ endpoint }) => endpoint === actorOf(actors, member).endpoint);
    if (entry) await stage.sandbox('POST', `/inbox/${entry.id}/act`, { event });
  };
  await act(ada, 'clicked');
  await act(francois, 'clicked');
  await act(juergen, 'dismissed');
  return delivered;
}

// Receipts arrive in their own time, so the last number that is read counts.
async function waitForReceipts(stage: Stage, keys: Keys, messageId: string): Promise<Json> {
  const deadline = performance.now() + receiptsWithinMs;
  for (;;) {
    const message = await stage.api(keys.server, 'GET', `/v1/messages/${messageId}`);
    if (isSame(message['engagement'], engagementExpected) || performance.now() > deadline) return message;
    await sleep(50);
  }
}

async function listDeliveries(stage: Stage, keys: Keys, messageId: string): Promise<readonly Delivery[]> {
  const page = await stage.api(keys.server, 'GET', `/v1/messages/${messageId}/deliveries?limit=500`);
  return page['data'] as Delivery[];
}

function findSurprises(
  message: Json,
  actors: readonly Actor[],
  entries: readonly InboxEntry[],
  deliveries: readonly Delivery[],
): string[] {
  const surprises: string[] = [];
  const expect = (what: string, is: unknown, should: unknown): void => {
    if (!isSame(is, should)) surprises.push(`${what} is ${JSON.stringify(is)}, not ${JSON.stringify(should)}`);
  };
  expect('the status', message['status'], 'sent');
  expect('the report', message['report'], reportExpected);
  expect('the engagement', message['engagement'], engagementExpected);
  expect('the count of errors', message['error_counts'], { unregistered: 1 });
  for (const { member, endpoint } of actors) {
    const shown = entries.filter((entry) => entry.endpoint === endpoint).map((entry) => entry.notification);
    const texts = shown.map((notification) => [notification?.title, notification?.body]);
    expect(`what ${nameOf(member)} shows`, texts, member === noor ? [] : [[member.title, member.body]]);
  }
  const storyOf = (member: CastMember): unknown =>
    deliveryOf(actors, deliveries, member)?.timeline.map((entry) =>
      entry.type === 'attempt' ? `${entry.outcome} ${entry.provider?.http_status}` : entry.type,
    );
  expect(`the story of ${nameOf(ada)}`, storyOf(ada), ['queued', 'sent 201', 'displayed', 'clicked']);
  expect(`the story of ${nameOf(noor)}`, storyOf(noor), ['queued', 'failed 410', 'device_invalidated']);
  expect(`the story of ${nameOf(liam)}`, storyOf(liam), ['queued', 'retry 503', 'sent 201', 'displayed']);
  return surprises;
}

function tokenOf(actors: readonly Actor[], member: CastMember): string {
  return new URL(actorOf(actors, member).endpoint).pathname.split('/').at(-1) ?? '';
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Prints the addresses to look at while the demo runs. */
async function showPlaces(stage: Stage, keys: Keys, isKept: boolean): Promise<void> {
  heading('Where to look');
  if (!isKept) {
    const keep = paint('bold', 'npm run demo -- --keep');
    print(`All of it ends now; ${keep} leaves it running, with the inbox and the console to look at.`);
    return;
  }
  // Printed as an address, because the demo sets PUBLIC_URL.
  const { link } = await stage.command('owner', 'setup-link');
  print(`Inbox    ${paint('cyan', stage.inboxUrl)}  ${paint('dim', 'every notification, and buttons to click them')}`);
  print(`Console  ${paint('cyan', String(link))}  ${paint('dim', 'makes you its owner, once')}`);
  print(`API      ${paint('cyan', stage.serviceUrl)}`);
  print();
  print('Ring them all again, and watch the inbox:');
  print();
  print(`curl ${stage.serviceUrl}/v1/messages -H 'content-type: application/json' \\`);
  print(`  -H 'authorization: Bearer ${keys.server}' \\`);
  print(`  -d '{"audience": {"all": true}, "content": {"title": "Hello again, {{first_name}}"}}'`);
  print();
  print('All of it runs on until you press Ctrl-C.');
}

async function main(): Promise<number> {
  const isKept = process.argv.includes('--keep');
  const unknown = process.argv.slice(2).filter((parameter) => parameter !== '--keep');
  if (unknown.length > 0) {
    process.stderr.write(`demo: there is only --keep, not '${unknown.join(' ')}'\n`);
    return 1;
  }
  const stage = new Stage();
  const interrupted = new Promise<'interrupted'>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve('interrupted'));
  });
  try {
    const outcome = await Promise.race([play(stage), interrupted]);
    if (outcome === 'interrupted') {
      silence();
      return 130;
    }
    const { keys, surprises } = outcome;
    if (surprises.length > 0) {
      heading(paint('red', 'This is not what should have happened'));
      for (const surprise of surprises) print(`${paint('red', '✗')} ${surprise}`);
      process.stderr.write(stage.tailOfLog());
      return 1;
    }
    await showPlaces(stage, keys, isKept);
    if (isKept) await interrupted;
    return 0;
  } catch (error) {
    process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    await stage.close();
    print();
  }
}

process.exitCode = await main();
