// Signals to the processes of a server, to disturb it suddenly. Linux only.
import { setTimeout as sleep } from 'node:timers/promises';
import { listChildren } from '../../../rig/src/measure.ts';

/** Longer than the moods' short deadlines, even when a busy machine fires these late. */
const heldMs = 300;

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has just ended by itself.
  }
}

/** Kills the processes that serve; the process that starts them lives. */
export async function killChildren(pid: number): Promise<void> {
  for (const child of await listChildren(pid)) signal(child, 'SIGKILL');
}

/**
 * Stops the server for `heldMs`, so that requests in flight outlive a short deadline on the fastest
 * machine.
 */
export async function holdStill(pid: number): Promise<void> {
  const held = [pid, ...(await listChildren(pid))];
  for (const each of held) signal(each, 'SIGSTOP');
  await sleep(heldMs);
  for (const each of held) signal(each, 'SIGCONT');
}
