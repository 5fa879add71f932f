// Cleans up when a signal ends a command early: ends a database server that the command started,
// and removes an incomplete file. Without a handler, SIGTERM would leave both behind.
import { constants } from 'node:os';

type Signal = 'SIGTERM' | 'SIGINT';

const cleanUps = new Set<() => Promise<unknown>>();
let isStopping = false;

/**
 * Runs `cleanUp` on SIGTERM or SIGINT, the newest first, and then ends the process with the status
 * that shells expect (128 plus the signal's number). Returns a function that withdraws `cleanUp`.
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

/**
 * Tells whether a signal is ending this process. Failures are then caused by the signal and need no
 * message.
 */
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
