// Periodic work that one process does at a time, however many there are. The lock stands in a transaction that does nothing
// else: it ends with the process that holds it, however that ends. What runs under it must be safe to run twice all the same,
// since a lost connection lets go of the lock while the work goes on.
import { type Sql, transaction } from './db.ts';

/** Runs `work`, unless another process holds the lock: then does nothing and says false. */
export async function runAlone(sql: Sql, lock: number, work: () => Promise<void>): Promise<boolean> {
  return transaction(sql, async (tx) => {
    // It waits for the work: nobody is idle here.
    await tx`SET LOCAL idle_in_transaction_session_timeout = 0`;
    // In one message: the driver's usual three leave a portal open, whose snapshot would be what others wait for, VACUUM and
    // DETACH PARTITION among them, as long as the work takes.
    const [row] = await tx.unsafe<{ locked: boolean }[]>(`SELECT pg_try_advisory_xact_lock(${lock}) AS locked`);
    if (!row?.locked) return false;
    await work();
    return true;
  });
}
