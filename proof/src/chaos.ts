// `npm run chaos`: kills, stops and restarts nodes while messages are sent, then has the history checked. Ends with 0 when
// everything is as the specification promises, and prints the seed that repeats the run.
import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { progress, Workbench } from '../../bench/src/workbench.ts';
import type { Verdict } from './chaos/check-history.ts';
import { killNodes } from './chaos/kill-nodes.ts';
import { runChaos } from './chaos/run.ts';

const usage = `npm run chaos [-- options]

  --kills N     how many times a node is killed (default 200)
  --devices N   how many there are (default 100000)
  --seed S      a whole number: repeats what is done, when, and to which node
  --quick       a smoke run: 5 kills, 2000 devices
  --keep DIR    leaves the files of the run there: logs, history, what the checker read
  --json        one JSON document on standard output
`;

interface Invocation {
  readonly kills: number;
  readonly devices: number;
  readonly seed: number;
  readonly keepDir: string | undefined;
  readonly isJson: boolean;
}

/** The mean time between two kills: long enough that all nodes are up for most of it. */
const killEveryMs = 3000;

function parseInvocation(argv: readonly string[]): Invocation | 'help' {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      kills: { type: 'string' },
      devices: { type: 'string' },
      seed: { type: 'string' },
      quick: { type: 'boolean', default: false },
      keep: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  return {
    kills: wholeNumber('--kills', values.kills, values.quick ? 5 : 200, 1),
    devices: wholeNumber('--devices', values.devices, values.quick ? 2_000 : 100_000, 100),
    seed: wholeNumber('--seed', values.seed, randomInt(1, 2 ** 31), 0),
    keepDir: values.keep === undefined ? undefined : resolve(values.keep),
    isJson: values.json,
  };
}

function wholeNumber(name: string, text: string | undefined, otherwise: number, least: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`${name} must be a whole number of at least ${least}, not '${text}'.`);
}

function describe(verdict: Verdict, seed: number, seconds: number): string {
  const { violations, violations_in_all: count, ...figures } = verdict;
  const rows = Object.entries({ ...figures, seed, seconds: Math.round(seconds) });
  return [
    '',
    ...rows.map(([name, value]) => `  ${name.replaceAll('_', ' ').padEnd(24)}${value}`),
    '',
    ...(count === 0
      ? ['  Everything is as promised.']
      : [`  ${count} violations:`, ...violations.map((each) => `  - ${each}`)]),
    '',
    '',
  ].join('\n');
}

const workbench = new Workbench();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => void workbench.close().finally(() => process.exit(130)));
}

try {
  const invocation = parseInvocation(process.argv.slice(2));
  if (invocation === 'help') process.stdout.write(usage);
  else {
    const { kills, devices, seed, keepDir, isJson } = invocation;
    const startedAt = performance.now();
    const verdict = await runChaos(workbench, {
      devices,
      seed,
      keepDir,
      faults: 'some',
      trouble: (nodes) =>
        killNodes(nodes, {
          kills,
          seed,
          everyMs: killEveryMs,
          onKill: (count) => {
            if (count % 10 === 0) progress(`${count} kills`);
          },
        }),
    });
    const seconds = (performance.now() - startedAt) / 1000;
    const document = { work: 'chaos', params: { kills, devices, seed }, ...verdict };
    process.stdout.write(isJson ? `${JSON.stringify(document)}\n` : describe(verdict, seed, seconds));
    process.exitCode = verdict.violations_in_all === 0 ? 0 : 1;
  }
} catch (error) {
  progress(`chaos: ${error instanceof Error ? error.stack : error}`);
  process.exitCode = 1;
} finally {
  await workbench.close();
}
