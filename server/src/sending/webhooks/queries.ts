// SQL of webhooks, their outboxes and their last attempts.

import { type Fragment, findRow, getValue, type Sql, type Tx } from '@carillon/postgres';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { EventDetails } from './event-body.ts';
import type { Health } from './webhook.ts';

export interface StoredWebhook extends Health {
  readonly appId: Uuid;
  readonly id: Uuid;
  readonly endpoint: string;
  readonly events: readonly string[];
  /** Sealed, like `pendingSecret`. */
  readonly secret: string;
  readonly pendingSecret: string | null;
  readonly pendingSince: Date | null;
  readonly finishAt: Date | null;
  readonly isDual: boolean;
  readonly lastTest: unknown;
  readonly createdAt: Date;
  /** The last time that people edited the endpoint or the events. */
  readonly updatedAt: Date;
}

const webhookColumns = (tx: Tx): Fragment => tx`
  w.app_id, w.id, w.endpoint, w.events, w.state, w.failures, w.in_flight_max, w.is_probing, w.secret, w.pending_secret,
  w.pending_since, w.finish_at, w.is_dual, w.last_test, w.created_at, w.updated_at`;

/**
 * Locks the app's row until the transaction ends, so that its webhooks are made one after the
 * other.
 */
export async function lockWebhooksOf(tx: Tx, appId: Uuid): Promise<void> {
  await tx`SELECT 1 FROM apps WHERE id = ${appId} FOR UPDATE`;
}

/**
 * Stores a webhook. False when the app already has `webhooksMax`. The count is exact, because the
 * caller has locked the app's row.
 */
export async function insertWebhook(
  tx: Tx,
  clock: Clock,
  webhook: { appId: Uuid; id: Uuid; endpoint: string; events: readonly string[]; secret: string },
  webhooksMax: number,
): Promise<boolean> {
  const { appId, id, endpoint, events, secret } = webhook;
  const result = await tx`
    INSERT INTO webhooks (app_id, id, endpoint, events, secret, created_at)
    SELECT ${appId}, ${id}, ${endpoint}, ${events}, ${secret}, ${clock.now}
    WHERE (SELECT count(*) FROM webhooks WHERE app_id = ${appId}) < ${webhooksMax}`;
  return result.count === 1;
}

/**
 * Held events are counted up to this number, because counting an outbox of millions takes seconds.
 */
export const heldEventsMax = 10_000;

/**
 * The webhooks of an app, oldest first, and the number of events in each outbox, up to
 * `heldEventsMax`.
 */
export async function listWebhooks(sql: Sql, appId: Uuid): Promise<(StoredWebhook & { heldEvents: number })[]> {
  return sql`
    SELECT ${webhookColumns(sql)},
      (SELECT count(*) FROM (SELECT FROM webhook_events e WHERE e.app_id = w.app_id AND e.webhook_id = w.id
        LIMIT ${heldEventsMax}) held) AS held_events
    FROM webhooks w WHERE w.app_id = ${appId} ORDER BY w.id`;
}

/** The webhooks of an app, oldest first, without a count of their events. */
export async function listWebhookStates(sql: Sql, appId: Uuid): Promise<StoredWebhook[]> {
  return sql`
    SELECT ${webhookColumns(sql)} FROM webhooks w WHERE w.app_id = ${appId} ORDER BY w.id`;
}

/** One webhook by its id alone, as the command line names it. */
export async function findWebhook(sql: Sql, id: Uuid): Promise<StoredWebhook | undefined> {
  return findRow(sql`SELECT ${webhookColumns(sql)} FROM webhooks w WHERE w.id = ${id}`);
}

/** Counts the events in the outbox of a webhook, up to `heldEventsMax`. */
export async function countHeldEvents(sql: Sql, appId: Uuid, id: Uuid): Promise<number> {
  return getValue(sql`
    SELECT count(*) AS count
    FROM (SELECT FROM webhook_events WHERE app_id = ${appId} AND webhook_id = ${id} LIMIT ${heldEventsMax}) held`);
}

