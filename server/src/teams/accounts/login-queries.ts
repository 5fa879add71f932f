// SQL: failed sign-ins.

import type { Sql, Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';

export interface Failures {
  readonly failures: number;
  /** The time of the first failure. */
  readonly since: Date;
  readonly lastAt: Date;
  /** The last of them is of the future: the database's clock was set back since. */
  readonly isAhead: boolean;
}

/**
 * Locks the failures of a subject until the transaction ends. Undefined: there were none, and the
 * first failure is stored now.
 */
export async function lockFailures(tx: Tx, clock: Clock, subject: Buffer): Promise<Failures | undefined> {
  // `xmax` is 0 in a row that this statement inserted.
  const [row] = await tx<(Failures & { isFirst: boolean })[]>`
    INSERT INTO login_failures AS f (subject, failures, since, last_at) VALUES (${subject}, 1, ${clock.now}, ${clock.now})
    ON CONFLICT (subject) DO UPDATE SET subject = f.subject
    RETURNING f.failures, f.since, f.last_at, f.last_at > ${clock.now} + interval '1 second' AS is_ahead,
      f.xmax = 0 AS is_first`;
  return row?.isFirst ? undefined : row;
}

/** Adds a failure to the former ones; null: the count begins again. */
export async function updateFailures(tx: Tx, clock: Clock, subject: Buffer, former: Failures | null): Promise<void> {
  await tx`
    UPDATE login_failures SET last_at = ${clock.now},
      failures = ${former === null ? tx`1` : tx`failures + 1`}, since = ${former === null ? clock.now : tx`since`}
    WHERE subject = ${subject}`;
}

/** Lets the wait after a failure begin now. */
export async function touchFailures(sql: Sql | Tx, clock: Clock, subject: Buffer): Promise<void> {
  await sql`UPDATE login_failures SET last_at = ${clock.now} WHERE subject = ${subject}`;
}

/**
 * Subtracts an attempt that was no failure. The former wait applies again, unless other failures
 * were counted since.
 */
export async function subtractFailure(sql: Sql, subject: Buffer, former: Failures | null): Promise<void> {
  const [lastAt, counted] = [former?.lastAt ?? null, (former?.failures ?? 0) + 1];
  await sql`
    WITH ended AS (DELETE FROM login_failures WHERE subject = ${subject} AND failures = 1)
    UPDATE login_failures SET failures = failures - 1,
      last_at = CASE WHEN failures = ${counted} THEN coalesce(${lastAt}::timestamptz, last_at) ELSE last_at END
    WHERE subject = ${subject} AND failures > 1`;
}

export async function deleteFailures(sql: Sql | Tx, subject: Buffer): Promise<void> {
  await sql`DELETE FROM login_failures WHERE subject = ${subject}`;
}
