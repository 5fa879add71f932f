// Statements that wait for a lock of another transaction, as PostgreSQL shows them. A test that
// holds a lock learns here that the work under test has reached it.
import type { Tx } from '@carillon/postgres';

/**
 * The statements that a test means. Others may wait for the same lock at the same time, such as the
 * service's own looks for work.
 */
export interface LockWaits {
  /**
   * The name of their connections, such as `carillon long`; those of the test itself are `tests`.
   */
  readonly name?: string;
  /** A part of their text. */
  readonly text?: string;
  /** Milliseconds by the database's clock for which they have run at least. */
  readonly forMs?: number;
}

/** Resolves with the backends of this database whose statements wait for a lock. */
export async function listLockWaits(sql: Tx, { name, text = '', forMs = 0 }: LockWaits): Promise<number[]> {
  // A transaction sees the activity of its first look until that is cleared (PostgreSQL 18,
  // 27.2.2).
  await sql`SELECT pg_stat_clear_snapshot()`;
  const rows = await sql<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND strpos(query, ${text}) > 0
      AND application_name = coalesce(${name ?? null}, application_name)
      AND clock_timestamp() - query_start >= ${forMs}::int * interval '1 millisecond'`;
  return rows.map(({ pid }) => pid);
}

/** Resolves with the backends when at least `count` such statements wait. */
export async function untilLockWaits(sql: Tx, count: number, meant: LockWaits): Promise<number[]> {
  for (;;) {
    const waiting = await listLockWaits(sql, meant);
    if (waiting.length >= count) return waiting;
  }
}

/**
 * Resolves when a short transaction of requests has been undone since this call, as those of upserts
 * are that find their user or device held, again and again.
 */
export async function untilUndone(sql: Tx): Promise<void> {
  const [{ now } = { now: new Date() }] = await sql<{ now: Date }[]>`SELECT clock_timestamp() AS now`;
  for (;;) {
    const undone = await sql`
      SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'carillon transactions' AND query = 'ROLLBACK'
        AND query_start > ${now}`;
    if (undone.length > 0) return;
  }
}
