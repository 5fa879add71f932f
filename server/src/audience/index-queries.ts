// SQL: which fields filters ask for, and the indexes on `audience` that follow them.
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

/** The index of a column that follows use, by the beginning of its name; behind it stands the column. */
export const indexPrefix = 'audience_by_';

/** Notes that a preview compared these fields. */
export async function upsertFieldUses(sql: Sql, clock: Clock, appId: Uuid, fields: readonly string[]): Promise<void> {
  await sql`
    INSERT INTO field_uses AS u (app_id, field, previews, last_preview_at)
    SELECT ${appId}, f.field, 1, ${clock.now} FROM unnest(${fields as string[]}::text[]) AS f (field) ORDER BY f.field
    ON CONFLICT (app_id, field) DO UPDATE SET previews = u.previews + 1, last_preview_at = ${clock.now}`;
}

/** Forgets previews older than these days. */
export async function deleteOldFieldUses(sql: Sql, clock: Clock, days: number): Promise<void> {
  await sql`DELETE FROM field_uses WHERE last_preview_at < ${clock.now} - ${days}::float8 * interval '1 day'`;
}

export interface FieldInUse {
  readonly appId: Uuid;
  readonly field: string;
  /** Previews that were noted; a segment counts as many as make previews count. */
  readonly uses: number;
}

/** Which fields do segments compare, or previews again and again? Over all apps, since they share the table. */
export async function listFieldsInUse(sql: Sql, previewsMin: number): Promise<FieldInUse[]> {
  return sql<FieldInUse[]>`
    SELECT app_id, field, sum(uses)::bigint AS uses FROM (
      SELECT app_id, field, previews AS uses FROM field_uses WHERE previews >= ${previewsMin}
      UNION ALL SELECT app_id, unnest(fields), ${previewsMin}::int FROM segments
    ) AS used GROUP BY app_id, field ORDER BY app_id, field`;
}

/**
 * Which fields do segments compare under one `and`, each list once? Without those under which something asks for events, which no row
 * of the audience answers.
 */
export async function listFieldsTogether(sql: Sql): Promise<{ appId: Uuid; fields: string[] }[]> {
  return sql<{ appId: Uuid; fields: string[] }[]>`
    SELECT DISTINCT s.app_id, ARRAY(
      SELECT DISTINCT (field #>> '{}') COLLATE "C" FROM jsonb_path_query(nodes, '$.**.field') AS field ORDER BY 1
    ) AS fields
    FROM segments s CROSS JOIN LATERAL jsonb_path_query(s.filter::jsonb, '$.**.and') AS nodes
    WHERE NOT jsonb_path_exists(nodes, '$.**.event')`;
}

/** How many devices has an app? Counted no further than to `most`. */
export async function countDevicesUpTo(sql: Sql, appId: Uuid, most: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*) AS count FROM (SELECT 1 FROM audience WHERE app_id = ${appId} LIMIT ${most}) AS some_devices`;
  return row?.count ?? 0;
}

export interface SlotOfKey {
  readonly appId: Uuid;
  readonly key: string;
  readonly type: 'string' | 'number' | 'boolean';
  readonly slot: number;
}

/** The slots of these keys: of a key that is brought into one, that one, so that its index is there before it is read. */
export async function listSlotsOfKeys(sql: Sql, used: readonly { appId: Uuid; key: string }[]): Promise<SlotOfKey[]> {
  return sql<SlotOfKey[]>`
    SELECT p.app_id, p.key, p.type, coalesce(p.slot, p.move_slot) AS slot
    FROM unnest(${used.map(({ appId }) => appId)}::uuid[], ${used.map(({ key }) => key)}::text[]) AS u (app_id, key)
    JOIN properties p ON p.app_id = u.app_id AND p.key = u.key
    WHERE p.slot IS NOT NULL OR p.move_phase = 'filling'`;
}

export interface FollowingIndex {
  readonly name: string;
  /** False: it is being built, or its building was broken off. */
  readonly isValid: boolean;
  /** A server goes on building when whoever asked for it is gone. */
  readonly isBeingBuilt: boolean;
  /** Its columns, those that it only carries along among them. */
  readonly columns: readonly string[];
}

/** The indexes that were made here, by the beginning of their names. */
export async function listFollowingIndexes(sql: Sql, prefix: string): Promise<FollowingIndex[]> {
  return sql<FollowingIndex[]>`
    SELECT c.relname::text AS name, i.indisvalid AS is_valid, EXISTS (
      SELECT FROM pg_stat_progress_create_index p WHERE p.datname = current_database() AND p.index_relid = i.indexrelid
    ) AS is_being_built,
      ARRAY(SELECT t.attname::text FROM pg_attribute t WHERE t.attrelid = i.indexrelid ORDER BY t.attnum) AS columns
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = 'audience'::regclass AND starts_with(c.relname::text, ${prefix}) ORDER BY c.relname`;
}

/**
 * Builds an index while everybody writes on. It holds what a count asks of a row, so that one over a single column reads nothing
 * else: whether it is active, its platform's unit, and its user's number, whose block comes behind the value, so that the devices of one value
 * are counted without looking their blocks up. `carried`: what filters compare beside the column. Takes as long as it takes, so the
 * connection must be one without a deadline; one that is broken off leaves an index that is not valid. Names are known words, never a
 * caller's text: DDL takes no parameters.
 */
export async function buildIndex(
  indexSql: Sql,
  name: string,
  column: string,
  carried: readonly string[] = [],
): Promise<void> {
  const included = [...(column === 'platform_unit' ? [] : ['platform_unit']), 'user_bit', ...carried];
  await indexSql.unsafe(
    `CREATE INDEX CONCURRENTLY ${name} ON audience (app_id, ${column}, user_block) INCLUDE (${included.join(', ')})
     WHERE ${column} IS NOT NULL AND active`,
  );
}

/** Builds the same way the index that finds the devices of users without a number, who are few: a count looks for them each time. */
export async function buildUnnumberedIndex(indexSql: Sql, name: string): Promise<void> {
  await indexSql.unsafe(`CREATE INDEX CONCURRENTLY ${name} ON audience (app_id, external_id) WHERE user_bit = 0`);
}

/** Drops an index while everybody reads and writes on. Takes as long as it takes, as building does. */
export async function dropIndex(indexSql: Sql, name: string): Promise<void> {
  await indexSql.unsafe(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
}
