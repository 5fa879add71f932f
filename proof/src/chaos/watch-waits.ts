// Looks ten times a second which connections of the database wait, and for which others. It only
// reads.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';
import { fileNames, type WaitingBackend, type WaitLine, writeLines } from './history-files.ts';

const lookEveryMs = 100;
/** Shorter waits are normal and not recorded. */
const waitMsLeast = 100;

export function watchWaits(sql: Sql, directory: string): { stop(): Promise<void> } {
  const lines = writeLines<WaitLine>(directory, fileNames.waits);
  let isStopping = false;

  const watching = (async () => {
    let due = performance.now();
    while (!isStopping) {
      const lateMs = performance.now() - due;
      // While the database is away there is nothing to observe.
      const backends = await listWaiting(sql).catch(() => undefined);
      if (backends) await lines.write({ at: Date.now(), lateMs: Math.round(lateMs), backends });
      due = performance.now() + lookEveryMs;
      await sleep(lookEveryMs);
    }
    await lines.close();
  })();
  watching.catch(() => undefined);
  return {
    async stop() {
      isStopping = true;
      await watching;
    },
  };
}

/**
 * The service's connections that take long: for a lock, for the disk, for a processor, or between
 * two statements of one transaction.
 */
function listWaiting(sql: Sql): Promise<WaitingBackend[]> {
  return sql<WaitingBackend[]>`
    SELECT pid, application_name AS name, state, coalesce(wait_event_type || ':' || wait_event, 'a processor') AS event, query,
      (extract(epoch FROM clock_timestamp() - state_change) * 1000)::float8 AS ms,
      CASE WHEN wait_event_type = 'Lock' THEN pg_blocking_pids(pid) ELSE '{}' END AS behind
    FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'carillon %' AND pid <> pg_backend_pid()
      AND state IN ('active', 'idle in transaction')
      AND clock_timestamp() - state_change > ${waitMsLeast}::float8 * interval '1 millisecond'`;
}
