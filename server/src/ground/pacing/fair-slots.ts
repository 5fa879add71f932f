// Limits how many do something at once, fairly: a holder's share depends on the free slots, so that
// a newcomer always finds one (Choudhury and Hahne's dynamic thresholds). With `start`, a holder
// begins with that number of slots and gains one for each success (TCP's slow start). So a holder
// has many slots only while its work succeeds. Waiting holders are served in turn.

export interface FairSlots {
  /**
   * Resolves when the holder gets a slot; undefined, without a turn of the event loop, when it gets
   * one now.
   */
  take(holder: string): Promise<void> | undefined;
  /**
   * Returns a slot. `went` matters with `start`: 'well' raises the holder's limit by one, 'badly'
   * resets it.
   */
  give(holder: string, went?: 'well' | 'badly'): void;
}

export interface FairSlotsOptions {
  readonly slotsMax: number;
  /**
   * A holder's share as a multiple of the free slots: a single holder gets
   * `perFree / (perFree + 1)` of all.
   */
  readonly perFree: number;
  /** A holder's limit at first, and again after ten seconds without a slot. Default: all slots. */
  readonly start?: number;
}

/** Milliseconds after which a limit that a resting holder has earned is forgotten. */
const earnedForMs = 10_000;
/** Holders that are remembered; above this number holders at rest are deleted. */
const holdersMax = 1000;

interface Holder {
  held: number;
  /** The limit that the holder has earned by its results. */
  earned: number;
  /** When the holder last came to rest, by `performance.now()`. */
  lastAt: number;
  readonly waiting: (() => void)[];
}

export function createFairSlots({ slotsMax, perFree, start = slotsMax }: FairSlotsOptions): FairSlots {
  let free = slotsMax;
  const holders = new Map<string, Holder>();
  /** Holders with waiting takes; the next one first. */
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
      // A holder that waits alone keeps its place, because this code runs for every returned slot
      // and must be cheap.
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

/** A holder with a waiting take is not at rest, even while it holds no slot. */
function isAtRest({ held, waiting }: Holder): boolean {
  return held === 0 && waiting.length === 0;
}

/** Runs work while the holder has a slot. */
export async function withSlot<Result>(slots: FairSlots, holder: string, work: () => Promise<Result>): Promise<Result> {
  await slots.take(holder);
  try {
    return await work();
  } finally {
    slots.give(holder);
  }
}

/**
 * Runs work like `withSlot`, but waits at most `waitMs` for the slot. Then it throws the error of
 * `tooLate`. The work may return the slot before it ends.
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
    // A slot that arrives later is returned at once.
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
