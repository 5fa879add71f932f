// A process that outlives the run. When the run ends in any way, even killed, the reaper ends the
// run's processes and deletes its directory.

import { rm } from 'node:fs/promises';
import { endMarkedProcesses } from './marked-processes.ts';

const graceMs = 10_000;

// A signal that ends the run must not end its reaper.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('message', (runDir: string) => {
  // The channel closes when the run ends, even when the run was killed.
  process.on('disconnect', () => void cleanUp(runDir));
  process.send?.('ready');
});

async function cleanUp(runDir: string): Promise<void> {
  await endMarkedProcesses(runDir, graceMs);
  await rm(runDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
