// SQL of the doctor.
import { findValue, getRow, getValue, type Sql } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { PropertyType } from '../../people/properties/property.ts';

/** Reads the settings that decide whether the server keeps what it acknowledged. */
export async function readSettings(sql: Sql): Promise<ReadonlyMap<string, string>> {
  const rows = await sql<{ name: string; setting: string }[]>`
    SELECT name, setting FROM pg_settings
    WHERE name IN ('server_version', 'server_version_num', 'fsync', 'full_page_writes', 'synchronous_commit')`;
  return new Map(rows.map(({ name, setting }) => [name, setting]));
}

/** Counts the connections of clients, and the connections that ordinary users may have. */
export async function countConnections(sql: Sql): Promise<{ used: number; most: number }> {
  return getRow(sql`
    SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
      current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint AS most`);
}

/** Returns whether the role of this connection is a superuser. */
export async function isSuperuser(sql: Sql): Promise<boolean> {
  const rows = await sql`SELECT FROM pg_roles WHERE rolname = current_user AND rolsuper`;
  return rows.length > 0;
}

/**
 * Reads the directory in which the server keeps its files; undefined for a role that may not know.
 */
export async function readDataDirectory(sql: Sql): Promise<string | undefined> {
  return findValue(sql`SELECT setting AS directory FROM pg_settings WHERE name = 'data_directory'`);
}

export interface AssignedKey {
  readonly appId: Uuid;
  readonly key: string;
  readonly type: PropertyType;
  readonly slot: number | null;
  readonly moveSlot: number | null;
  readonly movePhase: string | null;
  /** True: the key has been in its phase for over an hour. */
  readonly isStuck: boolean | null;
}

/** Lists every key of every app with its slot and its move to another slot. */
export async function listAssignedKeys(sql: Sql): Promise<AssignedKey[]> {
  return sql`
    SELECT app_id, key, type, slot, move_slot, move_phase, moved_at < now() - interval '1 hour' AS is_stuck
    FROM properties ORDER BY app_id, key`;
}

/** Tells whether an index of this database is being built. */
export async function isIndexBeingBuilt(sql: Sql): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM pg_stat_progress_create_index WHERE datname = current_database() LIMIT 1`;
  return rows.length > 0;
}

export interface TransactionFacts {
  readonly citus: string | null;
  readonly preparedMax: number;
  readonly connectionsMax: number;
  readonly oldestSeconds: number | null;
}

/**
 * Reads the settings that a cluster needs, and how long the oldest transaction of this database has
 * been open.
 */
export async function readTransactionFacts(sql: Sql): Promise<TransactionFacts> {
  return getRow(sql`
    SELECT (SELECT extversion FROM pg_extension WHERE extname = 'citus') AS citus,
      current_setting('max_prepared_transactions')::int AS prepared_max,
      current_setting('max_connections')::int AS connections_max,
      (SELECT extract(epoch FROM max(now() - xact_start))::float8 FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend') AS oldest_seconds`);
}

/** Lists transactions that were prepared and not ended, oldest first. */
export async function listPrepared(sql: Sql): Promise<{ gid: string; ageSeconds: number }[]> {
  return sql`
    SELECT gid, extract(epoch FROM now() - prepared)::float8 AS age_seconds FROM pg_prepared_xacts ORDER BY prepared`;
}

/** Lists apps without an identify secret, and tells whether each has users. */
export async function listAppsWithoutSecret(sql: Sql): Promise<{ name: string; users: boolean }[]> {
  return sql`
    SELECT a.name, EXISTS (SELECT 1 FROM users u WHERE u.app_id = a.id) AS users FROM apps a
    WHERE a.identify_secret IS NULL AND a.deleted_at IS NULL ORDER BY a.created_at, a.id`;
}

/** Counts the devices of an app. */
export async function countDevicesOfApp(sql: Sql, appId: Uuid): Promise<number> {
  return getValue(sql`SELECT count(*) FROM audience WHERE app_id = ${appId}`);
}
