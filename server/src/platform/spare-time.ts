// Whether this process has time to spare, by what its event loop waited of late: one that waits gets more done with more at once,
// and one that never waits only remembers more.
import { performance } from 'node:perf_hooks';

/** Short enough to follow a send that begins, long enough to mean something. */
const sampleMs = 50;
/** Of the time, in which the event loop had something to do. */
const busyFrom = 0.98;

/** Asked often: looks at the clock, and at the loop once in a while. True until it is known. */
export function createSpareTime(): () => boolean {
  let last = performance.eventLoopUtilization();
  let lastAt = performance.now();
  let hasTime = true;
  return () => {
    const now = performance.now();
    if (now - lastAt >= sampleMs) {
      const current = performance.eventLoopUtilization();
      hasTime = performance.eventLoopUtilization(current, last).utilization < busyFrom;
      last = current;
      lastAt = now;
    }
    return hasTime;
  };
}
