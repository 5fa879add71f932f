// What a command must put in order when somebody ends it early: a database server that it started, a file that is half
// written. Without this SIGTERM would leave both behind.
import { constants } from 'node:os';

type Signal = 'SIGTERM' | 'SIGINT';

const cleanUps = new Set<() => Promise<unknown>>();
let isStopping = false;

/**
 * Runs `cleanUp` on SIGTERM or SIGINT, the newest first, and then ends the process with the status that shells expect
 * (128 and the signal's number). Returns what forgets it.
 */
export function onStop(cleanUp: () => Promise<unknown>): () => void {
  if (cleanUps.size === 0) for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
  cleanUps.add(cleanUp);
  return () => {
    cleanUps.delete(cleanUp);
    if (cleanUps.size > 0 || isStopping) return;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, stop);
  };
}

/** A signal is ending this process: what fails now fails because of it, and needs no words. */
export function isBeingStopped(): boolean {
  return isStopping;
}

function stop(signal: Signal): void {
  // A terminal's Ctrl-C arrives twice under npm.
  if (isStopping) return;
  isStopping = true;
  void cleanUpAll().then(() => process.exit(128 + constants.signals[signal]));
}

async function cleanUpAll(): Promise<void> {
  for (const cleanUp of [...cleanUps].reverse()) await cleanUp().catch(() => undefined);
}
