// Deadlines for everything a test waits for. A wait ends with its result or with an error that
// names what was awaited, and never hangs a run.
import { deepEqual } from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

/** Long enough for a slow machine that does other things as well. */
const defaultTimeoutMs = 30_000;

/**
 * Rejects with the name of the awaited thing when `work` is not settled after `timeoutMs`. `work`
 * itself is not stopped.
 */
export async function withDeadline<T>(what: string, timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited ${timeoutMs} ms in vain for ${what}.`)), timeoutMs);
  });
  try {
    return await Promise.race([work, expired]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Calls `probe` repeatedly until it returns something other than undefined. Only for things that
 * raise no signal, such as a browser's window or the end of a process. Anything that can report
 * uses an EventLog.
 */
export async function untilDefined<T>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  timeoutMs = defaultTimeoutMs,
): Promise<T> {
  const endsAt = performance.now() + timeoutMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined) return found;
    if (performance.now() > endsAt) throw new Error(`Waited ${timeoutMs} ms in vain for ${what}.`);
    await sleep(50);
  }
}

/**
 * Reads repeatedly until the value equals `expected`, and otherwise fails with the difference to
 * the value that was read last. For states that a page or a browser reaches shortly after a signal.
 */
export async function untilEqual<T>(
  read: () => Promise<T> | T,
  expected: T,
  timeoutMs = defaultTimeoutMs,
): Promise<void> {
  const endsAt = performance.now() + timeoutMs;
  for (;;) {
    const found = await read();
    if (isDeepStrictEqual(found, expected)) return;
    if (performance.now() > endsAt) deepEqual(found, expected);
    await sleep(50);
  }
}
