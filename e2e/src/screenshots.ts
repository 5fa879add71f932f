// `npm run screenshots` makes the pictures of the documents from the current pages with the demo's
// people. With `--all FOLDER` it saves every page in both themes, narrow and wide, for inspection.
// To add a picture, add a line to `pictures`.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { ada, appName, type CastMember, cast, content, noor } from '../../tools/demo-cast.ts';
import { Stage } from '../../tools/demo-stage.ts';

interface Picture {
  readonly name: string;
  readonly url: (stage: Stage) => string;
  /** A text or an element that is on the page when it is complete. */
  readonly waitsFor: string;
  /** The file that a document shows. */
  readonly file?: string;
}

const pictures: readonly Picture[] = [
  { name: 'start', url: (stage) => stage.serviceUrl, waitsFor: 'Carillon is running' },
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

const { values } = parseArgs({ options: { all: { type: 'string' } } });
const stage = new Stage();
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
try {
  await setScene(stage);
  if (values.all === undefined) {
    for (const picture of pictures) {
      if (picture.file === undefined) continue;
      const path = join(root, picture.file);
      await take(browser, stage, picture, { size: wide, theme: 'light', path, isWhole: false });
    }
  } else {
    mkdirSync(values.all, { recursive: true });
    for (const picture of pictures) {
      for (const theme of ['light', 'dark'] as const) {
        for (const size of [narrow, wide]) {
          const path = join(values.all, `${picture.name}-${theme}-${size.width}.png`);
          await take(browser, stage, picture, { size, theme, path, isWhole: true });
        }
      }
    }
  }
} finally {
  await browser.close();
  await stage.close();
}