/** Changes the endpoint of a webhook and its kinds of events. */
export async function updateWebhook(
  tx: Tx,
  clock: Clock,
  { appId, id, endpoint, events }: { appId: Uuid; id: Uuid; endpoint: string; events: readonly string[] },
): Promise<void> {
  await tx`
    UPDATE webhooks SET endpoint = ${endpoint}, events = ${events}, updated_at = ${nowOf(tx, clock)}
    WHERE app_id = ${appId} AND id = ${id}`;
}

/** Locks a webhook until the transaction ends, so that changes of its state follow each other. */
export async function lockWebhook(tx: Tx, appId: Uuid, id: Uuid): Promise<StoredWebhook | undefined> {
  return findRow(tx`
    SELECT ${webhookColumns(tx)} FROM webhooks w WHERE w.app_id = ${appId} AND w.id = ${id} FOR UPDATE`);
}

/** A webhook whose attempts are about to be recorded. */
export interface RecordedWebhook extends StoredWebhook {
  /** The number of attempts ever recorded, which is also the number of the last one. */
  readonly attemptsRecorded: number;
  /** The id of the present transaction, so that a later one can ask whether it was committed. */
  readonly transactionId: string;
}

/** Locks a webhook like `lockWebhook`. */
export async function lockRecordedWebhook(tx: Tx, appId: Uuid, id: Uuid): Promise<RecordedWebhook | undefined> {
  return findRow(tx`
    SELECT ${webhookColumns(tx)}, w.attempts_recorded, pg_current_xact_id()::text AS transaction_id
    FROM webhooks w WHERE w.app_id = ${appId} AND w.id = ${id} FOR UPDATE`);
}

/**
 * Whether one of these transactions without an answer was committed. They had locked the row that
 * is locked now, so they have ended. A transaction unknown to this server, such as after a failover
 * to a standby, was not committed.
 */
export async function wasCommitted(tx: Tx, transactionIds: readonly string[]): Promise<boolean> {
  return getValue(tx`
    SELECT coalesce(bool_or(pg_xact_status(t.id::xid8) = 'committed'), false) AS was_committed
    FROM unnest(${transactionIds}::text[]) AS t (id) WHERE t.id::xid8 < pg_current_xact_id()`);
}

/**
 * Stores the health that the endpoint's answers gave a webhook, and adds `attempts` to the number
 * of recorded ones.
 */
export async function updateHealth(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  id: Uuid,
  { state, failures, inFlightMax, isProbing }: Health,
  pauseMs: number,
  attempts = 0,
): Promise<void> {
  await tx`
    UPDATE webhooks SET attempts_recorded = attempts_recorded + ${attempts}, state = ${state}, failures = ${failures}, in_flight_max = ${inFlightMax}, is_probing = ${isProbing},
      paused_until = CASE WHEN ${pauseMs}::float8 > 0 THEN ${clock.now} + ${pauseMs}::float8 * interval '1 millisecond' END,
      disabled_at = CASE WHEN ${state === 'disabled'} THEN coalesce(disabled_at, ${clock.now}) END
    WHERE app_id = ${appId} AND id = ${id}`;
}

/**
 * Makes every held event due now and keeps its attempts. Each kind of row has an index by time, so
 * events that are already due are not read.
 */
export async function makeEventsDue(tx: Tx, clock: Clock, appId: Uuid, id: Uuid): Promise<void> {
  await tx`
    UPDATE webhook_events SET due_at = ${clock.now}
    WHERE app_id = ${appId} AND webhook_id = ${id} AND claim_id IS NULL
      AND ((NOT is_replay AND due_at > ${clock.now}) OR (is_replay AND due_at > ${clock.now}))`;
}

/**
 * Deletes a webhook, its attempts and its replays. `deleteEventsOf` deletes its events afterwards,
 * a limited number at a time.
 */
export async function deleteWebhook(tx: Tx, appId: Uuid, id: Uuid): Promise<void> {
  await tx`DELETE FROM webhook_attempts WHERE app_id = ${appId} AND webhook_id = ${id}`;
  await tx`DELETE FROM webhook_replays WHERE app_id = ${appId} AND webhook_id = ${id}`;
  await tx`DELETE FROM webhook_work WHERE app_id = ${appId} AND webhook_id = ${id}`;
  await tx`DELETE FROM webhooks WHERE app_id = ${appId} AND id = ${id}`;
}

