// Ends connections that stand still in the middle of a statement. A process that is stopped while it hands over rows, or after it has
// asked what a new statement's parameters are, holds what its transaction has locked, such as the batch it works; and PostgreSQL waits
// for its next word for as long as the process lives: neither the limit on silence in a transaction nor the one on statements is
// looked at there. Rows that come, however slowly, are let come.
import type { Sql } from './db.ts';

/** What comes next is at hand: it is on its way at once, and even on a slow one comes sooner. */
const stalledAfterMs = 8000;

/** A connection that waits for its process in the middle of a statement. */
interface Waiting {
  readonly pid: number;
  /** When the statement began, to the microsecond: with `pid` it names the statement. */
  readonly begunAt: string;
  readonly begunMsAgo: number;
  /** Of rows by COPY, as far as they were read; null for every other statement. */
  readonly bytes: number | null;
  /** The server's clock at this look. */
  readonly nowMs: number;
}

export interface StallWatch {
  /** Ends what has stood still for long enough. It is undone, and its process told when it goes on. */
  look(): Promise<void>;
}

/** Has to look again and again: whether rows come is seen by comparing two looks. All times are the server's own. */
export function createStallWatch({ sql, afterMs = stalledAfterMs }: { sql: Sql; afterMs?: number }): StallWatch {
  /** Since when each COPY stands where it does. */
  let standing = new Map<string, { readonly bytes: number; readonly sinceMs: number }>();
  return {
    async look() {
      const before = standing;
      standing = new Map();
      for (const waiting of await listWaiting(sql)) {
        const { pid, begunAt, begunMsAgo, bytes, nowMs } = waiting;
        let forMs = begunMsAgo;
        if (bytes !== null) {
          const name = `${pid} ${begunAt}`;
          const known = before.get(name);
          const since = known?.bytes === bytes ? known : { bytes, sinceMs: nowMs };
          standing.set(name, since);
          forMs = nowMs - since.sinceMs;
        }
        if (forMs > afterMs) await endWaiting(sql, waiting);
      }
    },
  };
}

/** Active, and yet waiting for the client. Nothing of ours is read by a cursor, which would look the same. */
const isWaiting = (sql: Sql) => sql`
  a.datname = current_database() AND a.usename = current_user AND a.application_name LIKE 'carillon %'
    AND a.state = 'active' AND a.wait_event = 'ClientRead'`;

async function listWaiting(sql: Sql): Promise<Waiting[]> {
  return sql<Waiting[]>`
    SELECT a.pid, a.state_change::text AS begun_at,
      (extract(epoch FROM now() - a.state_change) * 1000)::float8 AS begun_ms_ago, c.bytes_processed AS bytes,
      (extract(epoch FROM now()) * 1000)::float8 AS now_ms
    FROM pg_stat_activity a LEFT JOIN pg_stat_progress_copy c ON c.pid = a.pid WHERE ${isWaiting(sql)}`;
}

/** Unless it has gone on since. */
async function endWaiting(sql: Sql, { pid, begunAt, bytes }: Waiting): Promise<void> {
  await sql`
    SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a LEFT JOIN pg_stat_progress_copy c ON c.pid = a.pid
    WHERE ${isWaiting(sql)} AND a.pid = ${pid} AND a.state_change::text = ${begunAt}
      AND c.bytes_processed IS NOT DISTINCT FROM ${bytes}::bigint`;
}
