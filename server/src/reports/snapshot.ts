// One snapshot of the database for everything that a report reads, because settled events,
// unsettled events and their sums must match.
import { type Sql, type Tx, transaction } from '../database/db.ts';

/** Runs `work` in a read-only transaction that sees what was committed when it began. */
export async function snapshot<Result>(sql: Sql, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  return transaction(sql, async (tx) => {
    await tx`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`;
    return work(tx);
  });
}
