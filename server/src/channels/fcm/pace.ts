// How fast a project may send: Google counts 600,000 messages a minute and asks for a slow start
// (https://firebase.google.com/docs/cloud-messaging/scale-fcm). A bucket of tokens that fills faster the longer it is used.
// Pure: the time is handed in.

export interface Pace {
  /** Takes a place in the row; how long to wait for it, 0 for not at all. */
  waitMs(nowMs: number): number;
}

export interface PaceOptions {
  readonly perSecondMax: number;
  /** The rate after a rest; a second's worth of it goes at once. */
  readonly perSecondLeast: number;
  /** From the least to the most; a rest as long begins anew. */
  readonly rampMs: number;
}

/** Half of Google's default quota, reached in a minute. */
export const googlePace: PaceOptions = { perSecondMax: 5_000, perSecondLeast: 500, rampMs: 60_000 };

export function createPace({ perSecondMax, perSecondLeast, rampMs }: PaceOptions): Pace {
  let tokens = perSecondLeast;
  let startedAtMs = Number.NEGATIVE_INFINITY;
  let usedAtMs = Number.NEGATIVE_INFINITY;
  return {
    waitMs(nowMs) {
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
    },
  };
}
