// SQL of the time for which the database has been there. Processes that hold leases note it, and a
// new process reads it.

import type { Fragment, Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';

/** Milliseconds between two notes. */
const notedEveryMs = 500;
/**
 * Milliseconds. After a longer time without a note the database counts as having been away. The
 * heartbeat notes every second.
 */
const silenceMsMost = 3000;
/** Milliseconds by which a note may lie ahead: statements that run together are noted in any order. */
const aheadMsMost = 1000;

const isRecent = (sql: Sql, clock: Clock, ms: number): Fragment => sql`
  seen_at BETWEEN ${clock.now} - ${ms}::float8 * interval '1 millisecond'
    AND ${clock.now} + ${aheadMsMost}::float8 * interval '1 millisecond'`;

/** Notes that the database is there, for a process that holds leases. */
export async function notePresence(sql: Sql, clock: Clock): Promise<void> {
  await sql`
    UPDATE database_presence SET seen_at = ${clock.now},
      up_since = CASE WHEN ${isRecent(sql, clock, silenceMsMost)} THEN up_since ELSE ${clock.now} END
    WHERE NOT (${isRecent(sql, clock, notedEveryMs)})`;
}

/** Whether a process that holds leases has found the database there for all of the last `ms`. */
export async function wasPresent(sql: Sql, clock: Clock, ms: number): Promise<boolean> {
  const [row] = await sql<{ wasPresent: boolean }[]>`
    SELECT up_since <= ${clock.now} - ${ms}::float8 * interval '1 millisecond'
      AND ${isRecent(sql, clock, silenceMsMost)} AS was_present
    FROM database_presence`;
  return row?.wasPresent === true;
}
