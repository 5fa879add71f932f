// A run that is made to be killed: it starts a bus and a detached process, reports their places,
// and waits. The test that starts it checks what remains.

import { NotificationDaemon } from './notification-daemon.ts';
import { Run } from './run.ts';

export interface KilledRunReport {
  dir: string;
  pids: number[];
}

const run = await Run.open();
await NotificationDaemon.start(run);
await run.start('setsid', ['--fork', 'sleep', '3600']).waitForExit(5_000);
const report: KilledRunReport = { dir: run.dir, pids: run.listProcesses().map(({ pid }) => pid) };
process.send?.(report);
// The open bus connection keeps this process alive until it is killed.
