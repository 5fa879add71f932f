// Tells whether this process has spare time, by how much its event loop waited recently. A process
// that waits gains by doing more at once; one that never waits only uses more memory.
import { performance } from 'node:perf_hooks';

/**
 * Milliseconds of a sample: short enough to follow a send that begins, long enough to mean
 * something.
 */
const sampleMs = 50;
/** If the event loop was busy for this part of the time or more, there is no spare time. */
const busyFrom = 0.98;

/**
 * Cheap to call often: reads the clock, and the loop's statistics once a sample. True until the
 * first sample.
 */
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
