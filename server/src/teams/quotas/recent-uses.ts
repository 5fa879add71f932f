// Counts how often something happened within the last second or minute, for many subjects. Exact,
// in this process only, and in bounded memory: above `subjectsMax` the subject without a use for
// the longest time is dropped.

export interface RecentUses {
  /**
   * Counts a use and returns 0 when there is room; otherwise returns the milliseconds until there
   * is.
   */
  tryCount(subject: string): number;
  /** Counts a use even when there is no room. Returns true when the use is above the limit. */
  count(subject: string): boolean;
  /** Returns whether there is no room for another use now. Counts nothing. */
  isFull(subject: string): boolean;
  /** Subtracts the latest use that was counted. */
  uncount(subject: string): void;
}

export interface RecentUsesOptions {
  /** The number of uses within `withinMs`. */
  readonly usesMax: number;
  readonly withinMs: number;
  readonly subjectsMax: number;
  /** A time that never goes back. */
  steadyMs(): number;
}

export function createRecentUses({ usesMax, withinMs, subjectsMax, steadyMs }: RecentUsesOptions): RecentUses {
  // Instants in order, at most `usesMax` for each subject. The map is ordered by the latest use.
  const usesOf = new Map<string, number[]>();

  const recentOf = (subject: string, now: number): number[] => {
    const uses = usesOf.get(subject) ?? [];
    usesOf.delete(subject);
    usesOf.set(subject, uses);
    if (usesOf.size > subjectsMax) {
      const [quietest = ''] = usesOf.keys();
      usesOf.delete(quietest);
    }
    while (uses[0] !== undefined && uses[0] <= now - withinMs) uses.shift();
    return uses;
  };

  return {
    tryCount(subject) {
      const now = steadyMs();
      const uses = recentOf(subject, now);
      const [oldest] = uses;
      if (oldest !== undefined && uses.length >= usesMax) return Math.max(1, oldest + withinMs - now);
      uses.push(now);
      return 0;
    },
    count(subject) {
      const now = steadyMs();
      const uses = recentOf(subject, now);
      uses.push(now);
      if (uses.length <= usesMax) return false;
      uses.shift();
      return true;
    },
    isFull(subject) {
      // There is no room when the use that is `usesMax` places from the end is still within the
      // time, because all later ones are too.
      const oldest = usesOf.get(subject)?.at(-usesMax);
      return oldest !== undefined && oldest > steadyMs() - withinMs;
    },
    uncount(subject) {
      usesOf.get(subject)?.pop();
    },
  };
}
