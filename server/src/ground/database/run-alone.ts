// Periodic work that only one process does at a time. The lock stands in a transaction that does
// nothing else, and ends with the process that holds it, however it ends. The work must be safe to
// run twice all the same, because a lost connection releases the lock while the work continues.

import { getValue, type Sql, transaction } from '@carillon/postgres';
import { type AdvisoryLock, advisoryLocks } from './advisory-locks.ts';

/** Runs `work`. Returns false and does nothing when another process holds the lock. */
export async function runAlone(sql: Sql, lock: AdvisoryLock, work: () => Promise<void>): Promise<boolean> {
  return transaction(sql, async (tx) => {
    // No limit on silence: the transaction waits for the work.
    await tx`SET LOCAL idle_in_transaction_session_timeout = 0`;
    // One message without parameters: a statement with parameters would leave a portal open.
    // VACUUM, DETACH PARTITION and others would wait for its snapshot as long as the work takes.
    if (!(await getValue(tx.unsafe(`SELECT pg_try_advisory_xact_lock(${advisoryLocks[lock]})`)))) return false;
    await work();
    return true;
  });
}
