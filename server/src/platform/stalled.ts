// Ends connections that stand still in the middle of a statement. A process that is stopped while it hands over rows, or after it has
// asked what a new statement's parameters are, holds what its transaction has locked, such as the batch it works; and PostgreSQL waits
// for its next word for as long as the process lives: neither the limit on silence in a transaction nor the one on statements is
// looked at there.
import type { Clock } from './clock.ts';
import type { Sql } from './db.ts';

/** What comes next is at hand: it is on its way at once, and even on a slow one comes sooner. */
const stalledAfterMs = 8000;

/** Ends what began longer ago than that and waits for its process. It is undone, and the process told when it goes on. */
export async function endStalled({ sql, clock }: { sql: Sql; clock: Clock }): Promise<void> {
  // Active, and yet waiting for the client. Nothing of ours is read by a cursor, which would look the same.
  await sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user AND application_name LIKE 'carillon %'
      AND state = 'active' AND wait_event = 'ClientRead'
      AND state_change < ${clock.now} - ${stalledAfterMs}::float8 * interval '1 millisecond'`;
}
