// What is done to the processes of a server, all of a sudden. Linux only.
import { setTimeout as pause } from 'node:timers/promises';
import { listChildren } from '../../../bench/src/measure.ts';

/** Longer than the short deadlines of the moods, however late a busy machine finds them due. */
const heldMs = 300;

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has just ended by itself.
  }
}

/** A server that works with several processes loses those that serve; the one that starts them lives. */
export async function killChildren(pid: number): Promise<void> {
  for (const child of await listChildren(pid)) signal(child, 'SIGKILL');
}

/** Neither reads nor writes for a while, so that what is under way outlives a short deadline on the fastest machine. */
export async function holdStill(pid: number): Promise<void> {
  const held = [pid, ...(await listChildren(pid))];
  for (const each of held) signal(each, 'SIGSTOP');
  await pause(heldMs);
  for (const each of held) signal(each, 'SIGCONT');
}
