// removes the control of each claim of SECURITY.md, one after another, and shows that the test
// which the claim names goes red. A mutant that does not compile or start, or that fails otherwise
// than by a broken expectation of the named test, shows nothing and counts as a failure.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createRandom } from '../../../rig/src/random.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';
import { type Claim, listClaims, titlePattern } from '../teeth/claims.ts';
import { type Control, listControls } from '../teeth/controls.ts';
import { Tests } from '../teeth/tests.ts';
import type { TestsRun } from '../teeth/tests-process.ts';
import { copyTree, withoutControl } from '../teeth/tree.ts';

const quickCount = 4;

async function run({ isQuick, seed, report, workbench }: ProofOptions): Promise<void> {
  const all = listClaims();
  const controls = listControls();
  const chosen = isQuick ? pickSome(all, seed) : all;
  const tree = await workbench.makeDirectory('teeth');
  copyTree(tree);
  const fault = await build(tree);
  if (fault !== null) throw new Error(fault);
  const tests = await Tests.start(tree);
  workbench.onClose(() => tests.close());

  const green = new Map<string, readonly string[]>();
  // Restored files, too, differ from what the process has loaded.
  const changed = new Set<string>();
  const toothless: string[] = [];
  for (const claim of chosen) {
    const ask = (): Promise<TestsRun> =>
      tests.run({ changed: [...changed], file: claim.file, pattern: titlePattern(claim.test).source });
    const complainOf = async (control: Control | undefined): Promise<readonly string[]> => {
      if (!control) return ['controls.diff has no line for it.'];
      const asked = `${claim.file} ${claim.test}`;
      const before = green.get(asked) ?? complainOfGreen((await build(tree)) ?? (await ask()));
      green.set(asked, before);
      changed.add(control.file);
      return before.length > 0 ? before : complainOfMutant(tree, control, ask);
    };
    const control = controls.get(claim.number);
    const complaints = await complainOf(control);
    if (complaints.length > 0) toothless.push(claim.number);
    report.claim(title(claim), complaints.length === 0 ? `red without ${control?.file}` : 'not shown', complaints);
    if (workbench.isClosing) return;
  }
  report.claim('every claim of SECURITY.md has teeth', `${chosen.length} of ${all.length} claims tried`, toothless);
}

/** In a smoke run, a few claims, each once. */
function pickSome(all: readonly Claim[], seed: number): readonly Claim[] {
  const random = createRandom(seed);
  const picked = new Set<Claim>();
  while (picked.size < Math.min(quickCount, all.length)) picked.add(random.pick(all));
  return [...picked];
}

const title = ({ number, promise }: Claim): string => `${number} ${promise}`;

function complainOfGreen(run: TestsRun | string): string[] {
  if (typeof run === 'string') return [run];
  const { passed, failed, others } = run;
  const found = [...failed.map(({ name, errors }) => `With its control: ${name}: ${errors.join(' ')}`), ...others];
  return passed === 0 && found.length === 0 ? ['No test has this name.'] : found;
}

/**
 * Returns the reasons why this mutant does not show the claim; none when it does. The tree is
 * unchanged afterwards.
 */
async function complainOfMutant(tree: string, control: Control, ask: () => Promise<TestsRun>): Promise<string[]> {
  const path = join(tree, control.file);
  const text = await readFile(path, 'utf8');
  await writeFile(path, withoutControl(text, control));
  try {
    const fault = await build(tree);
    return fault === null ? complainOfRed(await ask()) : [`The mutant does not compile: ${fault}`];
  } finally {
    await writeFile(path, text);
  }
}

function complainOfRed({ failed, others }: TestsRun): string[] {
  if (others.length > 0) return others.map((each) => `Beside the test: ${each}`);
  if (failed.length === 0) return ['The test stays green without the control.'];
  if (failed.some(({ errors }) => errors.some((each) => each.startsWith('AssertionError')))) return [];
  return failed.map(({ name, errors }) => `No broken expectation: ${name}: ${errors.join(' ')}`);
}

/**
 * Returns null if the tree compiles, or else the compiler's output. It builds, because child
 * processes run the built files.
 */
async function build(tree: string): Promise<string | null> {
  const parameters = [join(tree, 'tools/build.mjs'), '--if-stale'];
  return promisify(execFile)(process.execPath, parameters, { cwd: tree }).then(
    () => null,
    (error: { readonly stderr?: string }) => error.stderr ?? String(error),
  );
}

export const requirement: Requirement = {
  number: 'teeth',
  title: 'R-105 Every claim of SECURITY.md has a test that goes red without its control',
  leftOut: 'runs tests of the whole service beside its own database',
  run,
};
