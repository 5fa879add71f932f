// How many may be at something at once, shared fairly: a holder may have only so many slots for each one that is still free, so
// whoever comes anew finds one, whatever the others do (Choudhury and Hahne's dynamic thresholds). Those who wait are served in
// a circle, holder after holder.

export interface FairSlots {
  /** Resolves when this holder may have a slot; undefined, without a turn of the event loop, when it has one now. */
  take(holder: string): Promise<void> | undefined;
  give(holder: string): void;
}

export interface FairSlotsOptions {
  readonly slotsMax: number;
  /** What a holder may have, as a multiple of what is free: alone, it has `perFree / (perFree + 1)` of all. */
  readonly perFree: number;
}

interface Holder {
  held: number;
  readonly waiting: (() => void)[];
}

export function createFairSlots({ slotsMax, perFree }: FairSlotsOptions): FairSlots {
  let free = slotsMax;
  const holders = new Map<string, Holder>();
  /** Those with somebody waiting, next first. */
  const circle = new Set<string>();

  const mayTake = ({ held }: Holder): boolean => free > 0 && held < perFree * free;

  const serve = (): void => {
    let refused = 0;
    while (free > 0 && refused < circle.size) {
      const [name = ''] = circle;
      const holder = holders.get(name);
      circle.delete(name);
      if (holder === undefined) continue;
      if (mayTake(holder)) {
        free--;
        holder.held++;
        holder.waiting.shift()?.();
        refused = 0;
      } else refused++;
      if (holder.waiting.length > 0) circle.add(name);
    }
  };

  return {
    take(name) {
      let holder = holders.get(name);
      if (holder === undefined) {
        holder = { held: 0, waiting: [] };
        holders.set(name, holder);
      }
      if (holder.waiting.length === 0 && mayTake(holder)) {
        free--;
        holder.held++;
        return undefined;
      }
      const { waiting } = holder;
      circle.add(name);
      return new Promise((resolve) => waiting.push(resolve));
    },
    give(name) {
      const holder = holders.get(name);
      if (holder === undefined || holder.held === 0) throw new Error(`${name} holds no slot`);
      free++;
      holder.held--;
      serve();
      if (holder.held === 0 && holder.waiting.length === 0) holders.delete(name);
    },
  };
}

/** Does work while the holder has a slot. */
export async function withSlot<Result>(slots: FairSlots, holder: string, work: () => Promise<Result>): Promise<Result> {
  await slots.take(holder);
  try {
    return await work();
  } finally {
    slots.give(holder);
  }
}
