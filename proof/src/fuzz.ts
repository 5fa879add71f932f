// `npm run fuzz` makes requests from the service's own description, most of them wrong in some way,
// and compares every answer with the description (R-75). Then it sends a tenth as many tampered
// receipts and click links (R-48). The printed seed repeats the run; the exit code is 1 when
// anything was found.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { progress, Workbench } from '../../rig/src/workbench.ts';
import { fuzzReceipts } from './fuzz/receipts.ts';
import { type Fuzzed, runFuzz } from './fuzz/run.ts';

const usage = `npm run fuzz [-- options]

  --requests N  how many (default 100000), and a tenth as many receipts
  --seed S      a whole number: makes the same requests again
  --quick       a smoke run: 2000 requests
  --json        one JSON document on standard output
`;

const requestsUsual = 100_000;
const requestsQuick = 2_000;

function parseInvocation(argv: readonly string[]) {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      requests: { type: 'string' },
      seed: { type: 'string' },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  return {
    ...values,
    requests: wholeNumber('--requests', values.requests, values.quick ? requestsQuick : requestsUsual, 1),
    seed: wholeNumber('--seed', values.seed, randomInt(1, 2 ** 31), 0),
  };
}

function wholeNumber(name: string, text: string | undefined, otherwise: number, least: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new Error(`${name} must be a whole number of at least ${least}, not '${text}'.`);
}

function describe(fuzzed: Fuzzed & { readonly receipts: number }): string {
  const { requests, seed, findings, statuses, ms_p99: p99, receipts } = fuzzed;
  const counts = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
  const words =
    findings.length === 0
      ? ['Every answer is one that the description promises, and no token but a good one did anything.']
      : findings.map(({ rule, operation, times, sample }) => `- ${operation}: ${rule} (${times} times)\n    ${sample}`);
  const lines = [
    `${requests} requests, seed ${seed}: ${counts.join(', ')}; p99 ${p99} ms`,
    `${receipts} receipts and click links`,
    '',
    ...words,
  ];
  return `\n${lines.map((line) => `  ${line}`.trimEnd()).join('\n')}\n\n`;
}

const workbench = new Workbench();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => void workbench.close().finally(() => process.exit(130)));
}

try {
  const { requests, seed, json, help } = parseInvocation(process.argv.slice(2));
  if (help) process.stdout.write(usage);
  else {
    progress(`seed ${seed}`);
    const asked = await runFuzz(workbench, { requests, seed });
    const receipts = await fuzzReceipts(workbench, { requests: Math.ceil(requests / 10), seed });
    const fuzzed = {
      ...asked,
      receipts: receipts.requests,
      findings: [...asked.findings, ...receipts.findings],
    };
    process.stdout.write(json ? `${JSON.stringify(fuzzed)}\n` : describe(fuzzed));
    process.exitCode = fuzzed.findings.length === 0 ? 0 : 1;
  }
} catch (error) {
  progress(`fuzz: ${error instanceof Error ? error.stack : error}`);
  process.exitCode = 1;
} finally {
  await workbench.close();
}
