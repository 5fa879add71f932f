// How often something happened within the last second or minute, for many subjects at once. Exact, and in bounded memory:
// past `subjectsMax` the subject that was quiet longest is forgotten. Counts in this process alone.

export interface RecentUses {
  /** Counts a use if there is room for it: then 0, else how many milliseconds until there is. */
  tryCount(subject: string): number;
  /** Counts a use whatever came before. True: it is one too many. */
  count(subject: string): boolean;
  /** Whether there is no room for one more use now. Counts nothing. */
  isFull(subject: string): boolean;
  /** Takes back the latest use that was counted. */
  uncount(subject: string): void;
}

export interface RecentUsesOptions {
  /** So many uses fit into the time. */
  readonly usesMax: number;
  readonly withinMs: number;
  readonly subjectsMax: number;
  /** A time that only goes forward. */
  steadyMs(): number;
}

export function createRecentUses({ usesMax, withinMs, subjectsMax, steadyMs }: RecentUsesOptions): RecentUses {
  // Instants in order, at most `usesMax` of each subject. The map's own order is that of the latest use.
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
      // The latest of as many as fit decides: where it is still within the time, so are those after it.
      const oldest = usesOf.get(subject)?.at(-usesMax);
      return oldest !== undefined && oldest > steadyMs() - withinMs;
    },
    uncount(subject) {
      usesOf.get(subject)?.pop();
    },
  };
}
