// A transaction that ends early when nobody waits for its result any more. The statement under way
// is canceled in the database, because a long count would otherwise keep a core busy for nobody.
import { setTimeout as sleep } from 'node:timers/promises';
import { getRow } from './answer.ts';
import { readOneSnapshot, type Sql, type Tx, transaction } from './db.ts';

/**
 * Milliseconds between two requests to cancel. A statement that began between them runs at most
 * this long (a guess).
 */
const cancelAgainMs = 50;

/** Thrown at the end of a transaction that was canceled. */
export class CanceledError extends Error {
  override readonly name = 'CanceledError';
}

export interface Cancel {
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal;
  /** A pool with a free connection, from which the statement is canceled. */
  readonly sql: Sql;
  /** True: all statements read the snapshot of the first. */
  readonly isOneSnapshot?: boolean;
}

/**
 * Runs `work` in a transaction. When the signal aborts, the statement under way ends and this
 * rejects with a CanceledError.
 *
 * The request to cancel names the transaction by its backend and its beginning. A late request
 * finds another transaction there, and cancels nothing.
 */
export async function cancelableTransaction<Result>(
  sql: Sql,
  { signal, sql: cancelSql, isOneSnapshot = false }: Cancel,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  if (signal.aborted) throw new CanceledError('canceled before it began');
  try {
    return await transaction(sql, async (tx) => {
      // The level of a transaction comes before any other statement.
      if (isOneSnapshot) await readOneSnapshot(tx);
      const own = await getRow(tx<{ pid: number; began: string }[]>`
        SELECT pg_backend_pid() AS pid, extract(epoch FROM transaction_timestamp())::text AS began`);
      const over = new AbortController();
      let canceling: Promise<void> | undefined;
      // A request between two statements cancels nothing, so it is repeated. If a request fails,
      // the statement ends by its own limit. The end of the transaction ends the pause early,
      // because the next count waits for this turn.
      const cancelAll = async (): Promise<void> => {
        while (!over.signal.aborted) {
          await cancelSql`
            SELECT pg_cancel_backend(pid) FROM pg_stat_activity
            WHERE pid = ${own.pid}::int AND extract(epoch FROM xact_start)::text = ${own.began}`.catch(() => undefined);
          await sleep(cancelAgainMs, undefined, { signal: over.signal }).catch(() => undefined);
        }
      };
      const cancel = (): void => {
        canceling = cancelAll();
      };
      signal.addEventListener('abort', cancel, { once: true });
      try {
        if (signal.aborted) throw new CanceledError('canceled before its first statement');
        return await work(tx);
      } finally {
        over.abort();
        signal.removeEventListener('abort', cancel);
        await canceling;
      }
    });
  } catch (error) {
    if (signal.aborted) throw new CanceledError('canceled', { cause: error });
    throw error;
  }
}
