// The pace of one message in one run of a batch: a push takes a place before it asks the provider.
// Places are instants, 1/`per_second` of a second apart, and one row serves all processes. Each run
// takes a slice of places at once and drops those for which it is too late. A push that is held up
// between its place and its request takes another place, except where too many are. So a second
// holds at most `per_second` requests, plus 2 % or one request for late ones.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../database/clock.ts';
import { isDatabaseState, type Sql } from '../database/db.ts';
import { findNextPlace, type MessageRate, reservePlaces } from './pace-queries.ts';

export interface MessagePace {
  /**
   * Resolves at the instant of a place, which may be used until `isLate`. Undefined when no place
   * comes soon, or this run has lasted long enough. Then the batch is due again at `nextAtMs`.
   */
  take(): Promise<number | undefined>;
  isLate(placeMs: number): boolean;
  /** The run has lasted long enough and gives no more places. */
  isOver(): boolean;
  /** A place that was taken is not used, so its push takes one more. */
  miss(): void;
  /** The time at which the batch should come again. */
  readonly nextAtMs: number;
  /**
   * Takes one more place, for a request that a push needs beside its first. Waits as long as
   * necessary and never rejects.
   */
  again(): Promise<void>;
}

/** One reservation takes the places of this much time. */
const sliceMs = 100;
/**
 * The first place of a reservation is this far ahead, so that it is not late before the answer
 * comes.
 */
const soonestMs = 25;
/** Places are reserved at most this far ahead, so that a run drops only a few of them unused. */
export const aheadMs = 200;
const hourMs = 3_600_000;
/** A run that would wait longer for its next place hands the batch back. */
const patienceMs = 250;
/** How long a run keeps its turn. Other messages wait for a turn. */
const runMs = 5000;
/**
 * A place may be used this late, or until the next place when places are further apart. A second may
 * hold 2 % more, which are 20 ms; the clocks of processes differ by some of these.
 */
const lateMs = 15;
const downWaitMs = 1000;

export function createMessagePace(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  rate: MessageRate,
  /** The most places that this run can use, besides those that are missed. */
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
  /** The last place of `again` that was taken without the database. */
  let aloneMs = 0;

  const isLate = (placeMs: number): boolean => clock.nowMs() > placeMs + Math.max(lateMs, apartMs);

  const reserve = async (): Promise<void> => {
    const count = Math.min(sliceMax, Math.max(1, left - places.length));
    const startMs = await reservePlaces(sql, clock, rate, { count, soonestMs, aheadMs });
    if (startMs !== undefined) for (let i = 0; i < count; i++) places.push(startMs + i * apartMs);
    else nextAtMs = ((await findNextPlace(sql, rate)) ?? clock.nowMs()) - aheadMs;
  };
  /** Only one reservation runs at a time, however many pushes ask. */
  const reserveOnce = (): Promise<void> => {
    reserving ??= reserve().finally(() => {
      reserving = undefined;
    });
    return reserving;
  };
  const sleepUntil = async (atMs: number): Promise<void> => {
    for (let waitMs = atMs - clock.nowMs(); waitMs > 0; waitMs = atMs - clock.nowMs()) await sleep(Math.ceil(waitMs));
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
          // The next slice is asked for while this one lasts. Otherwise there would be a gap
          // between them.
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
    isOver: () => isOver || clock.nowMs() >= endsAtMs,
    miss() {
      left++;
    },
    get nextAtMs() {
      return nextAtMs;
    },
    async again() {
      // Without the database the rate is kept as if no other process were sending.
      const alone = (): number => {
        aloneMs = Math.max(aloneMs, clock.nowMs()) + apartMs;
        return aloneMs;
      };
      const startMs = await reservePlaces(sql, clock, rate, { count: 1, soonestMs: 0, aheadMs: hourMs }).catch(alone);
      await sleepUntil(startMs ?? alone());
    },
  };
}
