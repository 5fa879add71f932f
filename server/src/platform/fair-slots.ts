// How many may be at something at once, shared fairly: a holder may have only so many slots for each one that is still free, so
// whoever comes anew finds one, whatever the others do (Choudhury and Hahne's dynamic thresholds). Where a start is given, a holder
// also begins with no more than that and has one more for each that went well (TCP's slow start): many only where many are
// answered. Those who wait are served in a circle, holder after holder.

export interface FairSlots {
  /** Resolves when this holder may have a slot; undefined, without a turn of the event loop, when it has one now. */
  take(holder: string): Promise<void> | undefined;
  /** How what the slot was for went, where a holder's start grows with it: badly, and the holder begins anew. */
  give(holder: string, went?: 'well' | 'badly'): void;
}

export interface FairSlotsOptions {
  readonly slotsMax: number;
  /** What a holder may have, as a multiple of what is free: alone, it has `perFree / (perFree + 1)` of all. */
  readonly perFree: number;
  /** What a holder may have before anything went well, and again after ten seconds with nothing. Default: as much as there is. */
  readonly start?: number;
}

/** What was earned so long ago says nothing of now. */
const earnedForMs = 10_000;
/** Holders remembered before those with nothing are swept. */
const holdersMax = 1000;

interface Holder {
  held: number;
  /** What it may have by how things went, however many are free. */
  earned: number;
  /** When it had something last; `performance.now()`. */
  lastAt: number;
  readonly waiting: (() => void)[];
}

export function createFairSlots({ slotsMax, perFree, start = slotsMax }: FairSlotsOptions): FairSlots {
  let free = slotsMax;
  const holders = new Map<string, Holder>();
  /** Those with somebody waiting, next first. */
  const circle = new Set<string>();

  const mayTake = ({ held, earned }: Holder): boolean => free > 0 && held < perFree * free && held < earned;

  const serve = (): void => {
    let refused = 0;
    while (free > 0 && refused < circle.size) {
      const name = circle.values().next().value ?? '';
      const holder = holders.get(name);
      if (holder !== undefined && mayTake(holder)) {
        free--;
        holder.held++;
        holder.waiting.shift()?.();
        refused = 0;
      } else refused++;
      // This runs with every slot that is given back: who is alone in the circle stays where it is.
      const isWaiting = holder !== undefined && holder.waiting.length > 0;
      if (isWaiting && circle.size === 1) continue;
      circle.delete(name);
      if (isWaiting) circle.add(name);
    }
  };

  const sweep = (): void => {
    for (const [name, holder] of holders) if (isAtRest(holder)) holders.delete(name);
  };

  return {
    take(name) {
      let holder = holders.get(name);
      if (holder !== undefined && isAtRest(holder) && performance.now() - holder.lastAt > earnedForMs)
        holder = undefined;
      if (holder === undefined) {
        if (holders.size >= holdersMax) sweep();
        holder = { held: 0, earned: start, lastAt: 0, waiting: [] };
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
    give(name, went) {
      const holder = holders.get(name);
      if (holder === undefined || holder.held === 0) throw new Error(`${name} holds no slot`);
      free++;
      holder.held--;
      if (went === 'badly') holder.earned = start;
      else if (went === 'well' && holder.earned < slotsMax) holder.earned++;
      serve();
      if (!isAtRest(holder)) return;
      if (holder.earned === start) holders.delete(name);
      else holder.lastAt = performance.now();
    },
  };
}

/** One of whom somebody waits is not, even while it holds nothing. */
function isAtRest({ held, waiting }: Holder): boolean {
  return held === 0 && waiting.length === 0;
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

/**
 * The same for a holder that waits at most so long for its slot, and else gets the error that `tooLate` makes. The work may give
 * the slot back before it is done.
 */
export async function withSlotWithin<Result>(
  slots: FairSlots,
  holder: string,
  waitMs: number,
  tooLate: () => Error,
  work: (giveBack: () => void) => Promise<Result>,
): Promise<Result> {
  const taking = slots.take(holder);
  if (taking !== undefined && !(await comesWithin(taking, waitMs))) {
    // The slot still comes, and is given back at once.
    void taking.then(() => slots.give(holder));
    throw tooLate();
  }
  let isHeld = true;
  const giveBack = (): void => {
    if (isHeld) slots.give(holder);
    isHeld = false;
  };
  try {
    return await work(giveBack);
  } finally {
    giveBack();
  }
}

function comesWithin(taking: Promise<void>, waitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), waitMs);
    void taking.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
