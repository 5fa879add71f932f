// `npm run screenshots` makes the pictures of the documents from the current pages with the demo's
// people. With `--all FOLDER` it saves every page in both themes, narrow and wide, for inspection:
// git ignores a folder named `screenshots`. `--screen NAME`, as often as wanted, takes these
// screens of the console alone. To add a picture, add a line to `pictures`, a screen to
// `console-scene.ts`, or a state of one to `console-states.ts`.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { ada, appName, type CastMember, cast, content, noor } from '../../tools/demo-cast.ts';
import { Stage } from '../../tools/demo-stage.ts';
import { ConsoleBench, isLoaded } from './console-bench.ts';
import { pleasantText, type Screen, setConsoleScene } from './console-scene.ts';
import { emptyScreens, loadingScreens, statesOf, viewerScreens } from './console-states.ts';

interface Picture {
  readonly name: string;
  readonly url: (stage: Stage) => string;
  /** A text or an element that is on the page when it is complete. */
  readonly waitsFor: string;
  /** The file that a document shows. */
  readonly file?: string;
}

const pictures: readonly Picture[] = [
  { name: 'demo', url: (stage) => `${stage.serviceUrl}/demo`, waitsFor: 'Ring this browser' },
  {
    name: 'sandbox-inbox',
    url: (stage) => stage.inboxUrl,
    waitsFor: 'was refused',
    file: 'docs/images/sandbox-inbox.png',
  },
];

const wide = { width: 1440, height: 936 };
const narrow = { width: 390, height: 844 };
/** The scale of a document's picture. */
const pixelsPerPoint = 1;
const root = fileURLToPath(new URL('../..', import.meta.url));

/** Three people: one clicked, one looks at the notification, and one's browser is gone. */
async function setScene(stage: Stage): Promise<void> {
  await stage.startSandbox();
  await stage.startService();
  const app = await stage.command('app', 'create', appName, '--plan', 'unlimited');
  await stage.command('channel', 'set', String(app['id']), 'webpush', '--subject', 'mailto:push@harbour-books.example');
  const key = String(app['server_key']);
  const { vapid_public_key } = await stage.api(key, 'GET', '/v1/config');
  const subscribe = async (member: CastMember): Promise<{ endpoint: string; deviceId: string }> => {
    const { vendor, locale, timezone, user } = member;
    const made = await stage.sandbox('POST', '/subscriptions', {
      vendor,
      vapid_key: vapid_public_key,
      hosts: 'vendor',
    });
    const [token] = made['subscriptions'] as { endpoint: string }[];
    const device = await stage.api(key, 'POST', '/v1/devices', { platform: 'web', token, locale, timezone });
    const deviceId = String(device['id']);
    if (user) {
      const { externalId: external_id, firstName: first_name, language, country, book } = user;
      const profile = { external_id, first_name, language, country, properties: { book }, device_id: deviceId };
      await stage.api(key, 'POST', '/v1/users', profile);
    }
    return { endpoint: token?.endpoint ?? '', deviceId };
  };
  const ring = ({ deviceId }: { deviceId: string }) =>
    stage.api(key, 'POST', '/v1/messages', {
      audience: { device_ids: [deviceId] },
      content: { ...content, webpush: { actions: [{ action: 'hold', title: 'Hold it for me' }] } },
    });

  const gone = await subscribe(noor);
  await stage.sandbox('DELETE', `/subscriptions/${gone.endpoint.split('/').at(-1)}`);
  await ring(gone);
  for (const member of [...cast.filter((each) => each.locale === 'de-DE'), ada]) await ring(await subscribe(member));
  const { entries } = await stage.sandbox('GET', '/inbox?limit=100');
  const [newest] = entries as { id: string }[];
  await stage.sandbox('POST', `/inbox/${newest?.id}/act`, { event: 'clicked', action: 'hold' });
}

