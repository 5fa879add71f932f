// Sends a million frames that no honest peer sends. The client runs in a process of its own, so
// that its memory and its exceptions can be seen.
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ProofOptions } from '../requirement.ts';
import { Scratch } from '../scratch.ts';

/** The result that the process returns. */
export interface Fuzzed {
  readonly frames: number;
  readonly connections: number;
  readonly scripts: number;
  readonly complaints: readonly string[];
  /** Bytes that survive garbage collection: the most growth after all scripts had been played. */
  readonly grownBytes: number;
  /** The most growth of resident memory. */
  readonly grownResidentBytes: number;
  /** Uncaught exceptions. */
  readonly exceptions: readonly string[];
}

const program = fileURLToPath(new URL('fuzz-process.ts', import.meta.url));

const framesFull = 1_000_000;
const framesQuick = 60_000;
const grownMbMax = 20;

const megabytes = (bytes: number) => bytes / 1_048_576;

export async function proveAgainstFuzzer(options: ProofOptions): Promise<void> {
  const { report } = options;
  const { frames, connections, scripts, complaints, ...fuzzed } = await fuzz(options);
  report.claim(
    'bad and endless frames: each connection ends, says why, and leaves no request without an ending',
    `${frames.toLocaleString('en')} frames on ${connections.toLocaleString('en')} connections, ${scripts} scripts`,
    complaints,
  );
  const [held, resident] = [megabytes(fuzzed.grownBytes), megabytes(fuzzed.grownResidentBytes)];
  report.claim(
    `meanwhile memory grows by at most ${grownMbMax} MB`,
    `held ${held.toFixed(1)} MB more, resident ${resident.toFixed(1)} MB more`,
    Math.max(held, resident) > grownMbMax ? ['It grew by more.'] : [],
  );
  report.claim('no exception leaves the client', `${fuzzed.exceptions.length} exceptions`, fuzzed.exceptions);
}

async function fuzz({ isQuick, seed, workbench }: ProofOptions): Promise<Fuzzed> {
  const frames = isQuick ? framesQuick : framesFull;
  const scratch = await Scratch.make(workbench, 'fuzz');
  const running = await scratch.start(
    process.execPath,
    // A small young generation, because the engine's own growth of it is not measured here.
    [
      '--expose-gc',
      '--max-semi-space-size=1',
      '--import',
      import.meta.resolve('tsx'),
      program,
      String(frames),
      String(seed),
    ],
    { stdio: ['ipc'] },
  );
  const [fuzzed] = (await Promise.race([
    once(running.child, 'message'),
    once(running.child, 'exit').then(async () => {
      throw new Error(`The fuzzer ended: ${await running.words()}`);
    }),
  ])) as [Fuzzed];
  await scratch.close();
  return fuzzed;
}
