// Ends connections that stand still in the middle of a statement. A process may be stopped while it
// sends rows, or after it asked for the parameters of a new statement. It then keeps its
// transaction's locks. PostgreSQL waits for the next message as long as the process lives: neither
// the limit on idle transactions nor the limit on statements applies there. Rows that arrive slowly
// are allowed.
import type { Fragment, Sql } from './db.ts';

/**
 * Milliseconds. A working process sends the next message at once, so it arrives earlier than this
 * even over a slow network.
 */
const stalledAfterMs = 8000;

/** A connection that waits for its process in the middle of a statement. */
interface Waiting {
  readonly pid: number;
  /**
   * When the statement began, to the microsecond; together with `pid` it identifies the statement.
   */
  readonly begunAt: string;
  readonly begunMsAgo: number;
  /** Bytes of rows by COPY that the server has read; null for every other statement. */
  readonly bytes: number | null;
  /** The server's clock at this look. */
  readonly nowMs: number;
}

export interface StallWatch {
  /**
   * Ends connections that have stood still for `afterMs`. Their transactions are undone, and their
   * processes get the error when they continue.
   */
  look(): Promise<void>;
}

/**
 * Call `look` repeatedly: only two looks show whether rows arrive. All times are the server's own.
 */
export function createStallWatch({
  sql,
  program,
  afterMs = stalledAfterMs,
}: {
  readonly sql: Sql;
  /** The first word of the application name of the program's sessions. */
  readonly program: string;
  readonly afterMs?: number;
}): StallWatch {
  const isWaiting = waitingOf(sql, program);
  /** For each COPY, the time since which its bytes are unchanged. */
  let standing = new Map<string, { readonly bytes: number; readonly sinceMs: number }>();
  return {
    async look() {
      const before = standing;
      standing = new Map();
      for (const waiting of await listWaiting(sql, isWaiting)) {
        const { pid, begunAt, begunMsAgo, bytes, nowMs } = waiting;
        let forMs = begunMsAgo;
        if (bytes !== null) {
          const name = `${pid} ${begunAt}`;
          const known = before.get(name);
          const since = known?.bytes === bytes ? known : { bytes, sinceMs: nowMs };
          standing.set(name, since);
          forMs = nowMs - since.sinceMs;
        }
        if (forMs > afterMs) await endWaiting(sql, isWaiting, waiting);
      }
    },
  };
}

/** Active and waiting for the client. A cursor would look the same, but we use none. */
const waitingOf = (sql: Sql, program: string) => sql`
  a.datname = current_database() AND a.usename = current_user AND a.application_name LIKE ${`${program} %`}
    AND a.state = 'active' AND a.wait_event = 'ClientRead'`;

async function listWaiting(sql: Sql, isWaiting: Fragment): Promise<Waiting[]> {
  return sql`
    SELECT a.pid, a.state_change::text AS begun_at,
      (extract(epoch FROM now() - a.state_change) * 1000)::float8 AS begun_ms_ago, c.bytes_processed AS bytes,
      (extract(epoch FROM now()) * 1000)::float8 AS now_ms
    FROM pg_stat_activity a LEFT JOIN pg_stat_progress_copy c ON c.pid = a.pid WHERE ${isWaiting}`;
}

/** Ends the connection unless it has continued since. */
async function endWaiting(sql: Sql, isWaiting: Fragment, { pid, begunAt, bytes }: Waiting): Promise<void> {
  await sql`
    SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a LEFT JOIN pg_stat_progress_copy c ON c.pid = a.pid
    WHERE ${isWaiting} AND a.pid = ${pid} AND a.state_change::text = ${begunAt}
      AND c.bytes_processed IS NOT DISTINCT FROM ${bytes}::bigint`;
}
