// SQL of the times at which webhooks next have work. A process that adds earlier work writes the
// webhook's row after the commit of that work. Only a claim moves the row later, and it locks the
// row before it reads the outbox. So no event is missed between the two.

import { type Fragment, findValue, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

export interface NamedWebhook {
  readonly appId: Uuid;
  readonly id: Uuid;
}

/**
 * These webhooks as `w`, looked up one by one through the key. For a list the planner expects a
 * large part of the table.
 */
const named = (tx: Tx, webhooks: readonly NamedWebhook[]): Fragment => tx`
  ${tx.rows('named', { uuid: ['appId', 'id'] }, webhooks)}
    CROSS JOIN LATERAL (SELECT * FROM webhooks h WHERE h.app_id = named.app_id AND h.id = named.id LIMIT 1) AS w`;

/**
 * Records that these webhooks have work in `inMs`, or sooner. Waits for a claim that holds a row,
 * and then writes the row. So the next claim finds everything that was committed before. Rows are
 * always written in the same order, so that no two writers deadlock.
 */
export async function bringForward(tx: Tx, clock: Clock, webhooks: readonly NamedWebhook[], inMs = 0): Promise<void> {
  await tx`
    INSERT INTO webhook_work AS k (app_id, webhook_id, next_at)
    SELECT w.app_id, w.id, ${clock.now} + ${inMs}::float8 * interval '1 millisecond'
    FROM ${named(tx, webhooks)} WHERE w.state = 'enabled' ORDER BY w.app_id, w.id
    ON CONFLICT (app_id, webhook_id) DO UPDATE SET next_at = excluded.next_at WHERE k.next_at > excluded.next_at`;
}

/**
 * For the transaction of a claim: computes from the outboxes when these webhooks next have work and
 * room for it. A webhook without events, or one that is not called, gets no row. Work that is due
 * at once comes after everything that was due before. The statement has not run yet.
 */
export function putOff(tx: Tx, clock: Clock, webhooks: readonly NamedWebhook[]): Fragment {
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
      FROM ${named(tx, webhooks)} JOIN apps a ON a.id = w.app_id
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
      DELETE FROM webhook_work k
      WHERE k.app_id = ANY(${webhooks.map(({ appId }) => appId)}::uuid[])
        AND k.webhook_id = ANY(${webhooks.map(({ id }) => id)}::uuid[])
        AND NOT EXISTS (SELECT FROM next n WHERE n.app_id = k.app_id AND n.id = k.webhook_id AND n.at IS NOT NULL)
    )
    UPDATE webhook_work k SET next_at = greatest(${clock.now}, n.paused_until, n.at)
    FROM next n WHERE k.app_id = n.app_id AND k.webhook_id = n.id AND n.at IS NOT NULL`;
}

/**
 * The milliseconds until the next webhook has work: 0 or less when one has. Undefined: none has
 * any.
 */
export async function findNextWorkMs(sql: Sql, clock: Clock, without: readonly Uuid[]): Promise<number | undefined> {
  return findValue(sql`
    SELECT (extract(epoch FROM next_at - ${clock.now}) * 1000)::float8 AS ahead_ms FROM webhook_work
    WHERE webhook_id <> ALL(${without}::uuid[]) ORDER BY next_at LIMIT 1`);
}

/**
 * Finds work that was not recorded, because its process was killed right after it wrote events, or
 * is of a version that does not record work, or because the app was resumed. Steps from one outbox
 * to the next, however many events each has. Returns the number of webhooks whose work it recorded.
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

const soonOf = (sql: Sql, clock: Clock, ms: number): Fragment =>
  sql`(${clock.now} + ${ms}::float8 * interval '1 millisecond')`;

/** Ends pauses longer than any: the database's clock was set back since. */
export async function shortenPauses(sql: Sql, clock: Clock, pauseMsMax: number): Promise<void> {
  await sql`
    UPDATE webhooks SET paused_until = ${soonOf(sql, clock, pauseMsMax)}
    WHERE paused_until > ${soonOf(sql, clock, pauseMsMax + 1000)}`;
}

/**
 * Ends waits that were written before the database's clock was set back. A pause then lasts at most
 * `pauseMsMax`, and a claim `leaseMs`. An event becomes due if it was not tried, lies in the
 * future, or waits for more than twice its wait of `retrySeconds`, which is the longest (contract
 * 13.4).
 */
export async function shortenWebhookWaits(
  sql: Sql,
  clock: Clock,
  {
    leaseMs,
    pauseMsMax,
    retrySeconds,
  }: { readonly leaseMs: number; readonly pauseMsMax: number; readonly retrySeconds: readonly number[] },
): Promise<void> {
  const soon = (ms: number): Fragment => soonOf(sql, clock, ms);
  await shortenPauses(sql, clock, pauseMsMax);
  await sql`
    UPDATE webhook_events SET due_at = CASE WHEN claim_id IS NULL THEN ${clock.now} ELSE ${soon(leaseMs)} END
    WHERE due_at > ${soon(1000)} AND CASE WHEN claim_id IS NULL THEN attempts = 0 OR at > ${soon(1000)}
        OR due_at > ${soon(1000)} + 2 * (${retrySeconds}::int[])[least(attempts, ${retrySeconds.length})] * interval '1 second'
      ELSE due_at > ${soon(leaseMs + 1000)} END`;
  await sql`UPDATE webhook_work SET next_at = ${clock.now} WHERE next_at > ${clock.now}`;
}

/** Deletes the rows of deleted webhooks. */
export async function deleteOrphanedWork(sql: Sql): Promise<void> {
  await sql`
    DELETE FROM webhook_work k WHERE NOT EXISTS (SELECT FROM webhooks w WHERE w.app_id = k.app_id AND w.id = k.webhook_id)`;
}
