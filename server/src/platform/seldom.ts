// What strangers can cause must not fill a log: the first occurrence is told at once, and those that follow within a minute together
// with the next one after it.
import type { Clock } from './clock.ts';

const everyMs = 60_000;

/** What it returns is called for each occurrence; `tell` hears of it with how many there were since it was told last. */
export function seldom(clock: Pick<Clock, 'steadyMs'>, tell: (times: number) => void): () => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  let times = 0;
  return () => {
    times++;
    const now = clock.steadyMs();
    if (now - toldAt < everyMs) return;
    toldAt = now;
    tell(times);
    times = 0;
  };
}
