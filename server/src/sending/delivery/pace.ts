// Paces: token buckets in rows that all processes share, in one form for the rate of a message
// and for the pace of a credential with its provider. A push takes a token first. The
// row answers in durations, and this process counts them on its steady clock. So a step of the
// database's clock moves no token. One question brings the tokens of 100 ms.
import { setTimeout as sleep } from 'node:timers/promises';
import { isDatabaseState, type Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Rate } from '../channels/channel.ts';
import { askForAccount, askForMessage, type Grant, type MessageRate } from './pace-queries.ts';

export interface Pace {
  /**
   * Takes a token. Returns the time from which it may be used, by `steadyMs`; undefined when there
   * is none.
   */
  take(): number | undefined;
  /** Whether the token is too old to be used. */
  isLate(dueMs: number): boolean;
  /**
   * Asks for tokens, unless the row said to wait. Resolves with the time at which to take again, by
   * `steadyMs`: a second from now while the database does not answer.
   */
  ask(): Promise<number>;
}

/**
 * A token of a message may be used this late, or until the next one where tokens are further apart.
 * A second may hold 2 % more, which is 20 ms. The comparison of two clocks may cost the other 5 ms.
 */
const lateMs = 15;
/** The longest wait before the row is asked again. */
const restMsMost = 1000;
/** A wait checks at least this often whether the service stops. */
const checkEveryMs = 100;

export function createPace(
  clock: Pick<Clock, 'nowMs' | 'steadyMs'>,
  usableMs: number,
  askRow: (sinceMs: number | null) => Promise<Grant>,
): Pace {
  const dueMs: number[] = [];
  let granted = 0;
  let askedAtMs: number | undefined;
  let againAtMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<number> | undefined;

  const isLate = (due: number): boolean => clock.steadyMs() > due + usableMs;

  const askNow = async (): Promise<number> => {
    const startMs = clock.steadyMs();
    const grant = await askRow(askedAtMs === undefined ? null : startMs - askedAtMs);
    const endMs = clock.steadyMs();
    // The answer's age, by the database's clock. It is no older than the question, however wrong
    // that clock is.
    const ageMs = Math.min(Math.max(clock.nowMs() - grant.nowMs, 0), endMs - startMs);
    const saidMs = endMs - ageMs;
    askedAtMs = startMs;
    granted = grant.count;
    againAtMs = granted > 0 ? endMs : saidMs + Math.min(grant.inMs, restMsMost);
    for (let i = 0; i < granted; i++) dueMs.push(saidMs + Math.max(0, grant.inMs + i * grant.apartMs));
    return againAtMs;
  };
  const ask = (): Promise<number> => {
    if (againAtMs > clock.steadyMs()) return Promise.resolve(againAtMs);
    asking ??= askNow()
      .catch((error: unknown) => {
        if (!isDatabaseState(error)) throw error;
        againAtMs = clock.steadyMs() + restMsMost;
        return againAtMs;
      })
      .finally(() => {
        asking = undefined;
      });
    return asking;
  };

  return {
    take() {
      while (dueMs[0] !== undefined && isLate(dueMs[0])) dueMs.shift();
      const due = dueMs.shift();
      // The next tokens are asked for while some are left, so that there is no gap. A failure of
      // this early question is ignored: the next take asks again.
      if (due !== undefined && granted > 1 && dueMs.length <= granted / 2) void ask().catch(() => undefined);
      return due;
    },
    isLate,
    ask,
  };
}

export interface Paces {
  ofMessage(message: MessageRate): Pace;
  /** The pace of an account at its provider, whichever apps use it. */
  ofAccount(name: string, rate: Rate): Pace;
}

/** Above this number the oldest pace is forgotten. Its credential only asks again. */
const pacesMax = 10_000;

export function createPaces({ sql, clock }: { readonly sql: Sql; readonly clock: Clock }): Paces {
  const paces = new Map<string, Pace>();
  const remember = (key: string, create: () => Pace): Pace => {
    let pace = paces.get(key);
    if (pace === undefined) {
      const oldest = paces.size >= pacesMax ? paces.keys().next().value : undefined;
      if (oldest !== undefined) paces.delete(oldest);
      pace = create();
      paces.set(key, pace);
    }
    return pace;
  };
  return {
    ofMessage(message) {
      const usableMs = Math.max(lateMs, 1000 / message.perSecond);
      return remember(message.messageId satisfies Uuid, () =>
        createPace(clock, usableMs, (sinceMs) => askForMessage(sql, clock, message, sinceMs)),
      );
    },
    ofAccount: (name, rate) =>
      remember(name, () =>
        createPace(clock, rate.usableMs, (sinceMs) => askForAccount(sql, clock, name, rate, sinceMs)),
      ),
  };
}

/** Waits for a token and then until it is due, or until the service stops. */
export async function untilToken(clock: Pick<Clock, 'steadyMs'>, pace: Pace, isStopping: () => boolean): Promise<void> {
  while (!isStopping()) {
    const due = pace.take();
    await restUntil(clock, due ?? (await pace.ask()), isStopping);
    if (due !== undefined) return;
  }
}

/** Resolves at the time, by `steadyMs`, or soon after the service stops. */
export async function restUntil(
  clock: Pick<Clock, 'steadyMs'>,
  atMs: number,
  isStopping: () => boolean,
): Promise<void> {
  for (let leftMs = atMs - clock.steadyMs(); leftMs > 0 && !isStopping(); leftMs = atMs - clock.steadyMs())
    await sleep(Math.min(Math.ceil(leftMs), checkEveryMs));
}
