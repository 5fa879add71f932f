// Names the sessions that hold up long work, such as a `pg_dump` that holds up a migration.
import type { Sql } from './db.ts';

const lookEveryMs = 1000;
/** Milliseconds after which the same wait is logged again. */
const repeatEveryMs = 60_000;

export interface Blocker {
  /** The server's process; 0: a prepared transaction. */
  readonly pid: number;
  /** Null where this role may not see it. */
  readonly application: string | null;
  /** Seconds since its transaction began. */
  readonly seconds: number | null;
}

/**
 * Runs `work`. Meanwhile logs which sessions hold the locks that sessions of this name wait for.
 */
export async function tellWaits<Result>(
  sql: Sql,
  tell: (line: string) => void,
  work: () => Promise<Result>,
): Promise<Result> {
  let told = '';
  let toldAtMs = Number.NEGATIVE_INFINITY;
  let isLooking = false;
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    const blockers = await listBlockers(sql).catch(() => []);
    isLooking = false;
    const names = blockers.map(({ pid }) => pid).join();
    if (names === '' || (names === told && performance.now() - toldAtMs < repeatEveryMs)) return;
    told = names;
    toldAtMs = performance.now();
    tell(`waiting for ${blockers.map(describeBlocker).join(', ')}`);
  };
  const timer = setInterval(() => void look(), lookEveryMs);
  timer.unref();
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

export function describeBlocker({ pid, application, seconds }: Blocker): string {
  if (pid === 0) return 'a prepared transaction (pg_prepared_xacts)';
  const age = seconds === null ? '' : `, whose transaction is ${seconds} s old`;
  return `process ${pid} (${application || 'without a name'})${age}`;
}

async function listBlockers(sql: Sql): Promise<Blocker[]> {
  return sql`
    SELECT DISTINCT b.pid, a.application_name AS application,
      extract(epoch FROM clock_timestamp() - a.xact_start)::int AS seconds
    FROM pg_stat_activity waiting CROSS JOIN LATERAL unnest(pg_blocking_pids(waiting.pid)) AS b (pid)
    LEFT JOIN pg_stat_activity a ON a.pid = b.pid
    WHERE waiting.datname = current_database() AND waiting.wait_event_type = 'Lock'
      AND waiting.application_name = current_setting('application_name')
    ORDER BY b.pid`;
}
