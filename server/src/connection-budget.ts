// How many connections a service may hold, and whether its database has so many. Reads settings and judges them; connects
// nothing itself.

import { availableParallelism } from 'node:os';
import { type Config, ConfigError, type Role } from './config.ts';
import { connectionsMaxOfProcess } from './databases.ts';
import type { Sql } from './platform/db.ts';

/** The processes that a start makes. */
export interface ProcessPlan {
  readonly apis: number;
  readonly workers: number;
}

export function planProcesses(config: Config, options: { role?: Role; workers?: number } = {}): ProcessPlan {
  const role = options.role ?? config.role;
  const workers = options.workers ?? config.workers ?? Math.max(1, availableParallelism() - 1);
  return { apis: role === 'worker' ? 0 : 1, workers: role === 'api' ? 0 : workers };
}

/** What the processes may hold together, under any load. */
export function connectionsOf({ apis, workers }: ProcessPlan): number {
  return (apis + workers) * connectionsMaxOfProcess;
}

/**
 * Beside the processes the embedded server has room for the supervisor, four commands of five connections each, a backup, and the
 * three that PostgreSQL keeps for superusers.
 */
const embeddedRoom = 1 + 4 * 5 + 2 + 3;
/** PostgreSQL's own default: an operator's tools find no less than before. */
const embeddedLeast = 100;

/** The `max_connections` of the embedded server. */
export function embeddedConnections(plan: ProcessPlan): number {
  return Math.max(embeddedLeast, connectionsOf(plan) + embeddedRoom);
}

export interface ConnectionLimits {
  /** `max_connections`. */
  readonly most: number;
  /** Kept for superusers and, from PostgreSQL 16 on, for members of `pg_use_reserved_connections`; 0 for one of these. */
  readonly reserved: number;
  /** Of the role and of the database; null: none. */
  readonly roleMax: number | null;
  readonly databaseMax: number | null;
  /** Connections to all databases of the server at this moment. */
  readonly used: number;
}

/** A service that may come to need more than it can have is told so. Throws where not even one process can have its connections. */
export function judgeConnections(plan: ProcessPlan, limits: ConnectionLimits): string | undefined {
  const { most, reserved, roleMax, databaseMax, used } = limits;
  const room = Math.min(most - reserved, roleMax ?? most, databaseMax ?? most);
  const needed = connectionsOf(plan);
  if (needed <= room - used) return undefined;
  const parts = [
    `max_connections ${most}`,
    ...(reserved > 0 ? [`${reserved} of them reserved`] : []),
    ...(roleMax === null ? [] : [`the role's limit ${roleMax}`]),
    ...(databaseMax === null ? [] : [`the database's limit ${databaseMax}`]),
  ];
  const allowed = `The database allows ${room} connections (${parts.join(', ')})`;
  const perProcess = `${connectionsMaxOfProcess} each`;
  if (room < connectionsMaxOfProcess) {
    throw new ConfigError(
      `${allowed}, and one process may need ${connectionsMaxOfProcess}: raise max_connections to at least ${reserved + connectionsMaxOfProcess}.`,
    );
  }
  const processes = plan.apis + plan.workers;
  return `${allowed} and ${used} are in use, but ${processes} processes may need ${needed} (${perProcess}): under load some work waits for a connection. Raise max_connections to at least ${used + reserved + needed}, or start fewer workers.`;
}

/** What the server says of the limits of this role and database. */
export async function readConnectionLimits(sql: Sql): Promise<ConnectionLimits> {
  const [row] = await sql<ConnectionLimits[]>`
    SELECT current_setting('max_connections')::int AS most,
      CASE WHEN r.rolsuper THEN 0
        ELSE current_setting('superuser_reserved_connections')::int
          + CASE WHEN EXISTS (SELECT FROM pg_roles AS m WHERE m.rolname = 'pg_use_reserved_connections'
              AND pg_has_role(m.oid, 'USAGE')) THEN 0 ELSE coalesce(current_setting('reserved_connections', true), '0')::int END
      END AS reserved,
      CASE WHEN r.rolconnlimit >= 0 AND NOT r.rolsuper THEN r.rolconnlimit END AS role_max,
      CASE WHEN d.datconnlimit >= 0 AND NOT r.rolsuper THEN d.datconnlimit END AS database_max,
      (SELECT coalesce(sum(s.numbackends), 1)::int - 1 FROM pg_stat_database s) AS used
    FROM pg_roles r, pg_database d WHERE r.rolname = current_user AND d.datname = current_database()`;
  if (!row) throw new Error('the database does not say how many connections it allows');
  return row;
}
