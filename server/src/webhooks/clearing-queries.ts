// SQL that takes events away untold: whose they are, and so many at a time.
import type { Sql } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

/** Outboxes whose events are held: of disabled webhooks, and of those of suspended apps. */
export async function listHoldingWebhooks(sql: Sql): Promise<{ appId: Uuid; id: Uuid }[]> {
  return sql<{ appId: Uuid; id: Uuid }[]>`
    SELECT w.app_id, w.id FROM webhooks w JOIN apps a ON a.id = w.app_id
    WHERE w.state = 'disabled' OR a.suspended_at IS NOT NULL`;
}

/**
 * Outboxes whose webhook is gone: it was deleted, and perhaps told of something at that very moment. Steps from one webhook to the
 * next in the index, whatever many events each has.
 */
export async function listOrphanedOutboxes(sql: Sql): Promise<{ appId: Uuid; id: Uuid }[]> {
  return sql<{ appId: Uuid; id: Uuid }[]>`
    WITH RECURSIVE outboxes AS (
      (SELECT app_id, webhook_id FROM webhook_events ORDER BY app_id, webhook_id LIMIT 1)
      UNION ALL
      SELECT n.app_id, n.webhook_id FROM outboxes o CROSS JOIN LATERAL (
        SELECT e.app_id, e.webhook_id FROM webhook_events e
        WHERE (e.app_id, e.webhook_id) > (o.app_id, o.webhook_id) ORDER BY e.app_id, e.webhook_id LIMIT 1
      ) n
    )
    SELECT o.app_id, o.webhook_id AS id FROM outboxes o
    WHERE NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.app_id = o.app_id AND w.id = o.webhook_id)`;
}

/**
 * Removes the oldest events of an outbox, whose ids lie between two, and says the last that went; undefined: there are none that
 * nobody else holds. Whoever writes a further event waits for nothing here.
 */
export async function deleteEventsOf(
  sql: Sql,
  { appId, id }: { appId: Uuid; id: Uuid },
  { after, before, limit }: { after: Uuid; before: Uuid; limit: number },
): Promise<Uuid | undefined> {
  const [row] = await sql<{ last: Uuid | null }[]>`
    WITH gone AS (
      DELETE FROM webhook_events WHERE app_id = ${appId} AND webhook_id = ${id} AND id = ANY(ARRAY(
        SELECT e.id FROM webhook_events e
        WHERE e.app_id = ${appId} AND e.webhook_id = ${id} AND e.id > ${after} AND e.id < ${before}
        ORDER BY e.id LIMIT ${limit} FOR UPDATE SKIP LOCKED))
      RETURNING id
    )
    SELECT id AS last FROM gone ORDER BY id DESC LIMIT 1`;
  return row?.last ?? undefined;
}
