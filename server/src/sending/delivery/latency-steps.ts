// Latencies in steps of a factor of the square root of two, so that percentiles can be computed
// from counts. A percentile is in the step of the exact one, so it is less than 42 % from it. Pure.

/** Milliseconds up to which a latency is in step 0. */
const firstMs = 8;
/** The last step holds everything above about 65 s. No attempt takes that long. */
export const lastStep = 27;

/** The step of a latency in milliseconds. Stored: never change it. */
export function latencyStep(ms: number): number {
  if (ms <= firstMs) return 0;
  return Math.min(lastStep, Math.ceil(2 * Math.log2(ms / firstMs) - 1e-9));
}

/** The largest latency of a step, in milliseconds. */
function endOf(step: number): number {
  return firstMs * 2 ** (step / 2);
}

/**
 * The latency in milliseconds that a share of all deliveries does not exceed, drawn evenly within
 * its step; null when there are none. `counts`: by step.
 */
export function percentileMs(counts: ReadonlyMap<number, number>, share: number): number | null {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let below = 0;
  for (const step of [...counts.keys()].sort((a, b) => a - b)) {
    const count = counts.get(step) ?? 0;
    if (below + count >= share * total) {
      const startMs = step === 0 ? 0 : endOf(step - 1);
      const within = Math.max(0, share * total - below) / count;
      return Math.round(startMs + (endOf(step) - startMs) * within);
    }
    below += count;
  }
  return null;
}
