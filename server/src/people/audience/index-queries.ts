// SQL: the fields that filters compare, and the indexes on `audience` that follow them.

import { getValue, type Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

/** The prefix in the name of an index that follows use; the column's name follows it. */
export const indexPrefix = 'audience_by_';

/** Records that a preview compared these fields. */
export async function upsertFieldUses(sql: Sql, clock: Clock, appId: Uuid, fields: readonly string[]): Promise<void> {
  await sql`
    INSERT INTO field_uses AS u (app_id, field, previews, last_preview_at)
    SELECT ${appId}, f.field, 1, ${clock.now} FROM unnest(${fields}::text[]) AS f (field) ORDER BY f.field
    ON CONFLICT (app_id, field) DO UPDATE SET previews = u.previews + 1, last_preview_at = ${clock.now}`;
}

/** Deletes the notes of fields whose last preview is older than `days`. */
export async function deleteOldFieldUses(sql: Sql, clock: Clock, days: number): Promise<void> {
  await sql`DELETE FROM field_uses WHERE last_preview_at < ${clock.now} - ${days}::float8 * interval '1 day'`;
}

export interface FieldInUse {
  readonly appId: Uuid;
  readonly field: string;
  /** The number of noted previews. A segment counts as `previewsMin` previews. */
  readonly uses: number;
}

/**
 * Lists the fields that segments compare, and those that at least `previewsMin` previews compared.
 * Covers all apps, because they share the table.
 */
export async function listFieldsInUse(sql: Sql, previewsMin: number): Promise<FieldInUse[]> {
  return sql`
    SELECT app_id, field, sum(uses)::bigint AS uses FROM (
      SELECT app_id, field, previews AS uses FROM field_uses WHERE previews >= ${previewsMin}
      UNION ALL SELECT app_id, unnest(fields), ${previewsMin}::int FROM segments
    ) AS used GROUP BY app_id, field ORDER BY app_id, field`;
}

/**
 * Lists the fields that segments compare together under one `and`, each list once. An `and` that
 * also asks for events is omitted, because no audience row answers it.
 */
export async function listFieldsTogether(sql: Sql): Promise<{ appId: Uuid; fields: string[] }[]> {
  return sql`
    SELECT DISTINCT s.app_id, ARRAY(
      SELECT DISTINCT (field #>> '{}') COLLATE "C" FROM jsonb_path_query(nodes, '$.**.field') AS field ORDER BY 1
    ) AS fields
    FROM segments s CROSS JOIN LATERAL jsonb_path_query(s.filter::jsonb, '$.**.and') AS nodes
    WHERE NOT jsonb_path_exists(nodes, '$.**.event')`;
}

/** Counts the devices of an app, up to `most`. */
export async function countDevicesUpTo(sql: Sql, appId: Uuid, most: number): Promise<number> {
  return getValue(sql`
    SELECT count(*) AS count FROM (SELECT 1 FROM audience WHERE app_id = ${appId} LIMIT ${most}) AS some_devices`);
}

export interface SlotOfKey {
  readonly appId: Uuid;
  readonly key: string;
  readonly type: 'string' | 'number' | 'boolean';
  readonly slot: number;
}

/**
 * Finds the slots of these keys. For a key that moves into a slot, its new slot is returned, so
 * that the index exists before the slot is read.
 */
export async function listSlotsOfKeys(sql: Sql, used: readonly { appId: Uuid; key: string }[]): Promise<SlotOfKey[]> {
  return sql`
    SELECT p.app_id, p.key, p.type, coalesce(p.slot, p.move_slot) AS slot
    FROM ${sql.rows('u', { uuid: ['appId'], text: ['key'] }, used)}
    JOIN properties p ON p.app_id = u.app_id AND p.key = u.key
    WHERE p.slot IS NOT NULL OR p.move_phase = 'filling'`;
}

export interface FollowingIndex {
  readonly name: string;
  /** False while the index is being built, and after an interrupted build. */
  readonly isValid: boolean;
  /**
   * The server still builds the index. It continues even when the process that asked for it is
   * gone.
   */
  readonly isBeingBuilt: boolean;
  /** All columns of the index, including the carried ones. */
  readonly columns: readonly string[];
}

/** Lists the indexes on `audience` whose names begin with `prefix`. */
export async function listFollowingIndexes(sql: Sql, prefix: string): Promise<FollowingIndex[]> {
  return sql`
    SELECT c.relname::text AS name, i.indisvalid AS is_valid, EXISTS (
      SELECT FROM pg_stat_progress_create_index p WHERE p.datname = current_database() AND p.index_relid = i.indexrelid
    ) AS is_being_built,
      ARRAY(SELECT t.attname::text FROM pg_attribute t WHERE t.attrelid = i.indexrelid ORDER BY t.attnum) AS columns
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = 'audience'::regclass AND starts_with(c.relname::text, ${prefix}) ORDER BY c.relname`;
}

/**
 * Builds an index without blocking writers. The index holds everything that a count reads of a row:
 * whether the device is active, its platform's unit and its user. A count by this column therefore
 * reads the index alone. `carried` are the columns that filters compare together with this one. The
 * build takes as long as it needs, so the connection must have no deadline. An interrupted build
 * leaves an invalid index. Names are known words and never a caller's text, because DDL takes no
 * parameters.
 */
export async function buildIndex(
  indexSql: Sql,
  name: string,
  column: string,
  carried: readonly string[] = [],
): Promise<void> {
  const included = [...(column === 'platform_unit' ? [] : ['platform_unit']), 'user_id', ...carried];
  await indexSql.unsafe(
    `CREATE INDEX CONCURRENTLY ${name} ON audience (app_id, ${column}) INCLUDE (${included.join(', ')})
     WHERE ${column} IS NOT NULL AND active`,
  );
}

/** Drops an index without blocking readers or writers. Takes as long as it needs, like a build. */
export async function dropIndex(indexSql: Sql, name: string): Promise<void> {
  await indexSql.unsafe(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
}
