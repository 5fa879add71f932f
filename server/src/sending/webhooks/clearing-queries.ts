// SQL that deletes untold events, or deletes a person's details from events, a limited number at a
// time.
import { findRow, findValue, type Sql, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';

/** The webhooks whose events are held: disabled ones, and those of suspended apps. */
export async function listHoldingWebhooks(sql: Sql): Promise<{ appId: Uuid; id: Uuid }[]> {
  return sql`
    SELECT w.app_id, w.id FROM webhooks w JOIN apps a ON a.id = w.app_id
    WHERE w.state = 'disabled' OR a.suspended_at IS NOT NULL`;
}

/**
 * Outboxes of deleted webhooks. An event may have been written at the moment of the deletion. Steps
 * through the index from one webhook to the next, however many events each has.
 */
export async function listOrphanedOutboxes(sql: Sql): Promise<{ appId: Uuid; id: Uuid }[]> {
  return sql`
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
 * Deletes the oldest events of an outbox between two ids, and returns the last deleted id.
 * Undefined: no event is left that no other transaction holds. New events never wait for this. The
 * first and last id bound what is read, because PostgreSQL up to 16 may compare every event of the
 * outbox with a list of ids.
 */
export async function deleteEventsOf(
  sql: Sql,
  { appId, id }: { appId: Uuid; id: Uuid },
  { after, before, limit }: { after: Uuid; before: Uuid; limit: number },
): Promise<Uuid | undefined> {
  return findValue(sql`
    WITH next AS MATERIALIZED (
      SELECT e.id FROM webhook_events e
      WHERE e.app_id = ${appId} AND e.webhook_id = ${id} AND e.id > ${after} AND e.id < ${before}
      ORDER BY e.id LIMIT ${limit} FOR UPDATE SKIP LOCKED
    ), gone AS (
      DELETE FROM webhook_events WHERE app_id = ${appId} AND webhook_id = ${id} AND id = ANY(ARRAY(SELECT id FROM next))
        AND id >= (SELECT id FROM next ORDER BY id LIMIT 1) AND id <= (SELECT id FROM next ORDER BY id DESC LIMIT 1)
      RETURNING id
    )
    SELECT id AS last FROM gone ORDER BY id DESC LIMIT 1`);
}

/** A device that an erased user owned until `until`. */
export interface ForgottenOwner {
  readonly id: Uuid;
  readonly until: Date;
}

export interface OutboxPosition {
  readonly webhookId: Uuid;
  readonly id: Uuid;
}

/**
 * Reads the next events of an app, and deletes external id and url from those of erased users.
 * These are events of a listed device until its `until`, events of it without an external id, and
 * events whose external id no user has. Returns the last event read; undefined when there are no
 * more.
 */
export async function clearDetails(
  tx: Tx,
  appId: Uuid,
  devices: readonly ForgottenOwner[],
  after: OutboxPosition | undefined,
  limit: number,
): Promise<OutboxPosition | undefined> {
  const ids = devices.map(({ id }) => id);
  return findRow(tx`
    WITH page AS (
      SELECT webhook_id, id FROM webhook_events
      WHERE app_id = ${appId} ${after === undefined ? tx`` : tx`AND (webhook_id, id) > (${after.webhookId}, ${after.id})`}
      ORDER BY webhook_id, id LIMIT ${limit}
    ), cleared AS (
      UPDATE webhook_events e SET details = (
        SELECT json_object_agg(d.key, CASE WHEN d.key IN ('external_id', 'url') THEN NULL ELSE d.value END)
        FROM json_each(e.details) AS d (key, value))
      FROM page p
      WHERE e.app_id = ${appId} AND e.webhook_id = p.webhook_id AND e.id = p.id
        AND (e.details ->> 'external_id' IS NOT NULL OR e.details ->> 'url' IS NOT NULL)
        AND CASE WHEN e.device_id = ANY(${ids}::uuid[]) AND (e.details ->> 'external_id' IS NULL
            OR e.at <= to_timestamp((${devices.map(({ until }) => until.getTime())}::float8[])[array_position(${ids}::uuid[], e.device_id)] / 1000))
          THEN true
          ELSE e.details ->> 'external_id' IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM people WHERE people.app_id = e.app_id AND people.external_id = e.details ->> 'external_id')
          END
    )
    SELECT webhook_id, id FROM page ORDER BY webhook_id DESC, id DESC LIMIT 1`);
}
