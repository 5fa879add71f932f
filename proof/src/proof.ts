// `npm run proof [-- NUMBER …]` proves guarantees at their full size and ends with a line `N
// passed, N failed`. A proof that broke off counts as failed. A claim that could not be tried,
// because a program is missing, counts as failed too; a smoke run skips it in words.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { progress as say, Workbench } from '../../rig/src/workbench.ts';
import { type Claim, drawTable, Report } from './report.ts';
import { listRequirements, loadRequirement } from './requirement.ts';

const usage = `npm run proof [-- NUMBER …] [options]

  NUMBER      of a guarantee: R-38b; all that can be proven, where none is named
  --quick     a smoke run with small numbers; without NUMBER it leaves out the proofs that take long
  --seed S    repeats the chance of another run
  --list      prints the numbers
  --json      one JSON document on standard output
`;

interface Proven {
  readonly number: string;
  readonly title: string;
  readonly seconds: number;
  readonly claims: readonly Claim[];
}

function parseInvocation(argv: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      seed: { type: 'string' },
      list: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const seed = values.seed === undefined ? randomInt(1, 1_000_000_000) : Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`--seed must be a whole number, not '${values.seed}'.`);
  return { ...values, seed, numbers: positionals };
}

/** The files to run. Throws for a number that no proof has. */
function pick(numbers: readonly string[]): readonly string[] {
  const all = listRequirements();
  if (numbers.length === 0) return [...all.values()];
  return numbers.map((number) => {
    const file = all.get(number);
    if (file === undefined)
      throw new Error(`There is no proof of '${number}'. There is: ${[...all.keys()].join(', ')}.`);
    return file;
  });
}

const workbench = new Workbench();

/** Proofs at once in a smoke run: it measures nothing, and some proofs mostly wait. */
const atOnceQuick = 2;

async function prove(file: string, isQuick: boolean, seed: number): Promise<Proven> {
  const { number, title, run } = await loadRequirement(file);
  const report = new Report(say);
  const part = workbench.apart();
  say(`${number} ${title} (seed ${seed}${isQuick ? ', quick' : ''})`);
  const startedAt = performance.now();
  try {
    await run({ isQuick, seed, report, workbench: part });
    if (report.claims.length === 0) report.claim('claims something', 'nothing', ['The proof ended without a claim.']);
  } catch (error) {
    report.claim('runs to its end', 'broken off', [String(error instanceof Error ? error.stack : error)]);
  }
  await part.close();
  return { number, title, seconds: (performance.now() - startedAt) / 1_000, claims: report.claims };
}

function draw({ number, title, seconds, claims }: Proven): string {
  return `\n${number} ${title}, ${seconds.toFixed(0)} s\n${drawTable(claims)}`;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => void workbench.close().finally(() => process.exit(130)));
}

try {
  const { numbers, quick, seed, list, json, help } = parseInvocation(process.argv.slice(2));
  if (help) process.stdout.write(usage);
  else if (list) process.stdout.write(`${[...listRequirements().keys()].join('\n')}\n`);
  else {
    const isSmokeRunOfAll = quick && numbers.length === 0;
    const proven: Proven[] = [];
    const leftOut: string[] = [];
    const files = pick(numbers).values();
    const proveEach = async (): Promise<void> => {
      for (const file of files) {
        if (workbench.isClosing) return;
        const { number, leftOut: reason } = await loadRequirement(file);
        if (reason !== undefined && isSmokeRunOfAll) leftOut.push(`${number} is left out: it ${reason}.`);
        else proven.push(await prove(file, quick, seed));
      }
    };
    await Promise.all(Array.from({ length: quick ? atOnceQuick : 1 }, proveEach));
    const claims = proven.flatMap((each) => each.claims);
    const count = (verdict: Claim['verdict']): number => claims.filter((claim) => claim.verdict === verdict).length;
    const skipped = quick ? count('SKIP') : 0;
    const [passed, failed] = [count('pass'), count('FAIL') + count('SKIP') - skipped];
    const tally = `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`;
    if (json) {
      process.stdout.write(
        `${JSON.stringify({ work: 'proof', quick, seed, proven, leftOut, passed, failed, skipped })}\n`,
      );
      say(tally);
    } else {
      const lines = [...proven.map(draw), '', ...leftOut, `seed ${seed}`, tally];
      process.stdout.write(`${lines.join('\n')}\n`);
    }
    process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
  }
} catch (error) {
  say(`proof: ${(error as Error).message}`);
  process.exitCode = 1;
}
