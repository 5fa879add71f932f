// Runs suites, some at once, and prints one line for each test. The tests of a suite run one after
// another and share one bench: its browser and servers. A suite that cannot start fails with all its tests. A test that
// did not run is never reported as passed.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withDeadline } from './deadline.ts';

export interface TestContext {
  /** Registers a cleanup that runs after the test, the last first, whether it passed or not. */
  defer(cleanUp: () => Promise<unknown> | unknown): void;
}

export interface Test<B> {
  /** A sentence that states a guarantee. */
  name: string;
  timeoutMs?: number;
  run(bench: B, context: TestContext): Promise<void>;
}

export interface Bench {
  /** Writes files that help to understand a failure into an existing directory. */
  saveArtifacts(dir: string): Promise<void>;
  stop(): Promise<void>;
}

export interface Suite<B extends Bench> {
  name: string;
  /** Programs to install first; empty when the suite can run. */
  missing: readonly string[];
  start(): Promise<B>;
  tests: readonly Test<B>[];
}

export interface RunnableSuite {
  name: string;
  run(settings: RunnerSettings): Promise<Tally>;
}

export interface RunnerSettings {
  /** Selects tests whose "suite: name" contains one of these words; empty selects all. */
  words: readonly string[];
  /** Whether a suite that cannot run is a failure, as in the CI job with browsers. */
  failsWhenMissing: boolean;
  artifactsDir: string;
  /** Suites that run at the same time; a browser test waits more than it works. */
  suitesAtOnce: number;
  print: (line: string) => void;
}

export interface Tally {
  passed: number;
  failed: number;
  /** Tests that did not run because a browser is missing, where that is allowed. */
  skipped: number;
}

const testTimeoutMs = 120_000;
const startTimeoutMs = 120_000;
const stopTimeoutMs = 60_000;

/** Hides the type of the bench, so that one list can hold suites with different benches. */
export function defineSuite<B extends Bench>(suite: Suite<B>): RunnableSuite {
  return { name: suite.name, run: async (settings) => await runSuite(suite, settings) };
}

/** The suites begin in their order, so one that takes long should come first. */
export async function runSuites(suites: readonly RunnableSuite[], settings: RunnerSettings): Promise<Tally> {
  const tally: Tally = { passed: 0, failed: 0, skipped: 0 };
  const waiting = [...suites];
  const runOneByOne = async (): Promise<void> => {
    for (let suite = waiting.shift(); suite; suite = waiting.shift()) {
      const { passed, failed, skipped } = await suite.run(settings);
      tally.passed += passed;
      tally.failed += failed;
      tally.skipped += skipped;
    }
  };
  await Promise.all(Array.from({ length: settings.suitesAtOnce }, runOneByOne));
  return tally;
}

async function runSuite<B extends Bench>(suite: Suite<B>, settings: RunnerSettings): Promise<Tally> {
  const { words, print } = settings;
  const title = (test: Test<B>) => `${suite.name}: ${test.name}`;
  const tests = suite.tests.filter(
    (test) => words.length === 0 || words.some((word) => title(test).toLowerCase().includes(word.toLowerCase())),
  );
  const tally: Tally = { passed: 0, failed: 0, skipped: 0 };
  if (tests.length === 0) return tally;
  if (suite.missing.length > 0) {
    const reason = `install ${suite.missing.join(', ')}`;
    if (settings.failsWhenMissing) {
      for (const test of tests) print(`FAIL ${title(test)} (${reason})`);
      return { ...tally, failed: tests.length };
    }
    print(`skipped: ${reason} to run the ${tests.length} tests of "${suite.name}"`);
    return { ...tally, skipped: tests.length };
  }
  let bench: B;
  try {
    bench = await withDeadline(`"${suite.name}" to start`, startTimeoutMs, suite.start());
  } catch (error) {
    for (const test of tests) print(`FAIL ${title(test)} (the suite did not start)`);
    print(indent(describeError(error)));
    return { ...tally, failed: tests.length };
  }
  for (const test of tests) {
    const startedAt = performance.now();
    const error = await runTest(test, bench);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    if (error === undefined) {
      tally.passed += 1;
      print(`ok   ${title(test)} (${seconds} s)`);
      continue;
    }
    tally.failed += 1;
    const dir = await saveArtifacts(title(test), bench, error.cause, settings.artifactsDir);
    print(`FAIL ${title(test)} (${seconds} s)`);
    print(indent(describeError(error.cause)));
    print(indent(`see ${dir}`));
    await error.cleanUp();
  }
  try {
    await withDeadline(`"${suite.name}" to stop`, stopTimeoutMs, bench.stop());
  } catch (error) {
    tally.failed += 1;
    print(`FAIL ${suite.name}: ends as it should`);
    print(indent(describeError(error)));
  }
  return tally;
}

interface Failure {
  cause: unknown;
  /** Must be called after the artifacts are saved, because afterwards the pages are gone. */
  cleanUp: () => Promise<void>;
}

async function runTest<B>(test: Test<B>, bench: B): Promise<Failure | undefined> {
  const deferred: (() => Promise<unknown> | unknown)[] = [];
  const cleanUp = async () => {
    for (const work of deferred.reverse()) {
      await withDeadline('a test to clean up', stopTimeoutMs, Promise.resolve(work()));
    }
  };
  const context: TestContext = { defer: (work) => deferred.push(work) };
  try {
    await withDeadline('the test to end', test.timeoutMs ?? testTimeoutMs, test.run(bench, context));
  } catch (cause) {
    return { cause, cleanUp: async () => await cleanUp().catch(() => {}) };
  }
  try {
    await cleanUp();
    return undefined;
  } catch (cause) {
    return { cause, cleanUp: async () => {} };
  }
}

async function saveArtifacts(title: string, bench: Bench, error: unknown, artifactsDir: string): Promise<string> {
  const slug = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const dir = join(artifactsDir, slug.slice(0, 120));
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'error.txt'), describeError(error));
  try {
    await withDeadline('the artifacts to be saved', stopTimeoutMs, bench.saveArtifacts(dir));
  } catch (reason) {
    writeFileSync(join(dir, 'artifacts-error.txt'), describeError(reason));
  }
  return dir;
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `\ncaused by ${describeError(error.cause)}`;
  return `${error.stack ?? error.message}${cause}`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '       ');
}
