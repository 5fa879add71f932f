// Computes how many connections a service may hold, and judges whether its database allows so many
// . Reads settings only; opens no connection.

import { availableParallelism } from 'node:os';
import { getRow, type Sql } from '@carillon/postgres';
import { type Config, ConfigError, type Role } from '../../config.ts';
import { connectionsMaxOfProcess } from './databases.ts';

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

/** Returns the number of connections that the processes may hold together, under any load. */
export function connectionsOf({ apis, workers }: ProcessPlan): number {
  return (apis + workers) * connectionsMaxOfProcess;
}

/**
 * Connections of the embedded server beside those of the processes: one for the supervisor, five
 * for each of four commands, two for a backup, and three that PostgreSQL keeps for superusers.
 */
const embeddedRoom = 1 + 4 * 5 + 2 + 3;
/** PostgreSQL's own default, so that an operator's tools find no fewer connections than usual. */
const embeddedLeast = 100;

/** Returns the `max_connections` of the embedded server. */
export function embeddedConnections(plan: ProcessPlan): number {
  return Math.max(embeddedLeast, connectionsOf(plan) + embeddedRoom);
}

export interface ConnectionLimits {
  /** `max_connections`. */
  readonly most: number;
  /**
   * Connections kept for superusers and, from PostgreSQL 16 on, for members of
   * `pg_use_reserved_connections`. 0 where our own role is one of these.
   */
  readonly reserved: number;
  /** The limits of the role and of the database; null: there is no limit. */
  readonly roleMax: number | null;
  readonly databaseMax: number | null;
  /** Connections to all databases of the server at this moment. */
  readonly used: number;
}

/**
 * Returns a warning where the service may need more connections than it can have. Throws
 * `ConfigError` where not even one process can have its connections.
 */
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

/** Reads the limits that the server sets for this role and this database. */
export async function readConnectionLimits(sql: Sql): Promise<ConnectionLimits> {
  return getRow(sql`
    SELECT current_setting('max_connections')::int AS most,
      CASE WHEN r.rolsuper THEN 0
        ELSE current_setting('superuser_reserved_connections')::int
          + CASE WHEN EXISTS (SELECT FROM pg_roles AS m WHERE m.rolname = 'pg_use_reserved_connections'
              AND pg_has_role(m.oid, 'USAGE')) THEN 0 ELSE coalesce(current_setting('reserved_connections', true), '0')::int END
      END AS reserved,
      CASE WHEN r.rolconnlimit >= 0 AND NOT r.rolsuper THEN r.rolconnlimit END AS role_max,
      CASE WHEN d.datconnlimit >= 0 AND NOT r.rolsuper THEN d.datconnlimit END AS database_max,
      (SELECT coalesce(sum(s.numbackends), 1)::int - 1 FROM pg_stat_database s) AS used
    FROM pg_roles r, pg_database d WHERE r.rolname = current_user AND d.datname = current_database()`);
}
