// The pace of a credential: Google counts 600,000 messages a minute and asks for a slow start
// (https://firebase.google.com/docs/cloud-messaging/scale-fcm). The rate grows while it is used,
// and all processes share it. Each process takes slices of places ahead of their use, so that most
// pushes wait for no question. Knows no database: the caller hands in how a slice is taken.

export interface PaceOptions {
  readonly perSecondMax: number;
  /** The rate after a rest. The places of its first second may be used at once. */
  readonly perSecondLeast: number;
  /**
   * The time in which the rate grows from the least to the most. A rest of the same length starts
   * the growth again.
   */
  readonly rampMs: number;
}

/** Half of Google's default quota, reached after one minute. */
export const googlePace: PaceOptions = { perSecondMax: 5_000, perSecondLeast: 500, rampMs: 60_000 };

/**
 * Places in a row, one every `apartMs`. The first place is `startInMs` from now; a negative number
 * means that places are already at hand.
 */
export interface Slice {
  readonly count: number;
  readonly startInMs: number;
  readonly apartMs: number;
}

/**
 * Takes the next slice of a credential's places. The slice is long enough to be worth one question.
 */
export type TakeSlice = (name: string, pace: PaceOptions) => Promise<Slice>;

export interface Pace {
  /**
   * Takes a place and answers the milliseconds until it, 0 for no wait. A promise only when no
   * place is at hand.
   */
  waitMs(): number | Promise<number>;
}

/**
 * Places not used within this time after the end of their slice are dropped. Used later, they would
 * be too many at once.
 */
const keptMs = 1_000;

interface Held {
  left: number;
  /** By the clock that the caller hands in. */
  nextAtMs: number;
  readonly apartMs: number;
  readonly endsAtMs: number;
}

/**
 * `nowMs` is a monotonic clock. When no slice can be had, `alone` keeps the rate as if no other
 * process were sending.
 */
export function createPace(takeSlice: () => Promise<Slice>, alone: () => number, nowMs: () => number): Pace {
  let held: Held[] = [];
  let taken = 0;
  let asking: Promise<void> | undefined;

  const ask = async (): Promise<void> => {
    const { count, startInMs, apartMs } = await takeSlice();
    const now = nowMs();
    taken = count;
    const nextAtMs = now + startInMs;
    held.push({ left: count, nextAtMs, apartMs, endsAtMs: Math.max(now, nextAtMs + count * apartMs) + keptMs });
  };
  const askOnce = (): Promise<void> => {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  };
  const takePlace = (): number | undefined => {
    const now = nowMs();
    held = held.filter(({ left, endsAtMs }) => left > 0 && endsAtMs > now);
    const [first] = held;
    if (first === undefined) return undefined;
    const placeMs = first.nextAtMs;
    first.left--;
    first.nextAtMs += first.apartMs;
    // The next slice is asked for while this one lasts. Otherwise there would be a gap between
    // them.
    const left = held.reduce((sum, one) => sum + one.left, 0);
    if (left <= taken / 2) askOnce().catch(() => undefined);
    return Math.max(0, Math.ceil(placeMs - now));
  };
  const wait = async (): Promise<number> => {
    for (;;) {
      try {
        await askOnce();
      } catch {
        return alone();
      }
      const waitMs = takePlace();
      if (waitMs !== undefined) return waitMs;
    }
  };
  return { waitMs: () => takePlace() ?? wait() };
}

/**
 * A token bucket of one process, which fills faster the longer it is used. Answers the milliseconds
 * until the next push.
 */
export function createBucket({ perSecondMax, perSecondLeast, rampMs }: PaceOptions): (nowMs: number) => number {
  let tokens = perSecondLeast;
  let startedAtMs = Number.NEGATIVE_INFINITY;
  let usedAtMs = Number.NEGATIVE_INFINITY;
  return (nowMs) => {
    if (nowMs - usedAtMs >= rampMs) {
      startedAtMs = nowMs;
      usedAtMs = nowMs;
      tokens = perSecondLeast;
    }
    const used = Math.min(Math.max((nowMs - startedAtMs) / rampMs, 0), 1);
    const perMs = (perSecondLeast + (perSecondMax - perSecondLeast) * used) / 1_000;
    const filled = tokens + Math.max(nowMs - usedAtMs, 0) * perMs;
    tokens = Math.min(filled, perSecondLeast) - 1;
    usedAtMs = Math.max(nowMs, usedAtMs);
    return tokens >= 0 ? 0 : Math.ceil(-tokens / perMs);
  };
}
