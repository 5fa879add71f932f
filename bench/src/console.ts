// Measures the work `console`: what a person at the console waits for, with a million seeded
// devices and ten million events, and what live feeds cost the API's process.
import { progress, type Workbench } from '../../rig/src/workbench.ts';
import { becomeOwner, startChromium } from './console/chromium.ts';
import { measureComposer, measureCounts } from './console/composer.ts';
import { measureExplain } from './console/explain.ts';
import { findSent, sendBesideFeeds } from './console/feeds.ts';
import { measurePages } from './console/pages.ts';
import { makeConsoleWorld } from './console/world.ts';
import { watchOthers } from './costs.ts';
import type { Figure } from './figures.ts';
import type { Measured, RunOptions } from './results.ts';

const devicesUsual = 1_000_000;

/** The parts of the measurement, in the order in which they run. */
export const consoleParts = ['feeds', 'pages', 'explain', 'composer', 'counts'] as const;
export type ConsolePart = (typeof consoleParts)[number];

interface ConsoleOptions extends RunOptions {
  readonly devices?: number;
  /** The filled database is kept here for the next run; absent: it is deleted. */
  readonly keep?: string;
  readonly only?: readonly ConsolePart[];
}

const full = { events: 10_000_000, people: 100_000, reached: 10_000 };
const quick = { events: 10_000, people: 1_000, reached: 500 };

export async function measureConsole(
  workbench: Workbench,
  { isQuick, devices = isQuick ? 8_000 : devicesUsual, keep, only = consoleParts }: ConsoleOptions,
): Promise<Measured> {
  const browser = await startChromium(workbench);
  const reports = isQuick ? quick : full;
  const world = await makeConsoleWorld(workbench, { devices, reports }, keep);
  const owner = await becomeOwner(browser, world);
  const countOthers = await watchOthers();
  const figures: Figure[] = [];
  // Memory comes first, because the largest value of all that follows stays in the process. The
  // pages and the explanation show the message that is sent meanwhile.
  const former = only.includes('feeds') ? undefined : await findSent(world);
  const sent = former ?? (await sendBesideFeeds(owner, world));
  const parts: Readonly<Record<ConsolePart, () => Promise<readonly Figure[]> | readonly Figure[]>> = {
    feeds: () => [],
    pages: () => measurePages(browser, owner, world),
    explain: () => measureExplain(world, sent.id),
    composer: () => measureComposer(owner, world),
    counts: () => measureCounts(owner, world),
  };
  for (const part of consoleParts.filter((each) => only.includes(each))) {
    progress(`measuring ${part}`);
    figures.push(...(await parts[part]()));
  }
  figures.push(...sent.figures);
  return {
    name: devices > devicesUsual ? `console-${devices}` : 'console',
    isTrial: devices < devicesUsual || only.length < consoleParts.length,
    params: { devices, events: reports.events },
    figures,
    foreignCores: await countOthers(),
    postgres: world.postgres,
  };
}