async function take(browser: Browser, stage: Stage, picture: Picture, options: TakeOptions): Promise<void> {
  const context = await browser.newContext({
    viewport: options.size,
    deviceScaleFactor: pixelsPerPoint,
    colorScheme: options.theme,
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  await page.goto(picture.url(stage));
  await page.getByText(picture.waitsFor).first().waitFor();
  await page.screenshot({ path: options.path, fullPage: options.isWhole });
  await context.close();
  process.stdout.write(`${options.path}\n`);
}

interface TakeOptions {
  readonly size: { readonly width: number; readonly height: number };
  readonly theme: 'light' | 'dark';
  readonly path: string;
  readonly isWhole: boolean;
}

/** The screens of the console that the documents show, and their files. */
const documented = new Map([
  ['message', 'docs/images/console-message.png'],
  ['delivery', 'docs/images/console-delivery.png'],
  ['user', 'docs/images/console-user.png'],
  ['overview', 'docs/images/console-overview.png'],
  ['compose-de', 'docs/images/console-compose.png'],
]);

type Person = { readonly colorScheme: 'light' | 'dark' };
type Visitor = (screen: Screen, person: Person) => Promise<BrowserContext>;

/** Every screen of the console in its states, or those that the documents show. */
async function takeConsole(folder: string | undefined, names: readonly string[]): Promise<void> {
  const bench = await ConsoleBench.start();
  const visitor: Visitor = (screen, person) => (screen.isSignedOut ? bench.stranger(person) : bench.owner(person));
  const takeAll = async (screens: readonly Screen[], as = visitor): Promise<void> => {
    const wanted = screens.filter(({ name }) => names.length === 0 || names.includes(name));
    if (folder !== undefined) await takeScreens(bench, wanted, folder, as);
  };
  try {
    await takeAll([{ name: 'not-set-up', path: '/sign-in', heading: 'Carillon is running', isSignedOut: true }]);
    // The first owner sets the console up, and from then on the sign-in page has its form.
    await (await bench.owner()).close();
    const { app, screens } = await setConsoleScene(bench, pleasantText);
    const states = await statesOf(bench, app, `/apps/${app.id}/users/u-42`);
    if (folder === undefined) {
      for (const screen of [...screens, ...states]) {
        const file = documented.get(screen.name);
        if (file === undefined) continue;
        const options: TakeOptions = { size: wide, theme: 'light', path: join(root, file), isWhole: false };
        await takeScreen(bench, screen, options, visitor);
      }
      return;
    }
    await takeAll(screens);
    await takeAll(states);
    await takeAll(emptyScreens(await bench.makeApp('Empty app')));
    await takeAll(loadingScreens(`/apps/${app.id}`));
    const viewer = await bench.member({ name: 'Vera', email: 'vera@harbour-books.example', role: 'viewer' });
    const { cookies } = await viewer.storageState();
    await viewer.close();
    await takeAll(viewerScreens(`/apps/${app.id}`), async (_screen, person) => {
      const context = await bench.stranger(person);
      await context.addCookies(cookies);
      return context;
    });
    await bench.stage.command('pause');
    await takeAll([{ name: 'paused', path: `/apps/${app.id}`, heading: 'Last messages' }]);
  } finally {
    await bench.stop();
  }
}

async function takeScreens(bench: ConsoleBench, screens: readonly Screen[], folder: string, as: Visitor) {
  for (const screen of screens) {
    for (const theme of ['light', 'dark'] as const) {
      for (const size of [narrow, wide]) {
        const path = join(folder, `console-${screen.name}-${theme}-${size.width}.png`);
        await takeScreen(bench, screen, { size, theme, path, isWhole: true }, as);
      }
    }
  }
}

/** Resolves when the sentences that open the page are there and its devices are counted. */
async function isTold(page: Page): Promise<void> {
  await page.waitForFunction(
    () =>
      [...document.querySelectorAll('.headline')].every(({ textContent }) => textContent?.trim() !== '') &&
      !/Counting|Connecting/.test(document.body.textContent ?? ''),
  );
}

async function takeScreen(bench: ConsoleBench, screen: Screen, options: TakeOptions, as: Visitor): Promise<void> {
  const context = await as(screen, { colorScheme: options.theme });
  const page = await context.newPage();
  await page.setViewportSize(options.size);
  if (screen.isHeld) {
    await page.route('**/console/api/apps/*/**', () => undefined);
    await page.goto(bench.url(screen.path));
    await page.getByLabel('Loading').first().waitFor();
  } else {
    await page.goto(bench.url(screen.path));
    await page.getByRole('heading', { name: screen.heading }).or(page.getByRole('alert')).first().waitFor();
    await isLoaded(page);
    await screen.act?.(page);
    await isLoaded(page);
    await isTold(page);
  }
  if (options.isWhole) {
    // Lists draw the rows that are in sight: a window as high as the page shows them all.
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    await page.setViewportSize({ ...options.size, height: Math.max(options.size.height, Math.min(height, 4000)) });
    // A row is placed when those above it are measured, in the frame after it is drawn.
    await page.evaluate(() => new Promise((placed) => requestAnimationFrame(() => requestAnimationFrame(placed))));
  }
  await page.screenshot({ path: options.path, fullPage: options.isWhole });
  await context.close();
  process.stdout.write(`${options.path}\n`);
}

const { values } = parseArgs({
  options: { all: { type: 'string' }, screen: { type: 'string', multiple: true, default: [] } },
});
const stage = new Stage();
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
try {
  if (values.screen.length === 0) await setScene(stage);
  if (values.all === undefined) {
    for (const picture of pictures) {
      if (picture.file === undefined) continue;
      const path = join(root, picture.file);
      await take(browser, stage, picture, { size: wide, theme: 'light', path, isWhole: false });
    }
  } else {
    mkdirSync(values.all, { recursive: true });
    for (const picture of values.screen.length > 0 ? [] : pictures) {
      for (const theme of ['light', 'dark'] as const) {
        for (const size of [narrow, wide]) {
          const path = join(values.all, `${picture.name}-${theme}-${size.width}.png`);
          await take(browser, stage, picture, { size, theme, path, isWhole: true });
        }
      }
    }
  }
  await takeConsole(values.all, values.screen);
} finally {
  await browser.close();
  await stage.close();
}
