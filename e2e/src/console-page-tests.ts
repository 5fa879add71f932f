// Every screen of the console, judged: axe finds nothing serious in either theme, and no text that
// somebody else wrote runs as script.
import { deepEqual, match } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { BrowserContext, Page } from 'playwright-core';
import { type ConsoleBench, isLoaded } from './console-bench.ts';
import { pleasantText, type SceneText, type Screen, setConsoleScene } from './console-scene.ts';
import { statesOf } from './console-states.ts';
import type { Test } from './runner.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Runs as script wherever it lands as markup, as an attribute or as an address. */
const attack = `"><img src=x onerror="globalThis.stolen=1"><script>globalThis.stolen=1</script>`;
const hostileText: SceneText = {
  appName: `Shop ${attack}`.slice(0, 128),
  title: attack,
  externalId: `u/${attack}`,
  firstName: attack,
  property: attack,
  event: attack,
  segment: attack.slice(0, 128),
  purpose: attack,
  country: attack,
  device: { app_version: attack.slice(0, 64), os: '<script>globalThis.stolen=1</script>', model: attack.slice(0, 64) },
};

/** Screens that show what strangers wrote. */
const screensWithText: ReadonlySet<string> = new Set([
  ...['apps', 'overview', 'messages', 'message', 'users', 'user', 'user-events', 'live-events'],
  ...['devices', 'device', 'team', 'account', 'organisation-audit'],
]);

let pleasant: Promise<readonly Screen[]> | undefined;
const pleasantScreens = (bench: ConsoleBench): Promise<readonly Screen[]> => (pleasant ??= setPleasantScene(bench));

/** Every screen, and their states. */
async function setPleasantScene(bench: ConsoleBench): Promise<readonly Screen[]> {
  const { app, screens } = await setConsoleScene(bench, pleasantText);
  return [...screens, ...(await statesOf(bench, app, `/apps/${app.id}/users/${pleasantText.externalId}`))];
}

async function open(bench: ConsoleBench, context: BrowserContext, screen: Screen): Promise<Page> {
  const page = await context.newPage();
  await openIn(bench, page, screen);
  return page;
}

async function openIn(bench: ConsoleBench, page: Page, screen: Screen): Promise<void> {
  await page.goto(bench.url(screen.path));
  await page.getByRole('heading', { name: screen.heading }).first().waitFor();
  await isLoaded(page);
  await screen.act?.(page);
  await isLoaded(page);
}

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string }[];
}

/** Resolves when the page has drawn its dark theme. */
async function turnDark(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.locator('html[data-mantine-color-scheme="dark"]').waitFor();
  await page.evaluate(async () => {
    await new Promise(requestAnimationFrame);
    await Promise.all(document.getAnimations().map(({ finished }) => finished));
  });
}

/** The serious findings of axe, whose script the page has loaded. */
async function findSerious(page: Page, options: { readonly runOnly?: readonly string[] }): Promise<string[]> {
  const violations = await page.evaluate(async (given) => {
    type Checker = { run(context: object, options: object): Promise<{ violations: Finding[] }> };
    const { axe: checker } = globalThis as unknown as { axe: Checker };
    return (await checker.run(document, given)).violations;
  }, options);
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  return serious.map(({ id, nodes }) => `${id} ${nodes[0]?.html}`);
}

export const consolePageTests: readonly Test<ConsoleBench>[] = [
  {
    name: 'axe finds nothing serious on any screen, in either theme',
    timeoutMs: 900_000,
    async run(bench, context) {
      const screens = await pleasantScreens(bench);
      // The policy of the page would refuse the script of axe.
      const options = { colorScheme: 'light', bypassCSP: true } as const;
      const signedIn = await bench.owner(options);
      const stranger = await bench.stranger(options);
      context.defer(() => signedIn.close());
      context.defer(() => stranger.close());
      const found: string[] = [];
      for (const screen of screens) {
        const page = await open(bench, screen.isSignedOut ? stranger : signedIn, screen);
        await page.evaluate(axe);
        found.push(...(await findSerious(page, {})).map((finding) => `${screen.name}: ${finding}`));
        // The themes differ in their colors alone.
        await turnDark(page);
        const inDark = await findSerious(page, { runOnly: ['color-contrast', 'link-in-text-block'] });
        found.push(...inDark.map((finding) => `${screen.name}, dark: ${finding}`));
        await page.close();
      }
      deepEqual(found, []);
    },
  },
  {
    name: 'no screen scrolls sideways on a phone',
    timeoutMs: 400_000,
    async run(bench, context) {
      const screens = await pleasantScreens(bench);
      const signedIn = await bench.owner();
      const stranger = await bench.stranger();
      context.defer(() => signedIn.close());
      context.defer(() => stranger.close());
      const tooWide: string[] = [];
      for (const screen of screens) {
        const browser = screen.isSignedOut ? stranger : signedIn;
        const page = await browser.newPage();
        await page.setViewportSize({ width: 360, height: 780 });
        await openIn(bench, page, screen);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        if (width > 360) tooWide.push(`${screen.name} is ${width} px wide`);
        await page.close();
      }
      deepEqual(tooWide, []);
    },
  },
  {
    name: 'R-54 names, titles, values, user agents and provider bodies of strangers are shown as text on every screen',
    timeoutMs: 600_000,
    async run(bench, context) {
      // The push service's own words are hostile, too.
      await bench.stage.sandbox('POST', '/faults', {
        match: { times: 10 },
        action: { type: 'status', status: 400, body: attack },
      });
      context.defer(() => bench.stage.sandbox('DELETE', '/faults'));
      const { screens } = await setConsoleScene(bench, hostileText);
      const mallory = { name: attack.slice(0, 128), email: 'mallory@harbour-books.example', role: 'admin' };
      const stranger = await bench.member(mallory, { userAgent: attack });
      context.defer(() => stranger.close());
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const stolen: string[] = [];
      for (const screen of screens) {
        if (screen.isSignedOut) continue;
        // The sessions of an account name the browsers in which it is open.
        // Other tests made apps as well, and a list shows some of them.
        const path = screen.name === 'apps' ? '/?q=Shop' : screen.path;
        const page = await open(bench, screen.name === 'account' ? stranger : browser, { ...screen, path });
        if (screen.name === 'delivery') {
          match(await page.getByRole('region', { name: 'Answer of the push service' }).innerText(), /onerror=/);
        }
        // The text is there, as text: otherwise nothing was tested.
        if (screensWithText.has(screen.name)) {
          await page.getByRole('main').getByText('onerror=').filter({ visible: true }).first().waitFor();
        }
        const hasRun = await page.evaluate(
          () => 'stolen' in globalThis || document.querySelector('main img, main script') !== null,
        );
        if (hasRun) stolen.push(screen.name);
        await page.close();
      }
      deepEqual(stolen, []);
    },
  },
  {
    name: 'R-51 the session cookie is for this site alone, and no script can read it',
    async run(bench, context) {
      const browser = await bench.owner();
      context.defer(() => browser.close());
      const sessions = (await browser.cookies()).filter(({ name }) => name.includes('carillon_session'));
      deepEqual(
        sessions.map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite })),
        [{ httpOnly: true, sameSite: 'Strict' }],
      );
    },
  },
];
