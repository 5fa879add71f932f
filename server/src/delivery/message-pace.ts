// The pace of one message in one run of a batch: whoever is about to ask a provider takes a place first. Places are instants,
// 1/per_second of a second apart, in one row for all processes; each run takes a slice of them at once and lets go what it comes
// too late for. So in any second there are at most per_second requests, and 2 % more, or one, for those that come late.
import type { Clock } from '../platform/clock.ts';
import { isDatabaseState, type Sql } from '../platform/db.ts';
import { findNextPlace, type MessageRate, reservePlaces } from './pace-queries.ts';

export interface MessagePace {
  /**
   * Resolves at the instant of a place, which holds until `isLate`. Undefined: none is to be had soon, or this run has lasted
   * long enough; then the batch comes back at `nextAtMs`.
   */
  take(): Promise<number | undefined>;
  isLate(placeMs: number): boolean;
  /** When it is worth coming again. */
  readonly nextAtMs: number;
  /** One more place, for a request that a push needs beside its first. Waits as long as it takes, and never rejects. */
  again(): Promise<void>;
}

/** Places of one reservation: a slice of so much time. */
const sliceMs = 100;
/** The first place of a reservation lies this far ahead, so that it is not late before it is known. */
const soonestMs = 25;
/** The row may be taken this far ahead, and no further: what a run holds and never uses is small. */
export const aheadMs = 200;
const hourMs = 3_600_000;
/** A run that would wait longer for its next place gives the batch back instead. */
const patienceMs = 250;
/** How long a run keeps its turn: other messages wait for theirs. */
const runMs = 5000;
/** How late a place may be used; where places are further apart, until the next. */
const lateMs = 20;
const downWaitMs = 1000;

export function createMessagePace(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  rate: MessageRate,
  /** How many places this run can use at most. */
  wanted: number,
): MessagePace {
  const apartMs = 1000 / rate.perSecond;
  const sliceMax = Math.max(1, Math.floor((rate.perSecond * sliceMs) / 1000));
  const endsAtMs = clock.nowMs() + runMs;
  const places: number[] = [];
  let left = wanted;
  let nextAtMs = 0;
  let isOver = false;
  let reserving: Promise<void> | undefined;

  const isLate = (placeMs: number): boolean => clock.nowMs() > placeMs + Math.max(lateMs, apartMs);

  const reserve = async (): Promise<void> => {
    const count = Math.min(sliceMax, Math.max(1, left - places.length));
    const startMs = await reservePlaces(sql, clock, rate, { count, soonestMs, aheadMs });
    if (startMs !== undefined) for (let i = 0; i < count; i++) places.push(startMs + i * apartMs);
    else nextAtMs = ((await findNextPlace(sql, rate)) ?? clock.nowMs()) - aheadMs;
  };
  /** One reservation at a time, whoever asks. */
  const reserveOnce = (): Promise<void> => {
    reserving ??= reserve().finally(() => {
      reserving = undefined;
    });
    return reserving;
  };
  const sleepUntil = async (atMs: number): Promise<void> => {
    for (let waitMs = atMs - clock.nowMs(); waitMs > 0; waitMs = atMs - clock.nowMs())
      await new Promise((resolve) => setTimeout(resolve, Math.ceil(waitMs)));
  };
  const end = (atMs: number): undefined => {
    isOver = true;
    nextAtMs = atMs;
    return undefined;
  };

  return {
    async take() {
      while (!isOver) {
        while (places[0] !== undefined && isLate(places[0])) places.shift();
        const place = places.shift();
        if (place !== undefined) {
          left--;
          // The next slice is asked for while this one lasts: between two there would be a gap.
          if (places.length <= sliceMax / 2 && places.length < left && sliceMax > 1 && clock.nowMs() < endsAtMs)
            reserveOnce().catch(() => undefined);
          await sleepUntil(place);
          return place;
        }
        const nowMs = clock.nowMs();
        if (nowMs >= endsAtMs) return end(nowMs);
        try {
          await reserveOnce();
        } catch (error) {
          if (isDatabaseState(error)) return end(nowMs + downWaitMs);
          throw error;
        }
        if (places.length > 0) continue;
        if (nextAtMs - clock.nowMs() > patienceMs) return end(nextAtMs);
        await sleepUntil(nextAtMs);
      }
      return undefined;
    },
    isLate,
    get nextAtMs() {
      return nextAtMs;
    },
    async again() {
      // Without the database the rate is kept as if nobody else were sending.
      const alone = (): number => clock.nowMs() + apartMs;
      const startMs = await reservePlaces(sql, clock, rate, { count: 1, soonestMs: 0, aheadMs: hourMs }).catch(alone);
      await sleepUntil(startMs ?? alone());
    },
  };
}
