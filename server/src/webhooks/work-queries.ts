// SQL: when webhooks next have work. The row of a webhook is written by whoever gives it something earlier, after the commit of what
// that is, and moved later only by a claim, which holds the row before it looks at the outbox: so no word is lost between the two.
import type { Clock } from '../platform/clock.ts';
import type { Fragment, Sql, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

export interface NamedWebhook {
  readonly appId: Uuid;
  readonly id: Uuid;
}

const columnsOf = (webhooks: readonly NamedWebhook[]): { appIds: Uuid[]; ids: Uuid[] } => ({
  appIds: webhooks.map(({ appId }) => appId),
  ids: webhooks.map(({ id }) => id),
});

/** These webhooks `w`, one by one through the key: a planner takes a list for a large part of the table. */
const named = (tx: Tx, appIds: readonly Uuid[], ids: readonly Uuid[]): Fragment => tx`
  unnest(${appIds as Uuid[]}::uuid[], ${ids as Uuid[]}::uuid[]) AS named (app_id, id)
    CROSS JOIN LATERAL (SELECT * FROM webhooks h WHERE h.app_id = named.app_id AND h.id = named.id LIMIT 1) AS w`;

/**
 * These have work so long from now, or sooner. Waits for a claim that holds a row, and then says it again: what it has not seen is
 * not lost. The rows in one order, whoever writes them. What was committed before is found by the next claim.
 */
export async function bringForward(tx: Tx, clock: Clock, webhooks: readonly NamedWebhook[], inMs = 0): Promise<void> {
  const { appIds, ids } = columnsOf(webhooks);
  await tx`
    INSERT INTO webhook_work AS k (app_id, webhook_id, next_at)
    SELECT w.app_id, w.id, ${clock.now} + ${inMs}::float8 * interval '1 millisecond'
    FROM ${named(tx, appIds, ids)} WHERE w.state = 'enabled' ORDER BY w.app_id, w.id
    ON CONFLICT (app_id, webhook_id) DO UPDATE SET next_at = excluded.next_at WHERE k.next_at > excluded.next_at`;
}

/**
 * After a claim, in its transaction: these have work when their outbox says so, once their windows have room. One that has nothing to
 * tell, or is not called, has no row. What may go at once stands behind all that was due before. Not asked yet.
 */
export function putOff(tx: Tx, clock: Clock, webhooks: readonly NamedWebhook[]): Fragment {
  const { appIds, ids } = columnsOf(webhooks);
  const first = (kind: Fragment) => tx`
    (SELECT e.due_at FROM webhook_events e
    WHERE e.app_id = w.app_id AND e.webhook_id = w.id AND ${kind} ORDER BY e.due_at, e.id LIMIT 1)`;
  return tx`
    WITH outbox AS MATERIALIZED (
      SELECT w.app_id, w.id, w.paused_until, w.state = 'enabled' AND a.suspended_at IS NULL AS is_called,
        ${first(tx`NOT e.is_replay`)} AS fresh_at, ${first(tx`e.is_replay`)} AS replay_at,
        w.in_flight_max > under_way.requests AS has_room,
        w.in_flight_max > under_way.requests AND greatest(w.in_flight_max / 2, 1) > under_way.replays AS has_replay_room,
        under_way.lease_ends_at
      FROM ${named(tx, appIds, ids)} JOIN apps a ON a.id = w.app_id
        CROSS JOIN LATERAL (
          SELECT count(*) AS requests, count(*) FILTER (WHERE c.is_replay) AS replays, min(c.due_at) AS lease_ends_at
          FROM webhook_events c WHERE c.app_id = w.app_id AND c.webhook_id = w.id AND c.claim_id IS NOT NULL
            AND c.due_at > ${clock.now}) AS under_way
    ), next AS (
      SELECT app_id, id, paused_until, least(
        CASE WHEN fresh_at > ${clock.now} OR has_room THEN fresh_at ELSE lease_ends_at END,
        CASE WHEN replay_at > ${clock.now} OR has_replay_room THEN replay_at ELSE lease_ends_at END) AS at
      FROM outbox WHERE is_called
    ), over AS (
      DELETE FROM webhook_work k WHERE k.app_id = ANY(${appIds}::uuid[]) AND k.webhook_id = ANY(${ids}::uuid[])
        AND NOT EXISTS (SELECT FROM next n WHERE n.app_id = k.app_id AND n.id = k.webhook_id AND n.at IS NOT NULL)
    )
    UPDATE webhook_work k SET next_at = greatest(${clock.now}, n.paused_until, n.at)
    FROM next n WHERE k.app_id = n.app_id AND k.webhook_id = n.id AND n.at IS NOT NULL`;
}

/** How long until the next webhook has work, in milliseconds; 0 or less: there is one. Undefined: none has. */
export async function findNextWorkMs(sql: Sql, clock: Clock, without: readonly Uuid[]): Promise<number | undefined> {
  const [row] = await sql<{ aheadMs: number }[]>`
    SELECT (extract(epoch FROM next_at - ${clock.now}) * 1000)::float8 AS ahead_ms FROM webhook_work
    WHERE webhook_id <> ALL(${without as Uuid[]}::uuid[]) ORDER BY next_at LIMIT 1`;
  return row?.aheadMs;
}

/**
 * Finds what nobody has brought forward: a process was killed right after it had written events, or belongs to a version that brings
 * nothing forward, or an app is suspended no longer. Steps from one outbox to the next, however many events each has; how many there were.
 */
export async function bringForgottenForward(sql: Sql): Promise<number> {
  const first = (kind: Fragment) => sql`
    (SELECT e.due_at FROM webhook_events e
    WHERE e.app_id = o.app_id AND e.webhook_id = o.webhook_id AND ${kind} ORDER BY e.due_at, e.id LIMIT 1)`;
  const result = await sql`
    WITH RECURSIVE outboxes AS (
      (SELECT app_id, webhook_id FROM webhook_events ORDER BY app_id, webhook_id LIMIT 1)
      UNION ALL
      SELECT n.app_id, n.webhook_id FROM outboxes o CROSS JOIN LATERAL (
        SELECT e.app_id, e.webhook_id FROM webhook_events e
        WHERE (e.app_id, e.webhook_id) > (o.app_id, o.webhook_id) ORDER BY e.app_id, e.webhook_id LIMIT 1
      ) n
    ), waiting AS (
      SELECT o.app_id, o.webhook_id, greatest(w.paused_until, least(${first(sql`NOT e.is_replay`)}, ${first(sql`e.is_replay`)})) AS at
      FROM outboxes o CROSS JOIN LATERAL (SELECT * FROM webhooks h WHERE h.app_id = o.app_id AND h.id = o.webhook_id LIMIT 1) AS w
        JOIN apps a ON a.id = o.app_id
      WHERE w.state = 'enabled' AND a.suspended_at IS NULL
    )
    INSERT INTO webhook_work AS k (app_id, webhook_id, next_at)
    SELECT f.app_id, f.webhook_id, f.at FROM waiting f
      LEFT JOIN webhook_work known ON known.app_id = f.app_id AND known.webhook_id = f.webhook_id
    WHERE known.next_at IS NULL OR known.next_at > f.at ORDER BY f.app_id, f.webhook_id
    ON CONFLICT (app_id, webhook_id) DO UPDATE SET next_at = least(k.next_at, excluded.next_at)`;
  return result.count;
}

/** Forgets the rows of webhooks that are gone. */
export async function deleteOrphanedWork(sql: Sql): Promise<void> {
  await sql`
    DELETE FROM webhook_work k WHERE NOT EXISTS (SELECT FROM webhooks w WHERE w.app_id = k.app_id AND w.id = k.webhook_id)`;
}
