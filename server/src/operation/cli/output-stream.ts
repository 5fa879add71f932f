// Writes output that is too large for memory to standard output, no faster than its reader takes
// it.
import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** Thrown when the reader of the output has gone, as `head` does. */
export class ReaderGone extends Error {
  override readonly name = 'ReaderGone';
}

/** Resolves when more may be written. Throws `ReaderGone`. */
export async function writeText(output: Writable, text: string): Promise<void> {
  if (output.destroyed || output.errored) throw new ReaderGone('nobody reads this');
  if (output.write(text)) return;
  // A pipe whose reader has gone never drains: it closes.
  const settled = new AbortController();
  const { signal } = settled;
  try {
    await Promise.race([once(output, 'drain', { signal }), once(output, 'close', { signal })]);
  } catch {
    throw new ReaderGone('nobody reads this');
  } finally {
    settled.abort();
  }
}

/** Runs `work`, which writes. A reader that goes early is no error. */
export async function untilReaderIsGone(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ReaderGone)) throw error;
  }
}
