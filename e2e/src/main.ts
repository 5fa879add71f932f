// `npm run e2e` tests the stand-ins with an independent sender, and then Carillon in real browsers.
// Words as arguments select tests by name. It ends with the tally, and with status 1 when a test
// failed or a process was left running.

import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CarillonBench } from './carillon-bench.ts';
import { carillonComposeTests } from './carillon-compose-tests.ts';
import { carillonFirefoxTests } from './carillon-firefox-tests.ts';
import { carillonActionTests, carillonTests } from './carillon-tests.ts';
import { ConsoleBench } from './console-bench.ts';
import { consoleCampaignTests } from './console-campaign-tests.ts';
import { consoleComposeTests } from './console-compose-tests.ts';
import { consoleDraftTests } from './console-draft-tests.ts';
import { ConsoleFirefoxBench } from './console-firefox-bench.ts';
import { consoleFirefoxTests } from './console-firefox-tests.ts';
import { consoleFirstDayTests } from './console-first-day-tests.ts';
import { consoleLiveTests } from './console-live-tests.ts';
import { consoleLookTests } from './console-look-tests.ts';
import { consolePageTests } from './console-page-tests.ts';
import { consoleReportTests } from './console-report-tests.ts';
import { consoleSegmentTests } from './console-segment-tests.ts';
import { consoleTests } from './console-tests.ts';
import { consoleWebhookTests } from './console-webhook-tests.ts';
import { demoPageTests } from './demo-page-tests.ts';
import { firefoxTests } from './firefox-tests.ts';
import { harnessTests } from './harness-tests.ts';
import { ChromiumBench, FirefoxBench } from './push-bench.ts';
import { listMissing } from './requirements.ts';
import { Run } from './run.ts';
import { defineSuite, runSuites } from './runner.ts';
import { actionTests, standInTests } from './stand-in-tests.ts';

const artifactsDir = fileURLToPath(new URL('../artifacts', import.meta.url));
const print = (line: string) => console.log(line);

// An interrupted run ends at once; its reaper cleans up.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));

rmSync(artifactsDir, { recursive: true, force: true });
const run = await Run.open();

const suites = [
  // The two that take longest come first.
  defineSuite({
    name: 'Screens of the console in Chromium',
    missing: listMissing(['chromium']),
    start: async () => await ConsoleBench.start(),
    tests: [...consoleCampaignTests, ...consolePageTests, ...consoleLookTests],
  }),
  defineSuite({
    name: 'The console in Chromium',
    missing: listMissing(['chromium']),
    start: async () => await ConsoleBench.start(),
    tests: [
      // It needs a service that nobody has set up yet, so it comes first.
      ...consoleFirstDayTests,
      ...consoleTests,
      ...consoleLiveTests,
      ...consoleComposeTests,
      ...consoleDraftTests,
      ...consoleSegmentTests,
      ...consoleReportTests,
      ...consoleWebhookTests,
    ],
  }),
  defineSuite({
    name: 'The harness',
    missing: listMissing(['dbus']),
    start: async () => ({
      artifactsDir: run.newPath('artifacts'),
      saveArtifacts: async () => {},
      stop: async () => {},
    }),
    tests: harnessTests,
  }),
  defineSuite({
    name: 'Firefox with its own windows',
    missing: listMissing(['firefox-esr']),
    start: async () => await FirefoxBench.start(run, 'own windows'),
    tests: [...standInTests, ...firefoxTests],
  }),
  defineSuite({
    name: 'Firefox over D-Bus',
    missing: listMissing(['firefox-esr', 'dbus', 'libnotify4']),
    start: async () => await FirefoxBench.start(run, 'D-Bus'),
    tests: [...standInTests, ...actionTests],
  }),
  defineSuite({
    name: 'Chromium over D-Bus',
    missing: listMissing(['chromium', 'dbus']),
    start: async () => await ChromiumBench.start(run),
    tests: [...standInTests, ...actionTests],
  }),
  defineSuite({
    name: 'The console in Firefox',
    missing: listMissing(['firefox-esr']),
    start: async () => await ConsoleFirefoxBench.start(run),
    tests: consoleFirefoxTests,
  }),
  defineSuite({
    name: 'Carillon in Firefox',
    missing: listMissing(['firefox-esr']),
    start: async () => await CarillonBench.start(FirefoxBench.start(run, 'own windows')),
    tests: [...carillonTests, ...demoPageTests, ...carillonComposeTests, ...carillonFirefoxTests],
  }),
  defineSuite({
    name: 'Carillon in Firefox over D-Bus',
    missing: listMissing(['firefox-esr', 'dbus', 'libnotify4']),
    start: async () => await CarillonBench.start(FirefoxBench.start(run, 'D-Bus')),
    tests: carillonActionTests,
  }),
  defineSuite({
    name: 'Carillon in Chromium',
    missing: listMissing(['chromium', 'dbus']),
    start: async () => await CarillonBench.start(ChromiumBench.start(run)),
    tests: [...carillonTests, ...demoPageTests, ...carillonActionTests],
  }),
];

const { passed, failed, skipped } = await runSuites(suites, {
  words: process.argv.slice(2),
  failsWhenMissing: process.env['CI'] === 'true',
  artifactsDir,
  suitesAtOnce: 2,
  print,
});
const leftovers = run.listProcesses();
for (const { pid, command } of leftovers) print(`FAIL left running: ${pid} ${command}`);
await run.close();
print(`${passed} passed, ${failed + leftovers.length} failed`);
// Words that select no test are a mistake and not a success.
process.exitCode = failed + leftovers.length === 0 && passed + skipped > 0 ? 0 : 1;
