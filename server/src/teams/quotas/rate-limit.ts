// Limits requests per second for each key: GCRA with a burst of one second, by the database's clock
// (contract 4). The state is in the database, so all processes share it. A process asks the
// database for every request of a slow plan; for faster plans it takes a few requests at a time, at
// most 2 % of the rate. A plan without limit costs nothing.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { ApiError } from '../../ground/http/api-error.ts';
import type { Admission } from '../../ground/http/server.ts';
import type { Caller } from '../apps/caller.ts';
import { type Plans, planNamed } from './plan.ts';
import { type BucketKey, getBucket, takeFromBucket } from './queries.ts';

/**
 * Counts a request whose key and scope are valid. Returns null when its plan has no limit. Rejects
 * when the database does not answer.
 */
export type AdmitCaller = (caller: Caller) => Promise<Admission> | null;

/** The part of a second's requests that a process may take ahead. */
const sliceOfRate = 0.02;
/** Milliseconds after which requests that were taken ahead are dropped. */
const leaseMs = 1000;
/**
 * Buckets that are kept in memory. A bucket that is dropped loses the requests that were taken
 * ahead.
 */
const bucketsMax = 10_000;
const secondUs = 1_000_000;

export interface RateLimitDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly plans: Plans;
  /**
   * Milliseconds to wait for an answer. A bucket's row is locked for well under a millisecond, so a
   * missing answer means that the database has a problem.
   */
  readonly waitMs: number;
}

export function createRateLimit(deps: RateLimitDeps): AdmitCaller {
  const { plans } = deps;
  const buckets = new Map<string, Bucket>();
  return (caller) => {
    const plan = planNamed(plans, caller.plan);
    const rate = caller.scope === 'server' ? plan.skPerSecond : plan.ckPerSecond;
    if (rate === null) return null;
    let bucket = buckets.get(caller.keyId);
    // After a change of plan, requests taken ahead and refusals under the former plan do not count
    // any more.
    if (bucket?.rate !== rate) {
      if (buckets.size >= bucketsMax) buckets.clear();
      bucket = new Bucket(deps, caller, rate);
      buckets.set(caller.keyId, bucket);
    }
    return bucket.admit();
  };
}

/**
 * The result for one request: how many more requests are allowed now, and how far the bucket is
 * emptied.
 */
interface Taken {
  readonly isAdmitted: boolean;
  readonly remaining: number;
  readonly aheadUs: number;
}

interface Waiter {
  resolve(taken: Taken): void;
  reject(error: unknown): void;
}

/**
 * A key's bucket as this process sees it. Requests that arrive while the database is asked wait,
 * and are then asked for together.
 */
class Bucket {
  readonly rate: number;
  readonly #deps: Omit<RateLimitDeps, 'plans'>;
  readonly #key: BucketKey;
  readonly #sliceMost: number;
  #waiters: Waiter[] = [];
  #isAsking = false;
  /** Requests that were taken ahead and not used yet. */
  #leased = 0;
  /**
   * How far the bucket was emptied at a moment between `askedMs` and `answeredMs`. Other processes
   * may have emptied it further since.
   */
  #known = { aheadUs: 0, askedMs: 0, answeredMs: 0 };

  constructor(deps: Omit<RateLimitDeps, 'plans'>, { appId, keyId }: Caller, rate: number) {
    this.#deps = deps;
    this.#key = { appId, keyId };
    this.rate = rate;
    this.#sliceMost = Math.max(1, Math.floor(rate * sliceOfRate));
  }

  async admit(): Promise<Admission> {
    const taken =
      this.#takeKnown() ??
      (await new Promise<Taken>((resolve, reject) => {
        this.#waiters.push({ resolve, reject });
        if (!this.#isAsking) void this.#ask();
      }));
    return this.#present(taken);
  }

  /**
   * Decides without the database: a request was taken ahead, or too little time has passed for the
   * bucket to hold one.
   */
  #takeKnown(): Taken | undefined {
    const { aheadUs, askedMs, answeredMs } = this.#known;
    const nowMs = this.#deps.clock.steadyMs();
    const leastUs = Math.max(0, aheadUs - (nowMs - askedMs) * 1000);
    if (this.#leased > 0 && nowMs - askedMs < leaseMs) {
      this.#leased--;
      return { isAdmitted: true, remaining: this.#roomAt(leastUs) + this.#leased, aheadUs: leastUs };
    }
    this.#leased = 0;
    // The wait must be long enough, so it is counted from the later of the two moments.
    const mostUs = aheadUs - (nowMs - answeredMs) * 1000;
    return this.#nextInUs(leastUs) > 0 ? { isAdmitted: false, remaining: 0, aheadUs: mostUs } : undefined;
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    while (this.#waiters.length > 0) {
      const group = this.#waiters.splice(0);
      try {
        const granted = await inTime(this.#take(Math.max(group.length, this.#sliceMost)), this.#deps.waitMs);
        const { aheadUs } = this.#known;
        const room = this.#roomAt(aheadUs);
        this.#leased = Math.max(0, granted - group.length);
        for (const [place, waiter] of group.entries()) {
          const left = granted - 1 - place;
          waiter.resolve({ isAdmitted: left >= 0, remaining: left < 0 ? 0 : room + left, aheadUs });
        }
      } catch (error) {
        for (const waiter of group) waiter.reject(error);
      }
      this.#settleKnown();
    }
    this.#isAsking = false;
  }

  /** Answers the requests that arrived meanwhile and need no question of their own. */
  #settleKnown(): void {
    for (let taken = this.#waiters[0] && this.#takeKnown(); taken; taken = this.#waiters[0] && this.#takeKnown()) {
      this.#waiters.shift()?.resolve(taken);
    }
  }

  /** Asks the database for `wanted` requests and returns how many it granted. */
  async #take(wanted: number): Promise<number> {
    const { sql, clock } = this.#deps;
    const askedMs = clock.steadyMs();
    const taken = await takeFromBucket(sql, clock, this.#key, { wanted, rate: this.rate });
    const aheadUs = taken?.aheadUs ?? (await getBucket(sql, clock, this.#key));
    this.#known = { aheadUs, askedMs, answeredMs: clock.steadyMs() };
    return taken?.granted ?? 0;
  }

  #roomAt(aheadUs: number): number {
    return Math.max(0, Math.floor(((secondUs - aheadUs) * this.rate) / secondUs));
  }

  #nextInUs(aheadUs: number): number {
    return aheadUs + secondUs / this.rate - secondUs;
  }

  #present({ isAdmitted, remaining, aheadUs }: Taken): Admission {
    const headers = {
      'ratelimit-policy': `"key";q=${this.rate};w=1`,
      ratelimit: `"key";r=${remaining};t=${Math.ceil(aheadUs / secondUs)}`,
    };
    if (isAdmitted) return { headers, refusal: null };
    const refusal = new ApiError('rate_limited', {
      message: `Rate limit of ${this.rate} ${this.rate === 1 ? 'request' : 'requests'} per second exceeded.`,
      retryAfterMs: Math.max(1, Math.ceil(this.#nextInUs(aheadUs) / 1000)),
    });
    return { headers, refusal };
  }
}

/** Rejects after `waitMs`. Requests that the database grants later are dropped. */
async function inTime<Result>(answer: Promise<Result>, waitMs: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const error = Object.assign(new Error(`no answer within ${waitMs} ms`), { code: 'CONNECTION_BUSY' });
    timer = setTimeout(() => reject(error), waitMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
