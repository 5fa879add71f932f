// One view of the database for all that a report reads: what is settled, what is not, and the sums of both belong together.
import { type Sql, type Tx, transaction } from '../platform/db.ts';

/** Runs `work` in a transaction that sees what was committed when it began, and writes nothing. */
export async function snapshot<Result>(sql: Sql, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  return transaction(sql, async (tx) => {
    await tx`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`;
    return work(tx);
  });
}
