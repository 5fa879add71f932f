// SQL of the request log: chunks of entries, written once a second, and deleted when newer ones
// hold enough.
import type { Sql } from '@carillon/postgres';
import { type Uuid, uuidFloorOf } from '../../ground/values/ids.ts';
import type { RequestEntry } from './request-entry.ts';

export interface RequestChunk {
  readonly appId: Uuid;
  readonly id: Uuid;
  readonly refused: boolean;
  readonly entries: readonly RequestEntry[];
}

/**
 * Stores a process's log entries of some apps. Entries of a deleted app are dropped, because its
 * rows may be cleared already.
 */
export async function insertChunks(sql: Sql, chunks: readonly RequestChunk[]): Promise<void> {
  await sql`
    INSERT INTO request_chunks (app_id, id, refused, size, entries)
    SELECT c.app_id, c.id, c.refused, json_array_length(c.entries), c.entries
    FROM ${sql.rows('c', { uuid: ['appId', 'id'], boolean: ['refused'], json: ['entries'] }, chunks)}
    JOIN apps a ON a.id = c.app_id AND a.deleted_at IS NULL`;
}

/** Deletes the chunks of these apps that are beyond the newest `kept` entries of their kind. */
export async function deleteBeyond(sql: Sql, appIds: readonly Uuid[], kept: number): Promise<void> {
  await sql`
    DELETE FROM request_chunks AS c USING (
      SELECT app_id, refused, id, sum(size) OVER (PARTITION BY app_id, refused ORDER BY id DESC) - size AS newer
      FROM request_chunks WHERE app_id = ANY(${appIds}::uuid[])
    ) AS counted
    WHERE counted.newer >= ${kept}::int AND c.app_id = counted.app_id AND c.refused = counted.refused AND c.id = counted.id`;
}

/** Deletes the chunks of every app that are older than an instant. */
export async function deleteChunksBefore(sql: Sql, before: Date): Promise<void> {
  await sql`DELETE FROM request_chunks WHERE id < ${uuidFloorOf(before)}`;
}

/** Lists the newest chunks of an app since an instant, newest first, until each kind has `kept`. */
export async function listChunks(sql: Sql, appId: Uuid, since: Date, kept: number): Promise<RequestChunk[]> {
  return sql`
    SELECT app_id, id, refused, entries FROM (
      SELECT app_id, id, refused, entries, sum(size) OVER (PARTITION BY refused ORDER BY id DESC) - size AS newer
      FROM request_chunks WHERE app_id = ${appId} AND id >= ${uuidFloorOf(since)}
    ) AS counted
    WHERE newer < ${kept}::int ORDER BY id DESC`;
}
