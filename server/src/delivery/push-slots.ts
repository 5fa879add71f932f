// How many pushes a process has under way at once: enough to cover the provider's latency, few enough to bound memory and
// what a crash can repeat.

export interface PushSlots {
  /** Resolves when a slot is free; undefined, without a turn of the event loop, when one is free now. */
  take(): Promise<void> | undefined;
  give(): void;
}

export function createPushSlots(slotsMax: number): PushSlots {
  let free = slotsMax;
  const waiting: (() => void)[] = [];
  return {
    take() {
      if (free > 0) {
        free--;
        return undefined;
      }
      return new Promise((resolve) => waiting.push(resolve));
    },
    give() {
      const next = waiting.shift();
      if (next) next();
      else free++;
    },
  };
}
