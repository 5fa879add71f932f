// Limits log lines that strangers can cause. The first occurrence is reported at once. Occurrences
// in the minute after it are reported with the next one.

const everyMs = 60_000;

/**
 * Returns a function to call for each occurrence. `tell` gets the number of occurrences since it
 * was last called.
 */
export function seldom(clock: { steadyMs(): number }, tell: (times: number) => void): () => void {
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
