// SQL of the filters of scheduled messages. Earlier versions did not store them in canonical form.

import { asJson, type Sql } from '@carillon/postgres';
import type { StoredFilter } from '../../people/audience/canonical-locales.ts';

/** The filters of the next scheduled messages, of all apps. */
export async function listScheduledFilters(
  sql: Sql,
  after: Pick<StoredFilter, 'appId' | 'id'>,
): Promise<StoredFilter[]> {
  return sql`
    SELECT app_id, id, audience -> 'filter' AS filter FROM messages
    WHERE status = 'scheduled' AND (app_id, id) > (${after.appId}::uuid, ${after.id}::uuid)
      AND (audience -> 'filter') IS NOT NULL
    ORDER BY app_id, id LIMIT 100`;
}

/**
 * Replaces the filter of a scheduled message, which nobody edits. Returns false when the message is
 * locked, as by its start.
 */
export async function rewriteScheduledFilter(sql: Sql, { appId, id, filter }: StoredFilter): Promise<boolean> {
  const result = await sql`
    UPDATE messages SET audience = ${asJson({ filter })}
    WHERE app_id = ${appId} AND id = ANY(ARRAY(
      SELECT id FROM messages WHERE app_id = ${appId} AND id = ${id} AND status = 'scheduled'
      FOR UPDATE SKIP LOCKED))`;
  return result.count === 1;
}
