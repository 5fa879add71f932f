// The system's Chromium as the measuring device. The page itself notes what it sees by the
// browser's own entries: its paints, and how long each click and each key took until the next
// frame.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { MissingProgramError, type Workbench } from '../../../rig/src/workbench.ts';
import type { ConsoleWorld } from './world.ts';

const viewport = { width: 1440, height: 900 };
const patienceMs = 120_000;

export async function startChromium(workbench: Workbench): Promise<Browser> {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  const executablePath = directories.map((directory) => join(directory, 'chromium')).find((path) => existsSync(path));
  if (executablePath === undefined) {
    throw new MissingProgramError('The console is measured in Chromium. Install chromium.');
  }
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  workbench.onClose(() => browser.close());
  return browser;
}

const email = 'bench@carillon.example';
const password = 'a bell of three strokes';

/**
 * The browser of an owner who signed in by the set-up link, or by the password of an earlier run.
 */
export async function becomeOwner(browser: Browser, { service, setupLink }: ConsoleWorld): Promise<BrowserContext> {
  const context = await newContext(browser);
  const page = await context.newPage();
  await page.goto(setupLink ?? `${service.url}/console/sign-in`);
  if (setupLink !== null) {
    await page.getByLabel('Organisation').fill('Bench');
    await page.getByLabel('Your name').fill('Bench');
  }
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel(/^Password/).fill(password);
  await page.getByRole('button', { name: setupLink === null ? 'Sign in' : 'Set up' }).click();
  await page.getByRole('heading', { name: 'Apps' }).waitFor();
  await page.close();
  return context;
}

/** The same person in a browser whose cache is empty. */
export async function withColdCache(browser: Browser, owner: BrowserContext): Promise<BrowserContext> {
  const context = await newContext(browser);
  await context.addCookies(await owner.cookies());
  return context;
}

async function newContext(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport, reducedMotion: 'reduce' });
  context.setDefaultTimeout(patienceMs);
  // The runner of these sources wraps each named function in a call of `__name`.
  await context.addInitScript({ content: 'globalThis.__name = (one) => one;' });
  await context.addInitScript(observe);
  return context;
}

export interface Noted {
  largestPaintMs: number;
  /** The longest event of each click or key that took longer than a frame, until the next paint. */
  readonly interactionsMs: Record<number, number>;
  /** The time of the last click or input, by `performance.now()`. */
  lastInputAt: number;
}

declare global {
  var noted: Noted;
}

/** Runs in the page before its first script. */
function observe(): void {
  const noted: Noted = { largestPaintMs: 0, interactionsMs: {}, lastInputAt: 0 };
  globalThis.noted = noted;
  performance.setResourceTimingBufferSize(10_000);
  const watch = (type: string, note: (entry: PerformanceEntry) => void, options: object = {}) =>
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) note(entry);
    }).observe({ type, buffered: true, ...options });
  watch('largest-contentful-paint', ({ startTime }) => {
    noted.largestPaintMs = startTime;
  });
  const note = (entry: PerformanceEntry) => {
    const { interactionId = 0, duration } = entry as PerformanceEntry & { interactionId?: number };
    if (interactionId === 0) return;
    noted.interactionsMs[interactionId] = Math.max(noted.interactionsMs[interactionId] ?? 0, duration);
  };
  watch('event', note, { durationThreshold: 16 });
  for (const type of ['click', 'input']) {
    addEventListener(
      type,
      ({ timeStamp }) => {
        noted.lastInputAt = timeStamp;
      },
      { capture: true },
    );
  }
}

/**
 * Milliseconds from the last click or input of `act` until `sinceInput` finds the expected content
 * in the page. `sinceInput` runs in each frame and returns the time since `noted.lastInputAt`, or
 * false. It must find nothing before `act`.
 */
export async function untilThere<Argument>(
  page: Page,
  act: () => Promise<unknown>,
  sinceInput: (argument: Argument) => number | false,
  argument: Argument,
): Promise<number> {
  const found = page.waitForFunction(sinceInput as (argument: unknown) => number | false, argument as unknown, {
    polling: 'raf',
  });
  const [there] = await Promise.all([found, act()]);
  return (await there.jsonValue()) as number;
}