/** Stores the result of the newest test. */
export async function updateLastTest(sql: Sql | Tx, appId: Uuid, id: Uuid, test: object): Promise<void> {
  await sql`UPDATE webhooks SET last_test = ${JSON.stringify(test)}::text::json WHERE app_id = ${appId} AND id = ${id}`;
}

/** Begins a rotation, or replaces the pending secret of the present one. */
export async function updatePendingSecret(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  id: Uuid,
  pending: { secret: string; finishAt: Date | null; isDual: boolean },
): Promise<void> {
  await tx`
    UPDATE webhooks SET pending_secret = ${pending.secret}, pending_since = ${clock.now}, finish_at = ${pending.finishAt},
      is_dual = ${pending.isDual}
    WHERE app_id = ${appId} AND id = ${id}`;
}

/** Ends a rotation: only the new secret signs, and the old one is gone. */
export async function updateSecret(tx: Tx, appId: Uuid, id: Uuid, secret: string): Promise<void> {
  await tx`
    UPDATE webhooks SET secret = ${secret}, pending_secret = NULL, pending_since = NULL, finish_at = NULL, is_dual = false
    WHERE app_id = ${appId} AND id = ${id}`;
}

/** The rotations of all apps whose `finish_at` has passed. */
export async function listFinishedRotations(sql: Sql, clock: Clock): Promise<{ appId: Uuid; id: Uuid }[]> {
  return sql`SELECT app_id, id FROM webhooks WHERE finish_at <= ${clock.now}`;
}

export interface Subscriber {
  readonly id: Uuid;
  /** Empty for all kinds. */
  readonly events: readonly string[];
}

/** The webhooks of an app, including disabled ones, because their events are held. */
export async function listSubscribers(tx: Tx, appId: Uuid): Promise<Subscriber[]> {
  return tx`SELECT id, events FROM webhooks WHERE app_id = ${appId}`;
}

export interface NewEvent {
  readonly webhookId: Uuid;
  readonly id: Uuid;
  readonly kind: number;
  readonly messageId: Uuid;
  readonly deviceId: Uuid;
  readonly channel: number;
  readonly atMs: number;
  readonly errorCode: string | null;
  readonly details: EventDetails | null;
}

/**
 * Puts events in outboxes, due at once. The caller records the webhooks' work after the commit.
 * Replays are stored only for an enabled webhook, so the answered number of rows may be smaller.
 * For other events the caller has read the subscribers in the same transaction.
 */
export async function insertEvents(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  events: readonly NewEvent[],
  isReplay = false,
): Promise<number> {
  const result = await tx`
    INSERT INTO webhook_events
      (app_id, webhook_id, id, kind, message_id, device_id, channel, at, due_at, error_code, details, is_replay)
    SELECT ${appId}, e.webhook_id, e.id, e.kind, e.message_id, e.device_id, e.channel, to_timestamp(e.at_ms / 1000),
      ${clock.now}, e.error_code, e.details, ${isReplay}
    FROM ${tx.rows(
      'e',
      {
        uuid: ['webhookId', 'id', 'messageId', 'deviceId'],
        smallint: ['kind', 'channel'],
        float8: ['atMs'],
        text: ['errorCode'],
        json: ['details'],
      },
      events,
    )}
    ${isReplay ? tx`JOIN webhooks w ON w.app_id = ${appId} AND w.id = e.webhook_id AND w.state = 'enabled'` : tx``}`;
  return result.count;
}

export interface WebhookWithWork extends StoredWebhook {
  /**
   * True for a webhook that is enabled, not paused after a failure, and of an app that is not
   * suspended.
   */
  readonly isCallable: boolean;
  /** The server's time of the claim. */
  readonly claimedAt: Date;
}

/**
 * Locks the webhooks whose work is due, the longest wait first. So a webhook with a million events
 * does not delay the others. Other claims skip the locked rows. Later statements read the outboxes,
 * so no event written in between is missed. `without`: webhooks for which the caller has no room.
 */
