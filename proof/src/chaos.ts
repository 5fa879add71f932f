// `npm run chaos` kills, stops and restarts nodes while messages are sent, and then checks the
// history. The exit code is 0 when everything is as the specification promises. The printed seed
// repeats the run.
import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { progress, Workbench } from '../../rig/src/workbench.ts';
import { killNodes } from './chaos/kill-nodes.ts';
import { type Restarts, restartNodes } from './chaos/restart-nodes.ts';
import { runChaos } from './chaos/run.ts';

const usage = `npm run chaos [-- options]

  --kills N     how many times a node is killed (default 200)
  --rolling N   in place of kills: ends and starts node after node in order, so many times
  --devices N   how many there are (default 100000)
  --seed S      a whole number: repeats what is done, when, and to which node
  --quick       a smoke run: 5 kills or restarts, 1000 devices
  --keep DIR    leaves the files of the run there: logs, history, what the checker read
  --json        one JSON document on standard output
`;

interface Invocation {
  readonly kills: number;
  /** Rolling restarts to do; 0 means that nodes are killed instead. */
  readonly restarts: number;
  readonly devices: number;
  readonly seed: number;
  readonly keepDir: string | undefined;
  readonly isJson: boolean;
}

/** The mean time between two kills of nodes that all start within `fastStartMs`. */
const killEveryMs = 3000;
const fastStartMs = 3000;
/**
 * Kills are as much rarer as starts are slower, so that nodes are up for most of the time. They are
 * at most this many times as rare.
 */
const timesRarerMax = 2.5;

function parseInvocation(argv: readonly string[]): Invocation | 'help' {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      kills: { type: 'string' },
      rolling: { type: 'string' },
      devices: { type: 'string' },
      seed: { type: 'string' },
      quick: { type: 'boolean', default: false },
      keep: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  if (values.rolling !== undefined && values.kills !== undefined) throw new Error('Either --kills or --rolling.');
  return {
    kills: wholeNumber('--kills', values.kills, values.quick ? 5 : 200, 1),
    restarts: wholeNumber('--rolling', values.rolling, 0, 1),
    devices: wholeNumber('--devices', values.devices, values.quick ? 1_000 : 100_000, 100),
    seed: wholeNumber('--seed', values.seed, randomInt(1, 2 ** 31), 0),
    keepDir: values.keep === undefined ? undefined : resolve(values.keep),
    isJson: values.json,
  };
}

function wholeNumber(name: string, text: string | undefined, otherwise: number, least: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`${name} must be a whole number of at least ${least}, not '${text}'.`);
}

/** The result; scripts rely on its names. */
interface Result {
  readonly figures: Readonly<Record<string, number | boolean>>;
  readonly violations: readonly string[];
  readonly violationsInAll: number;
  /** The waits in the database while an outcome was late. */
  readonly waits: readonly string[];
}

async function kill(workbench: Workbench, { kills, devices, seed, keepDir }: Invocation): Promise<Result> {
  let everyMs = killEveryMs;
  let inWork = 0;
  const verdict = await runChaos(workbench, {
    devices,
    seed,
    keepDir,
    faults: 'some',
    trouble: async ({ nodes, database: { sql } }) => {
      everyMs = Math.round(killEveryMs * Math.min(timesRarerMax, Math.max(1, nodes.startedInMs / fastStartMs)));
      progress(`nodes started in ${Math.round(nodes.startedInMs)} ms: a kill every ${everyMs} ms`);
      inWork = await killNodes(nodes, {
        kills,
        seed,
        everyMs,
        sql,
        onKill: (count) => {
          if (count % 10 === 0) progress(`${count} kills`);
        },
      });
    },
  });
  const { violations, violations_in_all, waits, ...figures } = verdict;
  return {
    figures: { kill_every_ms: everyMs, steps_in_work: inWork, ...figures },
    violations,
    violationsInAll: violations_in_all,
    waits,
  };
}

/** R-05: nodes are restarted in order, and no device is pushed to twice. */
async function roll(workbench: Workbench, { restarts, devices, seed, keepDir }: Invocation): Promise<Result> {
  let ended: Restarts = { secondsMax: 0, violations: [] };
  const verdict = await runChaos(workbench, {
    devices,
    seed,
    keepDir,
    faults: 'none',
    trouble: async ({ nodes, database: { sql } }) => {
      ended = await restartNodes(nodes, { restarts, seed, sql, onRestart: progress });
    },
  });
  const { lost, duplicates, deliveries_timed_out, max_requests_per_device: most, totals_agree } = verdict;
  const violations = [...ended.violations, ...verdict.violations];
  if (most > 1) violations.push(`a device had ${most} requests for one message`);
  return {
    figures: {
      restarts,
      devices,
      messages: verdict.messages,
      deliveries: verdict.deliveries,
      lost,
      duplicates,
      deliveries_timed_out,
      max_requests_per_device: most,
      exit_seconds_max: ended.secondsMax,
      totals_agree,
    },
    violations,
    violationsInAll: violations.length - verdict.violations.length + verdict.violations_in_all,
    waits: verdict.waits,
  };
}

function describe({ figures, violations, violationsInAll, waits }: Result, seed: number, seconds: number): string {
  const rows = Object.entries({ ...figures, seed, seconds: Math.round(seconds) });
  const words =
    violationsInAll === 0
      ? ['Everything is as promised.']
      : [
          `${violationsInAll} violations:`,
          ...violations.map((each) => `- ${each}`),
          ...(waits.length > 0 ? ['Meanwhile:', ...waits.map((each) => `- ${each}`)] : []),
        ];
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  const lines = [...rows.map(([name, value]) => `${name.replaceAll('_', ' ').padEnd(width)}${value}`), '', ...words];
  return `\n${lines.map((line) => `  ${line}`.trimEnd()).join('\n')}\n\n`;
}

const workbench = new Workbench();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => void workbench.close().finally(() => process.exit(130)));
}

try {
  const invocation = parseInvocation(process.argv.slice(2));
  if (invocation === 'help') process.stdout.write(usage);
  else {
    const { restarts, devices, seed, isJson } = invocation;
    const startedAt = performance.now();
    const result = await (restarts > 0 ? roll : kill)(workbench, invocation);
    const seconds = (performance.now() - startedAt) / 1000;
    const { figures, violations, violationsInAll, waits } = result;
    const document = {
      work: 'chaos',
      params: { devices, seed },
      ...figures,
      violations,
      violations_in_all: violationsInAll,
      waits,
    };
    process.stdout.write(isJson ? `${JSON.stringify(document)}\n` : describe(result, seed, seconds));
    process.exitCode = violationsInAll === 0 ? 0 : 1;
  }
} catch (error) {
  progress(`chaos: ${error instanceof Error ? error.stack : error}`);
  process.exitCode = 1;
} finally {
  await workbench.close();
}
