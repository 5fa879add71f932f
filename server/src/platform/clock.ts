// The clock: all decisions about time use the database's (contract 1). A process asks for it now and then and adds its own
// monotonic time since, which no operator and no time server can set back.
import type { Fragment, Sql, Tx } from './db.ts';

export interface Clock {
  /** The present instant as an SQL expression, for decisions made inside a statement. */
  readonly now: Fragment;
  /** The present instant by the database's clock, as last compared; milliseconds since the epoch. */
  nowMs(): number;
  date(): Date;
  /** Time that only goes forward and that nobody sets, for spans within this process; milliseconds since some moment. */
  steadyMs(): number;
  /** Compares with the database again. */
  synchronize(): Promise<void>;
}

/**
 * The present instant in whole milliseconds, for what answers show and cursors carry: what is stored is then just what was
 * shown.
 */
export function nowOf(tx: Tx, clock: Clock): Fragment {
  return tx`date_trunc('milliseconds', ${clock.now})`;
}

/** The present instant, asked of the database now, in milliseconds with their fraction; in a transaction, when that began. */
export async function readNowMs(tx: Tx, clock: Clock): Promise<number> {
  const [row] = await tx<{ nowMs: number }[]>`SELECT (extract(epoch FROM ${clock.now}) * 1000)::float8 AS now_ms`;
  if (!row) throw new Error('the database did not say what time it is');
  return row.nowMs;
}

/** A clock that tests can set; in production nothing does. */
export interface SettableClock extends Clock {
  advance(ms: number): void;
  /** Stands still at an instant: from now on time passes by `advance` alone. */
  hold(at: Date): void;
}

/** A comparison that took longer is not believed. */
const roundTripMsMax = 250;

export async function createClock(sql: Sql): Promise<SettableClock> {
  // Difference between the database's clock and this process's monotonic one.
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
      // The answer may be from any moment of its way: a slow one says less than what is known already.
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
