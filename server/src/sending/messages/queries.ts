// SQL of messages, their idempotency keys and their counters.

import { asJson, type Fragment, findRow, getValue, listValues, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { writeInstant } from '../../ground/values/instant.ts';
import { refundUsage } from '../../teams/quotas/queries.ts';
import { type ChannelId, channelIds } from '../channels/channel.ts';
import type { MessageOutcomes } from '../delivery/delivery-kinds.ts';
import type { MessageAdvance, MessageToSend, OutcomeCounts } from '../delivery/message-ledger.ts';
import type { LocalTime } from './local-time.ts';
import type { MessageStatus } from './message.ts';
import type { Schedule } from './schedule.ts';

export interface NewMessage {
  readonly appId: Uuid;
  readonly id: Uuid;
  readonly idempotencyKey: string | null;
  readonly fingerprint: Buffer;
  readonly name: string | null;
  readonly metadata: Record<string, unknown> | null;
  readonly createdBy: Record<string, unknown>;
  readonly audience: unknown;
  readonly excludeSegmentId: Uuid | null;
  readonly content: unknown;
  readonly title: string | null;
  readonly perSecond: number | null;
}

/**
 * Stores a message that is sent now. False when its idempotency key is taken: the statement waits
 * for the transaction that took the key.
 */
export function insertSendingMessage(tx: Tx, clock: Clock, message: NewMessage, windowMs: number): Promise<boolean> {
  return insertMessage(tx, clock, message, {
    status: 'sending',
    runAt: null,
    local: null,
    startedAt: tx`${clock.now}`,
    expiresAt: tx`${clock.now} + ${windowMs}::float8 * interval '1 millisecond'`,
  });
}

/** Stores a message that runs later. False when its idempotency key is taken, as above. */
export function insertScheduledMessage(
  tx: Tx,
  clock: Clock,
  message: NewMessage,
  { runAt, local }: Schedule,
): Promise<boolean> {
  const state = { status: 'scheduled', runAt, local, startedAt: tx`NULL`, expiresAt: tx`NULL` } as const;
  return insertMessage(tx, clock, message, state);
}

async function insertMessage(
  tx: Tx,
  clock: Clock,
  message: NewMessage,
  state: {
    status: MessageStatus;
    runAt: Date | null;
    local: LocalTime | null;
    startedAt: Fragment;
    expiresAt: Fragment;
  },
): Promise<boolean> {
  const { appId, id, idempotencyKey, fingerprint, name, metadata, createdBy, audience, content, title } = message;
  const { excludeSegmentId, perSecond } = message;
  const { status, runAt, local, startedAt, expiresAt } = state;
  const result = await tx`
    INSERT INTO messages (app_id, id, idempotency_key, fingerprint, status, name, metadata, created_by, audience,
      exclude_segment_id, content, title, per_second, created_at, started_at, expires_at, run_at, next_start_at, local_send_at,
      local_time_past)
    VALUES (${appId}, ${id}, ${idempotencyKey}, ${fingerprint}, ${status}, ${name}, ${metadata === null ? null : asJson(metadata)},
      ${asJson(createdBy)}, ${asJson(audience)},
      ${excludeSegmentId}, ${asJson(content)}, ${title}, ${perSecond}, ${clock.now}, ${startedAt}, ${expiresAt}, ${runAt}, ${runAt},
      ${local === null ? null : writeInstant(local.sendAt)}, ${local?.past ?? null})
    ON CONFLICT (app_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING`;
  return result.count === 1;
}

/**
 * Stores the counts of the fan-out, and starts a scheduled message. With an empty audience the
 * message is `sent` at once.
 */
export async function updateFannedOut(
  tx: Tx,
  clock: Clock,
  message: {
    appId: Uuid;
    id: Uuid;
    byChannel: Readonly<Record<ChannelId, number>>;
    unmatched: number;
    firstBatchId: Uuid | null;
    lastBatchId: Uuid | null;
    charge: { readonly month: string; readonly units: number };
    /** The end of the last window, for a scheduled message, which starts with this statement. */
    expiresAt: Date | null;
  },
): Promise<void> {
  const { byChannel } = message;
  const isEmpty = byChannel.webpush + byChannel.apns + byChannel.fcm === 0;
  await tx`
    UPDATE messages SET webpush_accepted = ${byChannel.webpush}, apns_accepted = ${byChannel.apns}, fcm_accepted = ${byChannel.fcm},
      audience_unmatched = ${message.unmatched}, first_batch_id = ${message.firstBatchId}, last_batch_id = ${message.lastBatchId},
      charged_month = ${message.charge.month}::date, charged_units = ${message.charge.units},
      status = ${isEmpty ? 'sent' : 'sending'}, finished_at = ${isEmpty ? clock.now : tx`NULL`},
      started_at = coalesce(started_at, ${clock.now}), expires_at = coalesce(${message.expiresAt}::timestamptz, expires_at),
      next_start_at = NULL
    WHERE app_id = ${message.appId} AND id = ${message.id}`;
}

/**
 * Takes the lock of an idempotency key until the transaction ends. False at once when another
 * transaction holds it.
 */
export async function tryLockIdempotencyKey(tx: Tx, appId: Uuid, key: string): Promise<boolean> {
  return getValue(tx`
    SELECT pg_try_advisory_xact_lock(hashtextextended(${appId} || ' ' || ${key}, 0)) AS locked`);
}

/**
 * The message of an idempotency key, and the fingerprint that tells a replay from another request.
 */
export async function findByIdempotencyKey(
  sql: Sql,
  appId: Uuid,
  key: string,
): Promise<{ id: Uuid; fingerprint: Buffer; runAt: Date | null } | undefined> {
  return findRow(sql`
    SELECT id, fingerprint, run_at FROM messages WHERE app_id = ${appId} AND idempotency_key = ${key}`);
}

/** The parts of a message that a send needs. */
export async function findMessageToSend(sql: Sql, appId: Uuid, id: Uuid): Promise<MessageToSend | undefined> {
  return findRow(sql`
    SELECT m.content, a.default_url
    FROM messages m JOIN apps a ON a.id = m.app_id WHERE m.app_id = ${appId} AND m.id = ${id}`);
}

/**
 * The status of a message, and whether its app is suspended. Undefined when the app has no such
 * message.
 */
export async function findSendingState(
  sql: Sql,
  appId: Uuid,
  id: Uuid,
): Promise<{ status: MessageStatus; isSuspended: boolean } | undefined> {
  return findRow(sql`
    SELECT m.status, a.suspended_at IS NOT NULL AS is_suspended
    FROM messages m JOIN apps a ON a.id = m.app_id WHERE m.app_id = ${appId} AND m.id = ${id}`);
}

/**
 * The messages that an app is sending. They are found by their open batches. Batches with and
 * without a rate are read separately, because each kind has an index.
 */
export async function listSendingMessages(sql: Sql, appId: Uuid): Promise<Uuid[]> {
  return listValues(sql`
    SELECT m.id FROM messages m WHERE m.app_id = ${appId} AND m.status = 'sending' AND m.id IN (
      SELECT b.message_id FROM batches b WHERE b.app_id = ${appId} AND b.state <> 'done' AND b.per_second IS NULL
      UNION
      SELECT b.message_id FROM batches b WHERE b.app_id = ${appId} AND b.state <> 'done' AND b.per_second IS NOT NULL)`);
}

/**
 * Cancels a message if it still has the status `from`: then one row changes. The statement has not
 * run yet.
 */
export function updateCanceled(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  id: Uuid,
  from: 'scheduled' | 'sending',
  reason: 'app_suspended' | null,
): Fragment {
  return tx`
    UPDATE messages SET status = 'canceled', status_reason = ${reason}, finished_at = ${clock.now}, next_start_at = NULL
    WHERE app_id = ${appId} AND id = ${id} AND status = ${from}`;
}

/**
 * The topic by which processes tell each other the id of a canceled message. A process that sends
 * the message then reads its status.
 */
export const canceledTopic = 'canceled';

const doneSum = (tx: Tx): Fragment => tx`
  webpush_sent + webpush_failed + webpush_skipped + apns_sent + apns_failed + apns_skipped + fcm_sent + fcm_failed + fcm_skipped`;
const acceptedSum = (tx: Tx): Fragment => tx`webpush_accepted + apns_accepted + fcm_accepted`;
const sentSum = (tx: Tx): Fragment => tx`webpush_sent + apns_sent + fcm_sent`;
const failedSum = (tx: Tx): Fragment => tx`webpush_failed + apns_failed + fcm_failed`;

/**
 * Counts deliveries that became final, refunds those that are skipped, and ends the message with
 * its last delivery. The refund comes first, so that a flush does not hold the message's row while
 * it waits for the app's usage.
 */
export function advanceMessage(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  id: Uuid,
  counts: OutcomeCounts,
  endsBatch: boolean,
): MessageAdvance {
  let skipped = 0;
  let tried = 0;
  for (const of of counts.byChannel.values()) {
    skipped += of.skipped;
    tried += of.sent + of.failed;
  }
  const ended = endsBatch ? selectEnded(tx, appId, id) : undefined;
  const statements = [
    ...(skipped > 0 ? [refundUsage(tx, appId, owedForSkipped(tx, appId, id, skipped))] : []),
    countOutcomes(tx, appId, id, counts),
    ...(ended ? [endMessage(tx, clock, appId, id), ended] : []),
    ...(ended && skipped > 0 && tried === 0 ? [refundUsage(tx, appId, owedForUntried(tx, appId, id))] : []),
  ];
  return { statements, hasEnded: async () => ended !== undefined && (await ended).length > 0 };
}

/**
 * The refund when each delivery was charged. What a message was charged does not change while it is
 * being sent.
 */
const owedForSkipped = (tx: Tx, appId: Uuid, id: Uuid, skipped: number): Fragment => tx`
  SELECT charged_month AS month, ${skipped}::int AS units FROM messages
  WHERE app_id = ${appId} AND id = ${id} AND charged_units = ${acceptedSum(tx)}`;

/**
 * A plan that counts messages refunds its one unit when no delivery of the message was tried
 * (contract 4).
 */
const owedForUntried = (tx: Tx, appId: Uuid, id: Uuid): Fragment => tx`
  SELECT charged_month AS month, charged_units AS units FROM messages
  WHERE app_id = ${appId} AND id = ${id} AND charged_units <> ${acceptedSum(tx)}
    AND ${doneSum(tx)} = ${acceptedSum(tx)} AND ${sentSum(tx)} + ${failedSum(tx)} = 0`;

function countOutcomes(tx: Tx, appId: Uuid, id: Uuid, { byChannel, byCode }: OutcomeCounts): Fragment {
  const of = (channel: ChannelId) => byChannel.get(channel) ?? { sent: 0, failed: 0, skipped: 0 };
  const [web, apns, fcm] = channelIds.map(of) as [ReturnType<typeof of>, ReturnType<typeof of>, ReturnType<typeof of>];
  const codes = Object.keys(byCode);
  const newCounts =
    codes.length === 0
      ? tx`error_counts`
      : tx`error_counts || (
          SELECT jsonb_object_agg(n.code, n.count + coalesce((error_counts ->> n.code)::int, 0))
          FROM unnest(${codes}::text[], ${Object.values(byCode)}::int[]) AS n (code, count))`;
  return tx`
    UPDATE messages SET
      webpush_sent = webpush_sent + ${web.sent}, webpush_failed = webpush_failed + ${web.failed}, webpush_skipped = webpush_skipped + ${web.skipped},
      apns_sent = apns_sent + ${apns.sent}, apns_failed = apns_failed + ${apns.failed}, apns_skipped = apns_skipped + ${apns.skipped},
      fcm_sent = fcm_sent + ${fcm.sent}, fcm_failed = fcm_failed + ${fcm.failed}, fcm_skipped = fcm_skipped + ${fcm.skipped},
      error_counts = ${newCounts}
    WHERE app_id = ${appId} AND id = ${id}`;
}

/**
 * Derived from the counters that the same transaction wrote. A canceled message keeps its status.
 */
function endMessage(tx: Tx, clock: Clock, appId: Uuid, id: Uuid): Fragment {
  return tx`
    UPDATE messages SET status = CASE WHEN ${sentSum(tx)} > 0 OR ${failedSum(tx)} = 0 THEN 'sent' ELSE 'failed' END,
      finished_at = ${clock.now}
    WHERE app_id = ${appId} AND id = ${id} AND status = 'sending' AND ${doneSum(tx)} = ${acceptedSum(tx)}`;
}

/** One row when the message's last delivery is final, also for a canceled message. */
function selectEnded(tx: Tx, appId: Uuid, id: Uuid): Fragment {
  return tx`
    SELECT 1 FROM messages
    WHERE app_id = ${appId} AND id = ${id} AND ${doneSum(tx)} = ${acceptedSum(tx)}`;
}

export interface ChannelCounts {
  readonly accepted: number;
  readonly sent: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface MessageCounts extends ChannelCounts {
  readonly status: MessageStatus;
  readonly channels: Readonly<Record<ChannelId, ChannelCounts>>;
  /** Final failed and skipped deliveries by code. */
  readonly errorCounts: Readonly<Record<string, number>>;
  readonly audienceUnmatched: number;
}

/**
 * The ids of an app's messages from `fromId` on. Their order is the order in which they were
 * accepted.
 */
export async function listMessageIds(sql: Sql, appId: Uuid, fromId: Uuid | null, limit: number): Promise<Uuid[]> {
  return listValues(sql`
    SELECT id FROM messages WHERE app_id = ${appId} ${fromId === null ? sql`` : sql`AND id >= ${fromId}`}
    ORDER BY id LIMIT ${limit}`);
}

/** The counters of a message `m`, by channel. */
export const countsByChannel = (tx: Tx): Fragment => tx`
  jsonb_build_object(
    'webpush', jsonb_build_object('accepted', m.webpush_accepted, 'sent', m.webpush_sent, 'failed', m.webpush_failed, 'skipped', m.webpush_skipped),
    'apns', jsonb_build_object('accepted', m.apns_accepted, 'sent', m.apns_sent, 'failed', m.apns_failed, 'skipped', m.apns_skipped),
    'fcm', jsonb_build_object('accepted', m.fcm_accepted, 'sent', m.fcm_sent, 'failed', m.fcm_failed, 'skipped', m.fcm_skipped)
  )`;

/** The counters of a message. Undefined when the app has no such message. */
export async function findMessageCounts(tx: Tx, appId: Uuid, id: Uuid): Promise<MessageCounts | undefined> {
  const [row] = await tx<(Omit<MessageCounts, 'channels'> & Readonly<Record<string, number>>)[]>`
    SELECT status, ${acceptedSum(tx)} AS accepted, ${sentSum(tx)} AS sent, ${failedSum(tx)} AS failed,
      webpush_skipped + apns_skipped + fcm_skipped AS skipped, error_counts, audience_unmatched,
      webpush_accepted, webpush_sent, webpush_failed, webpush_skipped,
      apns_accepted, apns_sent, apns_failed, apns_skipped, fcm_accepted, fcm_sent, fcm_failed, fcm_skipped
    FROM messages WHERE app_id = ${appId} AND id = ${id}`;
  if (!row) return undefined;
  const of = (channel: ChannelId): ChannelCounts => ({
    accepted: row[`${channel}Accepted`] ?? 0,
    sent: row[`${channel}Sent`] ?? 0,
    failed: row[`${channel}Failed`] ?? 0,
    skipped: row[`${channel}Skipped`] ?? 0,
  });
  const { status, accepted, sent, failed, skipped, errorCounts, audienceUnmatched } = row;
  const channels = { webpush: of('webpush'), apns: of('apns'), fcm: of('fcm') };
  return { status, accepted, sent, failed, skipped, channels, errorCounts, audienceUnmatched };
}

/** The counters of a message by channel and by code. Undefined when the app has no such message. */
export async function findMessageOutcomes(
  tx: Tx,
  appId: Uuid,
  id: Uuid,
): Promise<(MessageCounts & MessageOutcomes) | undefined> {
  return findRow(tx`
    SELECT m.status, ${acceptedSum(tx)} AS accepted, ${sentSum(tx)} AS sent, ${failedSum(tx)} AS failed,
      webpush_skipped + apns_skipped + fcm_skipped AS skipped, ${countsByChannel(tx)} AS channels, m.error_counts
    FROM messages m WHERE m.app_id = ${appId} AND m.id = ${id}`);
}
