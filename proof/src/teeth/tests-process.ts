// Runs named tests of the copied tree in one vitest, so that its database is started once. The
// parent replaces lines between two runs and names the files that it changed.
import { createVitest } from 'vitest/node';

export interface Question {
  readonly changed: readonly string[];
  readonly file: string;
  /** The source of a pattern of full names. */
  readonly pattern: string;
}

export interface TestsRun {
  /** Tests that passed. */
  readonly passed: number;
  /** For each test that failed: the errors that ended it. */
  readonly failed: readonly { readonly name: string; readonly errors: readonly string[] }[];
  /** Errors outside of the named tests: of a module, a hook or nobody. */
  readonly others: readonly string[];
}

const vitest = await createVitest(
  'test',
  // A module that was loaded before its change must not be used again.
  { watch: false, isolate: true, maxWorkers: 1, fileParallelism: false, reporters: [{}], silent: true, retry: 0 },
  {},
  { stdout: process.stderr },
);
await vitest.standalone();

interface Fault {
  readonly name?: string | undefined;
  readonly message: string;
  readonly cause?: unknown;
}

/** A property test names the broken expectation as the cause of its own error. */
function withCauses({ name = 'Error', message, cause }: Fault): string[] {
  return [`${name}: ${message}`, ...(cause === undefined ? [] : withCauses(cause as Fault))];
}

async function run({ changed, file, pattern }: Question): Promise<TestsRun> {
  for (const each of changed) vitest.invalidateFile(each);
  vitest.setGlobalTestNamePattern(pattern);
  const specifications = await vitest.globTestSpecifications([file]);
  const ran = await vitest.runTestSpecifications(specifications);
  // The answer holds the modules of earlier runs, too.
  const asked = new Set(specifications.map(({ moduleId }) => moduleId));
  const testModules = ran.testModules.filter(({ moduleId }) => asked.has(moduleId));
  const tests = testModules.flatMap((module) => [...module.children.allTests()]);
  const suites = testModules.flatMap((module) => [module, ...module.children.allSuites()]);
  return {
    passed: tests.filter((test) => test.result().state === 'passed').length,
    failed: tests
      .filter((test) => test.result().state === 'failed')
      .map((test) => ({
        name: test.fullName,
        errors: (test.result().errors ?? []).flatMap(withCauses),
      })),
    others: [
      ...suites.flatMap((each) => each.errors().map(({ message }) => message)),
      ...ran.unhandledErrors.map((error) => String((error as { readonly message?: unknown }).message ?? error)),
    ],
  };
}

process.on('message', (question: Question) => {
  run(question).then(
    (answer) => process.send?.(answer),
    (error: unknown) => {
      process.stderr.write(`${String(error instanceof Error ? error.stack : error)}\n`);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => void vitest.close().finally(() => process.exit(0)));
process.send?.('ready');
