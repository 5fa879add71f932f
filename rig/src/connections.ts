// Counts how many connections a service holds, by pool, as the server sees them: it reads
// pg_stat_activity repeatedly.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';

const lookEveryMs = 200;

export interface ConnectionCount {
  readonly most: number;
  /** The maximum of each pool. The maxima need not have occurred at one moment. */
  readonly mostOf: ReadonlyMap<string, number>;
}

/** Observes until `stop` is called. */
export function watchConnections(sql: Sql): { stop(): Promise<ConnectionCount> } {
  let most = 0;
  const mostOf = new Map<string, number>();
  let isOver = false;
  const look = async (): Promise<void> => {
    while (!isOver) {
      const rows = await sql<{ pool: string; connections: number }[]>`
        SELECT replace(application_name, 'carillon ', '') AS pool, count(*)::int AS connections FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'carillon %'
          AND application_name NOT IN ('carillon proof', 'carillon bench', 'carillon command', 'carillon start') GROUP BY 1`;
      most = Math.max(
        most,
        rows.reduce((sum, { connections }) => sum + connections, 0),
      );
      for (const { pool, connections } of rows) mostOf.set(pool, Math.max(mostOf.get(pool) ?? 0, connections));
      await sleep(lookEveryMs);
    }
  };
  const looking = look();
  return {
    async stop() {
      isOver = true;
      await looking;
      return { most, mostOf };
    },
  };
}

/** A text such as `12 (listen 2, prompt 2, …)`. */
export function describeCount({ most, mostOf }: ConnectionCount): string {
  const pools = [...mostOf].sort(([one], [other]) => (one < other ? -1 : 1)).map(([pool, count]) => `${pool} ${count}`);
  return `${most} (${pools.join(', ')})`;
}
