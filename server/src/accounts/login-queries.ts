// SQL: failed sign-ins.
import type { Clock } from '../database/clock.ts';
import type { Sql, Tx } from '../database/db.ts';

export interface Failures {
  readonly failures: number;
  readonly lastAt: Date;
}

/** Finds the failures that still count: those of a window that is not over, or that still delay. */
export async function findFailures(sql: Sql, clock: Clock, subject: Buffer): Promise<Failures | undefined> {
  const [row] = await sql<Failures[]>`
    SELECT failures, last_at FROM login_failures
    WHERE subject = ${subject} AND last_at > ${clock.now} - interval '30 minutes'`;
  return row;
}

/**
 * Counts a failure. Ten within fifteen minutes count together; after half an hour without one the
 * count begins again.
 */
export async function addFailure(sql: Sql, clock: Clock, subject: Buffer): Promise<void> {
  await sql`
    INSERT INTO login_failures AS f (subject, failures, since, last_at) VALUES (${subject}, 1, ${clock.now}, ${clock.now})
    ON CONFLICT (subject) DO UPDATE SET
      failures = CASE WHEN f.last_at < ${clock.now} - interval '30 minutes'
        OR (f.failures < 10 AND f.since < ${clock.now} - interval '15 minutes') THEN 1 ELSE f.failures + 1 END,
      since = CASE WHEN f.last_at < ${clock.now} - interval '30 minutes'
        OR (f.failures < 10 AND f.since < ${clock.now} - interval '15 minutes') THEN ${clock.now} ELSE f.since END,
      last_at = ${clock.now}`;
}

export async function deleteFailures(sql: Sql | Tx, subject: Buffer): Promise<void> {
  await sql`DELETE FROM login_failures WHERE subject = ${subject}`;
}
