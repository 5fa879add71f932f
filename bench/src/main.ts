// `npm run bench -- WORK` runs one work, prints its result and keeps it; `all` runs every work. The
// exit code is 0 when all requested works ran to their end, whatever the figures are. People judge
// the figures.
import { parseArgs } from 'node:util';
import { requireProc } from '../../rig/src/measure.ts';
import { MissingProgramError, progress, RunError, Workbench } from '../../rig/src/workbench.ts';
import { describe, describeChief } from './describe.ts';
import { completeResult, keepResult, type Result } from './results.ts';
import { type OptionName, type Options, optionTable, workTable } from './works.ts';

interface Invocation {
  readonly work: string;
  readonly options: Options;
  readonly isQuick: boolean;
  readonly isJson: boolean;
}

function drawUsage(): string {
  const works = Object.entries(workTable).flatMap(([name, { about, options }]) => [
    `  ${name.padEnd(9)} ${about}`,
    ...options.map((option) => {
      const { takes, about: does } = optionTable[option];
      return `              ${`--${option} ${takes}`.padEnd(36)} ${does}`;
    }),
  ]);
  return [
    'npm run bench -- WORK [options]\n',
    ...works,
    '  all       every work, one after the other, with a line for each',
    '\n  --quick   a smoke run of seconds; its figures mean nothing',
    '  --json    one JSON document on standard output\n',
  ].join('\n');
}

const optionNames = Object.keys(optionTable) as OptionName[];

function parseInvocation(argv: readonly string[]): Invocation | 'help' {
  const text = Object.fromEntries(optionNames.map((name) => [name, { type: 'string' } as const]));
  const flag = { type: 'boolean', default: false } as const;
  const parsed = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: { ...text, quick: flag, json: flag, help: flag },
  });
  const values: Readonly<Record<string, string | boolean | undefined>> = parsed.values;
  if (values['help']) return 'help';
  const [work, ...more] = parsed.positionals;
  if (work === undefined || more.length > 0) throw new RunError(`Name one work.\n\n${drawUsage()}`);
  const taken = work === 'all' ? [] : workTable[work]?.options;
  if (taken === undefined) throw new RunError(`There is no work '${work}'.\n\n${drawUsage()}`);
  const given = optionNames.filter((name) => values[name] !== undefined);
  for (const name of given) {
    if (!taken.includes(name)) throw new RunError(`--${name} is no option of '${work}'.`);
  }
  const options = Object.fromEntries(given.map((name) => [name, optionTable[name].parse(String(values[name]))]));
  return { work, options, isQuick: values['quick'] === true, isJson: values['json'] === true };
}

const workbench = new Workbench();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => void workbench.close().finally(() => process.exit(130)));
}

// A part of a work may fail before the work waits for it. The work fails when it does, and the other
// works go on.
process.on('unhandledRejection', (error) => progress(`bench: ${wordsOf(error)}`));

async function run({ work, options, isQuick }: Invocation, part: Workbench): Promise<Result> {
  const { measure } = workTable[work] ?? {};
  if (measure === undefined) throw new RunError(`There is no work '${work}'.`);
  await requireProc();
  const measured = await measure(part, { ...options, isQuick });
  await part.close();
  const result = completeResult(work, isQuick, measured);
  const { name = work, isTrial = false } = measured;
  keepResult(name, isQuick || isTrial || options.profile !== undefined, result);
  return result;
}

/** Works at once in a smoke run of all. Its figures mean nothing, and some works mostly wait. */
const atOnceQuick = 2;

/** Runs each work as often as its entry says. A failing work does not stop the others. */
async function runAll({ isQuick, isJson }: Invocation): Promise<void> {
  const results: Result[] = [];
  const counts = { ok: 0, FAIL: 0, SKIP: 0 };
  const runOne = async (work: string, options: Options): Promise<void> => {
    const from = performance.now();
    const say = (how: keyof typeof counts, word: string): void => {
      counts[how]++;
      const seconds = ((performance.now() - from) / 1000).toFixed(1);
      const name = [work, ...Object.values(options)].join(' ');
      const line = `${how.padEnd(4)} ${name.padEnd(12)} ${seconds.padStart(6)} s  ${word}`;
      if (isJson) progress(line);
      else process.stdout.write(`${line}\n`);
    };
    const part = workbench.apart();
    try {
      const result = await run({ work, options, isQuick, isJson }, part);
      results.push(result);
      say('ok', describeChief(result));
    } catch (error) {
      say(error instanceof MissingProgramError ? 'SKIP' : 'FAIL', wordsOf(error));
    } finally {
      await part.close();
    }
  };
  const inOrder = Object.entries(workTable).flatMap(([work, { runs = [{}] }]) =>
    runs.map((options) => ({ work, options })),
  );
  // The last one, `console`, is the longest: nothing would run beside it at the end.
  const jobs = (isQuick ? inOrder.toReversed() : inOrder).values();
  const runEach = async (): Promise<void> => {
    for (const { work, options } of jobs) {
      if (workbench.isClosing) return;
      await runOne(work, options);
    }
  };
  await Promise.all(Array.from({ length: isQuick ? atOnceQuick : 1 }, runEach));
  const { ok: passed, FAIL: failed, SKIP: skipped } = counts;
  if (isJson) process.stdout.write(`${JSON.stringify(results)}\n`);
  else process.stdout.write(`${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}\n`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}

/** A failure in words, with the stack if the words do not explain it. */
function wordsOf(error: unknown): string {
  const { message, stack, code } = error as { message?: string; stack?: string; code?: string };
  const isForPeople = error instanceof RunError || code?.startsWith('ERR_PARSE_ARGS');
  return (isForPeople ? message : (stack ?? message)) ?? String(error);
}

try {
  process.exitCode = 0;
  const invocation = parseInvocation(process.argv.slice(2));
  if (invocation === 'help') process.stdout.write(drawUsage());
  else if (invocation.work === 'all') await runAll(invocation);
  else {
    const result = await run(invocation, workbench.apart());
    process.stdout.write(invocation.isJson ? `${JSON.stringify(result)}\n` : `\n${describe(result)}\n`);
  }
} catch (error) {
  progress(`bench: ${wordsOf(error)}`);
  process.exitCode = 1;
} finally {
  await workbench.close();
}
