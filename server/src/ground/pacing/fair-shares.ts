// Divides a bounded amount, such as bytes of bodies, fairly: a holder's share depends on what stays
// free, so that a newcomer always finds room (Choudhury and Hahne's dynamic thresholds). An amount
// that does not fit is refused at once. `fair-slots` applies the same rule with waiting.

export interface FairShares {
  /**
   * Takes an amount for a holder. Returns false and takes nothing when the holder's share of `most`
   * is used up.
   */
  take(holder: string, amount: number, most: number): boolean;
  give(holder: string, amount: number): void;
  /** The sum of all holders' amounts. */
  readonly taken: number;
}

/**
 * `perFree`: a holder's share as a multiple of the free amount. A single holder gets
 * `perFree / (perFree + 1)` of all.
 */
export function createFairShares({ perFree }: { readonly perFree: number }): FairShares {
  const held = new Map<string, number>();
  let taken = 0;
  return {
    get taken() {
      return taken;
    },
    take(holder, amount, most) {
      const own = (held.get(holder) ?? 0) + amount;
      // The last unit is compared with the amount that is free before it, as if units were taken
      // one by one.
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
