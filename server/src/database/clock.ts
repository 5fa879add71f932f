// The clock: all decisions about time use the database's time (contract 1). A process reads it from
// time to time and adds its own monotonic time, which neither an operator nor a time server can set
// back.
import type { Fragment, Sql, Tx } from './db.ts';

export interface Clock {
  /** The present instant as an SQL expression, for decisions inside a statement. */
  readonly now: Fragment;
  /**
   * The present instant by the database's clock, as of the last comparison, in milliseconds since
   * the epoch.
   */
  nowMs(): number;
  date(): Date;
  /**
   * Time that never goes back and that nobody sets, for durations within this process; milliseconds
   * since an arbitrary moment.
   */
  steadyMs(): number;
  /** Compares with the database again. */
  synchronize(): Promise<void>;
}

/**
 * The present instant in whole milliseconds, for values that answers show and cursors contain, so
 * that the stored value equals the shown one.
 */
export function nowOf(tx: Tx, clock: Clock): Fragment {
  return tx`date_trunc('milliseconds', ${clock.now})`;
}

/**
 * Reads the present instant from the database, in milliseconds with their fraction. In a
 * transaction it is the transaction's beginning.
 */
export async function readNowMs(tx: Tx, clock: Clock): Promise<number> {
  const [row] = await tx<{ nowMs: number }[]>`SELECT (extract(epoch FROM ${clock.now}) * 1000)::float8 AS now_ms`;
  if (!row) throw new Error('the database returned no time');
  return row.nowMs;
}

/** A clock that tests can set; production never does. */
export interface SettableClock extends Clock {
  advance(ms: number): void;
  /** Stops the clock at an instant; from then on only `advance` moves it. */
  hold(at: Date): void;
}

/** Milliseconds after which the answer to a comparison is ignored. */
const roundTripMsMax = 250;

export async function createClock(sql: Sql): Promise<SettableClock> {
  // The difference between the database's clock and this process's monotonic clock.
  let differenceMs = 0;
  let isCompared = false;
  let advancedMs = 0;
  let heldMs: number | undefined;
  const clock: SettableClock = {
    get now(): Fragment {
      if (heldMs !== undefined) return sql`${new Date(heldMs + advancedMs)}::timestamptz`;
      return advancedMs === 0 ? sql`now()` : sql`(now() + ${advancedMs}::float8 * interval '1 millisecond')`;
    },
    nowMs: () => (heldMs ?? Math.round(performance.now() + differenceMs)) + advancedMs,
    date: () => new Date(clock.nowMs()),
    steadyMs: () => (heldMs ?? performance.now()) + advancedMs,
    async synchronize() {
      const startedAt = performance.now();
      const [row] = await sql<
        { nowMs: number }[]
      >`SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms`;
      const answeredAt = performance.now();
      // The answer may be from any moment of the round trip, so a slow answer is less exact than
      // the known difference.
      if (!row || (isCompared && answeredAt - startedAt > roundTripMsMax)) return;
      differenceMs = row.nowMs - (startedAt + answeredAt) / 2;
      isCompared = true;
    },
    advance(ms) {
      advancedMs += ms;
    },
    hold(at) {
      heldMs = at.getTime() - advancedMs;
    },
  };
  await clock.synchronize();
  return clock;
}
