// The steps that R-100 names: a host that sleeps for two hours, and clocks that are set.
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export interface Step {
  readonly name: string;
  readonly kind: 'sleep' | 'host' | 'database';
  readonly byMs: number;
  /** Milliseconds from the acceptance of the last message to the step. */
  readonly afterMs: number;
}

/**
 * Successive steps come at different tenths of the 250 ms between comparisons, and later in the
 * sends.
 */
const phases = 10;
const phaseMs = 250 + 25;

/**
 * Ten phases for a sleep, and each amount, direction and side for a clock. Steps forward come last,
 * so that no work that an earlier step left waiting becomes due by a sleep.
 */
export function stepsOf(isQuick: boolean): Step[] {
  const sleeps = Array.from({ length: isQuick ? 1 : phases }, () => {
    return { name: 'the host sleeps for two hours', kind: 'sleep', byMs: 2 * hourMs } as const;
  });
  const sets = ([-1, 1] as const).flatMap((direction) =>
    (['host', 'database'] as const).flatMap((kind) =>
      (isQuick ? [10] : [10, 120]).map((minutes) => {
        const by = direction * minutes;
        return { name: `the ${kind}'s clock is set by ${by} min`, kind, byMs: by * minuteMs };
      }),
    ),
  );
  return [...sleeps, ...sets].map((step, place) => {
    const afterMs = (place % phases) * phaseMs;
    return { ...step, name: `${step.name}, ${afterMs} ms into the sends`, afterMs };
  });
}
