// A process of its own that outlives the run: when the run ends, in whatever way, it ends what the run started and
// removes the run's directory. It must do so also when the run was killed without a chance to clean up.

import { rmSync } from 'node:fs';
import { endMarkedProcesses } from './marked-processes.ts';

const GRACE_MS = 10_000;

const [mark, dir] = process.argv.slice(2);
if (mark === undefined || dir === undefined || process.send === undefined) {
  throw new Error('The reaper is started by a run, with the mark and the directory of that run.');
}
// The signals that end the run must not end the one who cleans up after it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
// The channel closes with the run, also when the run was killed.
process.on('disconnect', () => {
  void endMarkedProcesses(mark, GRACE_MS).then(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
});
process.send('ready');
