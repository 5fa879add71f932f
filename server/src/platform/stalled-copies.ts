// Ends connections that stand still in the middle of a COPY. A process that is stopped while it hands over rows holds what its
// transaction has locked, such as the batch it works, and PostgreSQL waits for the next row for as long as the process lives: neither
// the limit on silence in a transaction nor the one on statements reaches it there.
import type { Clock } from './clock.ts';
import type { Sql } from './db.ts';

/** Rows are at hand before a COPY begins: they are on their way at once, and even on a slow one come sooner. */
const stalledAfterMs = 8000;

/** As long ago as that the server began to wait for rows of ours. What is ended so is undone, and its process told when it goes on. */
export async function endStalledCopies({ sql, clock }: { sql: Sql; clock: Clock }): Promise<void> {
  // Active, and yet waiting for the client: there is nothing else that a statement asks of it.
  await sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user AND application_name LIKE 'carillon %'
      AND state = 'active' AND wait_event = 'ClientRead'
      AND state_change < ${clock.now} - ${stalledAfterMs}::float8 * interval '1 millisecond'`;
}
