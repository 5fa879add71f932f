// A process of its own that outlives the run: when the run ends, in whatever way, it ends what the run started and
// removes the run's directory. It must do so also when the run was killed without a chance to clean up.

import { rm } from 'node:fs/promises';
import { endMarkedProcesses } from './marked-processes.ts';

const GRACE_MS = 10_000;

// The signals that end the run must not end the one who cleans up after it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('message', (runDir: string) => {
  // The channel closes with the run, also when the run was killed.
  process.on('disconnect', () => void cleanUp(runDir));
  process.send?.('ready');
});

async function cleanUp(runDir: string): Promise<void> {
  await endMarkedProcesses(runDir, GRACE_MS);
  await rm(runDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
