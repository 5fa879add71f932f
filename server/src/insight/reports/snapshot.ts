// One snapshot of the database for everything that a report reads, because settled events,
// unsettled events and their sums must match. A report whose caller has gone ends, in the database
// too.
import {
  type Cancel,
  cancelableTransaction,
  isStatementTimeout,
  type Sql,
  setStatementTimeout,
  type Tx,
} from '@carillon/postgres';
import { ApiError } from '../../ground/http/api-error.ts';

/** Milliseconds after which a report is refused, for one statement and for classing. */
export const reportMsMax = 30_000;
const retryAfterMs = 5_000;

/** The pool that a report is read from, and the caller who may leave. */
export interface ReportReader {
  readonly sql: Sql;
  /**
   * Aborts when the caller has gone, which ends the report. Absent: the report is never ended
   * early.
   */
  readonly cancel?: Cancel;
}

/** The 503 for a report that takes too long. */
export function tooLong(): ApiError {
  return new ApiError('unavailable', {
    message: 'This report takes too long: ask for a shorter range.',
    retryAfterMs,
  });
}

/**
 * Runs `work` in a read-only transaction that sees what was committed when it began. Throws
 * `tooLong`.
 */
export async function snapshot<Result>(
  { sql, cancel = { signal: new AbortController().signal, sql } }: ReportReader,
  work: (tx: Tx) => Promise<Result>,
  statementMsMax = reportMsMax,
): Promise<Result> {
  try {
    return await cancelableTransaction(sql, { ...cancel, isOneSnapshot: true }, async (tx) => {
      await Promise.all([tx`SET TRANSACTION READ ONLY`, setStatementTimeout(tx, statementMsMax)]);
      return work(tx);
    });
  } catch (error) {
    if (isStatementTimeout(error)) throw tooLong();
    throw error;
  }
}