export async function lockNextWebhooks(
  tx: Tx,
  clock: Clock,
  { without, limit }: { without: readonly Uuid[]; limit: number },
): Promise<WebhookWithWork[]> {
  return tx`
    WITH due AS MATERIALIZED (
      SELECT k.app_id, k.webhook_id FROM webhook_work k
      WHERE k.next_at <= ${clock.now} AND k.webhook_id <> ALL(${without}::uuid[])
      ORDER BY k.next_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
    )
    SELECT ${webhookColumns(tx)}, w.state = 'enabled' AND (w.paused_until IS NULL OR w.paused_until <= ${clock.now})
      AND (SELECT a.suspended_at IS NULL FROM apps a WHERE a.id = w.app_id) AS is_callable, now() AS claimed_at
    -- One by one through the key, whatever a planner believes of a table that is nearly always empty.
    FROM due CROSS JOIN LATERAL (
      SELECT * FROM webhooks h WHERE h.app_id = due.app_id AND h.id = due.webhook_id FOR UPDATE SKIP LOCKED) AS w`;
}

export interface ClaimedEvent {
  readonly id: Uuid;
  readonly kind: number;
  readonly messageId: Uuid;
  readonly deviceId: Uuid;
  readonly channel: number;
  readonly at: Date;
  readonly errorCode: string | null;
  readonly details: EventDetails | null;
  /** The attempts made so far. */
  readonly attempts: number;
  /** True for an event of a replay. */
  readonly isReplay: boolean;
  readonly metadata: Readonly<Record<string, unknown>> | null;
}

/**
 * Claims due events of a locked webhook, up to a limit and as many as its window has room for. New
 * events come first, oldest first. Replays get the room that is left, at most half of the window,
 * so that new events always find room. The statement counts the requests under way after the row
 * was locked, so no other claim comes in between (R-24). An event of a dead process is due like any
 * other. Each event is looked up by its whole key, because PostgreSQL up to 16 may compare every
 * event of the outbox with a list of ids.
 */
export async function claimEvents(
  tx: Tx,
  clock: Clock,
  webhook: { appId: Uuid; id: Uuid; inFlightMax: number },
  claim: { id: Uuid; leaseMs: number; limit: number },
): Promise<ClaimedEvent[]> {
  const { appId, id, inFlightMax } = webhook;
  const replaysMax = Math.max(1, Math.floor(inFlightMax / 2));
  const underWay = (kind: Fragment): Fragment => tx`
    (SELECT count(*)::int FROM webhook_events c
    WHERE c.app_id = ${appId} AND c.webhook_id = ${id} AND c.claim_id IS NOT NULL AND c.due_at > ${clock.now} AND ${kind})`;
  // 64 is the largest window, written as a number: for an unknown limit the planner expects a tenth
  // of all rows.
  const next = (isReplay: boolean, kind: Fragment): Fragment => tx`
    SELECT d.app_id, d.webhook_id, d.id, d.due_at, ${isReplay}::boolean AS is_replay FROM webhook_events d
    WHERE d.app_id = ${appId} AND d.webhook_id = ${id} AND d.due_at <= ${clock.now} AND ${kind}
    ORDER BY d.due_at, d.id LIMIT 64`;
  return tx`
    WITH taken AS (
      UPDATE webhook_events e SET claim_id = ${claim.id},
        due_at = ${clock.now} + ${claim.leaseMs}::float8 * interval '1 millisecond'
      FROM (
        SELECT due.app_id, due.webhook_id, due.id FROM (
          (${next(false, tx`NOT d.is_replay`)})
          UNION ALL
          (SELECT r.* FROM (${next(true, tx`d.is_replay`)}) AS r
          ORDER BY r.due_at, r.id LIMIT greatest(0, ${replaysMax}::int - ${underWay(tx`c.is_replay`)}))
        ) AS due
        ORDER BY due.is_replay, due.due_at, due.id
        LIMIT least(${claim.limit}::int, greatest(0, ${inFlightMax}::int - ${underWay(tx`true`)}))
      ) AS next
      WHERE e.app_id = next.app_id AND e.webhook_id = next.webhook_id AND e.id = next.id
      RETURNING e.id, e.kind, e.message_id, e.device_id, e.channel, e.at, e.error_code, e.details, e.attempts, e.is_replay
    )
    SELECT t.*, m.metadata FROM taken t LEFT JOIN messages m ON m.app_id = ${webhook.appId} AND m.id = t.message_id
    ORDER BY t.id`;
}

