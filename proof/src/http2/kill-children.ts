// A server that works with several processes loses those that serve, all of a sudden; the one that starts them lives.
import { listChildren } from '../../../bench/src/measure.ts';

/** Linux only. */
export async function killChildren(pid: number): Promise<void> {
  for (const child of await listChildren(pid)) {
    try {
      process.kill(child, 'SIGKILL');
    } catch {
      // It has just ended by itself.
    }
  }
}
