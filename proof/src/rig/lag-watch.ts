// How far behind the machine is, as a timer of this process finds out: what a proof may not blame the service for.

const everyMs = 20;

/** Runs until it is stopped, which answers how late one timer in twenty was, at least; in milliseconds. */
export function startLagWatch(): { stop(): number } {
  const lags: number[] = [];
  let due = performance.now() + everyMs;
  const timer = setInterval(() => {
    lags.push(Math.max(0, performance.now() - due));
    due = performance.now() + everyMs;
  }, everyMs);
  return {
    stop() {
      clearInterval(timer);
      lags.sort((a, b) => a - b);
      return lags[Math.floor(lags.length * 0.95)] ?? 0;
    },
  };
}