/** Deletes events that were acknowledged or given up, if these claims still hold them. */
export async function deleteEvents(
  tx: Tx,
  webhook: { appId: Uuid; id: Uuid },
  claimIds: readonly Uuid[],
  ids: readonly Uuid[],
): Promise<void> {
  await tx`
    DELETE FROM webhook_events
    WHERE app_id = ${webhook.appId} AND webhook_id = ${webhook.id} AND id = ANY(${ids}::uuid[])
      AND claim_id = ANY(${claimIds}::uuid[])`;
}

/** Puts events off to a later attempt, if these claims still hold them. */
export async function postponeEvents(
  tx: Tx,
  clock: Clock,
  webhook: { appId: Uuid; id: Uuid },
  claimIds: readonly Uuid[],
  events: readonly { id: Uuid; attempts: number; inMs: number }[],
): Promise<void> {
  await tx`
    UPDATE webhook_events e SET claim_id = NULL, attempts = p.attempts,
      due_at = ${clock.now} + p.in_ms * interval '1 millisecond'
    FROM ${tx.rows('p', { uuid: ['id'], smallint: ['attempts'], float8: ['inMs'] }, events)}
    WHERE e.app_id = ${webhook.appId} AND e.webhook_id = ${webhook.id} AND e.id = p.id
      AND e.claim_id = ANY(${claimIds}::uuid[])`;
}

export interface AttemptRow {
  readonly id: Uuid;
  readonly at: Date;
  /** Orders the attempts of one millisecond in the log. */
  readonly number: number;
  readonly kind: number;
  readonly eventId: Uuid;
  readonly messageId: Uuid;
  readonly deviceId: Uuid;
  readonly attempt: number;
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly durationMs: number;
}

export async function insertAttempts(
  tx: Tx,
  webhook: { appId: Uuid; id: Uuid },
  attempts: readonly AttemptRow[],
): Promise<void> {
  await tx`
    INSERT INTO webhook_attempts (app_id, webhook_id, id, at, number, kind, event_id, message_id, device_id, attempt, status_code,
      error, duration_ms)
    SELECT ${webhook.appId}, ${webhook.id}, a.id, a.at, a.number, a.kind, a.event_id, a.message_id, a.device_id,
      a.attempt, a.status_code, a.error, a.duration_ms
    FROM ${tx.rows(
      'a',
      {
        uuid: ['id', 'eventId', 'messageId', 'deviceId'],
        smallint: ['kind', 'attempt', 'statusCode'],
        int: ['durationMs'],
        bigint: ['number'],
        timestamptz: ['at'],
        text: ['error'],
      },
      attempts,
    )}`;
}

/**
 * Deletes all attempts but the newest. The kept number is exact, because the caller has locked the
 * webhook's row.
 */
export async function deleteOldAttempts(tx: Tx, webhook: { appId: Uuid; id: Uuid }, keptMax: number): Promise<void> {
  await tx`
    DELETE FROM webhook_attempts WHERE app_id = ${webhook.appId} AND webhook_id = ${webhook.id} AND (at, number, id) < (
      SELECT at, number, id FROM webhook_attempts WHERE app_id = ${webhook.appId} AND webhook_id = ${webhook.id}
      ORDER BY at DESC, number DESC, id DESC OFFSET ${keptMax - 1} LIMIT 1)`;
}

/** The last attempts of a webhook, newest first. */
export async function listAttempts(sql: Sql, appId: Uuid, id: Uuid): Promise<AttemptRow[]> {
  return sql`
    SELECT id, at, number, kind, event_id, message_id, device_id, attempt, status_code, error, duration_ms FROM webhook_attempts
    WHERE app_id = ${appId} AND webhook_id = ${id} ORDER BY at DESC, number DESC, id DESC`;
}
