// How fast a credential may send: Google counts 600,000 messages a minute and asks for a slow start
// (https://firebase.google.com/docs/cloud-messaging/scale-fcm). The rate grows the longer it is used, and is one for all processes: each
// takes places by the slice, ahead of their use, so that a push asks nobody. Knows no database: slices are handed in.

export interface PaceOptions {
  readonly perSecondMax: number;
  /** The rate after a rest; a second's worth of it goes at once. */
  readonly perSecondLeast: number;
  /** From the least to the most; a rest as long begins again. */
  readonly rampMs: number;
}

/** Half of Google's default quota, reached in a minute. */
export const googlePace: PaceOptions = { perSecondMax: 5_000, perSecondLeast: 500, rampMs: 60_000 };

/** Places in a row, one each `apartMs`; the first lies `startInMs` from now, in the past where some are at hand. */
export interface Slice {
  readonly count: number;
  readonly startInMs: number;
  readonly apartMs: number;
}

/** Takes the next slice of a credential's places, of whatever length is worth one question. */
export type TakeSlice = (name: string, pace: PaceOptions) => Promise<Slice>;

export interface Pace {
  /** Takes a place; how long to wait for it, 0 for not at all. A promise only where no place is at hand. */
  waitMs(): number | Promise<number>;
}

/** Places that nobody has used so long after their slice was taken are let go: later they would be too many at once. */
const keptMs = 1_000;

interface Held {
  left: number;
  /** By the clock that is handed in. */
  nextAtMs: number;
  readonly apartMs: number;
  readonly endsAtMs: number;
}

/** `nowMs`: a clock that nobody sets. Where no slice can be had, the rate is kept as if nobody else were sending. */
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
    // The next slice is asked for while this one lasts: between two there would be a gap.
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

/** A bucket of one process, which fills faster the longer it is used; how long its next push has to wait. */
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
