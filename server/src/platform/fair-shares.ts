// Amounts of something that is bounded, such as bytes of bodies, shared fairly: a holder may have only so much for each unit that
// stays free, so a newcomer finds room, whatever the others hold (Choudhury and Hahne's dynamic thresholds). Nobody waits here:
// an amount that does not fit is refused. `fair-slots` is the same rule for those who wait.

export interface FairShares {
  /** Takes an amount for a holder; false, with nothing taken, where its share of `most` is used up. */
  take(holder: string, amount: number, most: number): boolean;
  give(holder: string, amount: number): void;
  /** What all holders have together. */
  readonly taken: number;
}

/** `perFree`: what a holder may have, as a multiple of what is free. Alone it has `perFree / (perFree + 1)` of all. */
export function createFairShares({ perFree }: { readonly perFree: number }): FairShares {
  const held = new Map<string, number>();
  let taken = 0;
  return {
    get taken() {
      return taken;
    },
    take(holder, amount, most) {
      const own = (held.get(holder) ?? 0) + amount;
      // As if it were taken unit by unit: the last unit is compared with what is free before it.
      if (own > perFree * (most - taken - amount + 1)) return false;
      held.set(holder, own);
      taken += amount;
      return true;
    },
    give(holder, amount) {
      const own = (held.get(holder) ?? 0) - amount;
      if (own < 0) throw new Error(`${holder} holds less than ${amount}`);
      if (own === 0) held.delete(holder);
      else held.set(holder, own);
      taken -= amount;
    },
  };
}
