// SQL: the results of messages, by message and by period. Other rooms own the counters of messages
// and the marks on batches.
import type { Fragment, Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Range } from './periods.ts';
import { periodOf, talliedCredits, within } from './queries.ts';
import type { Tallied } from './tally.ts';

export interface Funnel {
  readonly accepted: number;
  readonly sent: number;
  readonly failed: number;
  readonly skipped: number;
  readonly displayed: number;
  readonly clicked: number;
  readonly dismissed: number;
}

export interface MessageFunnel extends Funnel {
  readonly messageId: Uuid;
  readonly name: string | null;
  readonly startedAt: Date;
  /** The start to the microsecond, for cursors. */
  readonly startedAtText: string;
}

const counterSums = (tx: Tx): Fragment => tx`
  webpush_accepted + apns_accepted + fcm_accepted AS accepted, webpush_sent + apns_sent + fcm_sent AS sent,
  webpush_failed + apns_failed + fcm_failed AS failed, webpush_skipped + apns_skipped + fcm_skipped AS skipped`;

const marks = (tx: Tx): Fragment => tx`
  coalesce(sum(displayed), 0)::bigint AS displayed, coalesce(sum(clicked), 0)::bigint AS clicked,
  coalesce(sum(dismissed), 0)::bigint AS dismissed`;

function started(tx: Tx, appId: Uuid, range: Range): Fragment {
  return tx`app_id = ${appId} AND ${within(tx, tx`started_at`, range)}`;
}

/** Lists the messages that began in a range, newest first, after a place. */
export async function listFunnels(
  tx: Tx,
  appId: Uuid,
  range: Range,
  after: { readonly startedAt: string; readonly messageId: Uuid } | null,
  limit: number,
): Promise<MessageFunnel[]> {
  return tx`
    WITH page AS (
      SELECT id, name, started_at, ${counterSums(tx)} FROM messages
      WHERE ${started(tx, appId, range)}
        ${after === null ? tx`` : tx`AND (started_at, id) < (${after.startedAt}::timestamptz, ${after.messageId}::uuid)`}
      ORDER BY started_at DESC, id DESC LIMIT ${limit}
    )
    SELECT m.id AS message_id, m.name, m.started_at, m.started_at::text AS started_at_text, m.accepted, m.sent, m.failed, m.skipped,
      coalesce(b.displayed, 0) AS displayed, coalesce(b.clicked, 0) AS clicked, coalesce(b.dismissed, 0) AS dismissed
    FROM page m LEFT JOIN (
      SELECT message_id, ${marks(tx)} FROM batches WHERE message_id IN (SELECT id FROM page) GROUP BY message_id
    ) AS b ON b.message_id = m.id
    ORDER BY m.started_at DESC, m.id DESC`;
}

export interface PeriodFunnel extends Funnel {
  readonly period: number;
}

/** Sums the messages that began in each period. */
export async function sumFunnels(
  tx: Tx,
  appId: Uuid,
  range: Range,
  periods: readonly Range[],
): Promise<PeriodFunnel[]> {
  return tx`
    SELECT ${periodOf(tx, tx`m.started_at`, periods)} AS period, sum(m.accepted)::bigint AS accepted,
      sum(m.sent)::bigint AS sent, sum(m.failed)::bigint AS failed, sum(m.skipped)::bigint AS skipped,
      coalesce(sum(b.displayed), 0)::bigint AS displayed, coalesce(sum(b.clicked), 0)::bigint AS clicked,
      coalesce(sum(b.dismissed), 0)::bigint AS dismissed
    FROM (SELECT id, started_at, ${counterSums(tx)} FROM messages WHERE ${started(tx, appId, range)}) AS m
    LEFT JOIN (
      SELECT message_id, ${marks(tx)} FROM batches
      WHERE message_id IN (SELECT id FROM messages WHERE ${started(tx, appId, range)}) GROUP BY message_id
    ) AS b ON b.message_id = m.id
    GROUP BY 1`;
}

export interface CreditedRevenue {
  readonly currency: string;
  readonly class: 'direct' | 'influenced';
  readonly count: number;
  readonly amount: string;
}

// Every credit of a message, whatever the time of the purchase.
function credited(tx: Tx, appId: Uuid, tallied: readonly Tallied[], messages: Fragment): Fragment {
  return tx`
    SELECT message_id, currency, class, count, amount FROM credited_totals
    WHERE app_id = ${appId} AND name = 'purchase' AND message_id IN (${messages})
    UNION ALL
    SELECT message_id, currency, class, count, amount FROM (${talliedCredits(tx, tallied)}) AS t
    WHERE message_id IN (${messages})`;
}

/**
 * Sums the credits of these messages, including the credits in `tallied`, which were classed just
 * now.
 */
export async function listCreditedRevenue(
  tx: Tx,
  appId: Uuid,
  messageIds: readonly Uuid[],
  tallied: readonly Tallied[],
): Promise<(CreditedRevenue & { messageId: Uuid })[]> {
  const messages = tx`SELECT unnest(${messageIds}::uuid[])`;
  return tx`
    SELECT message_id, currency, class, sum(count)::bigint AS count, sum(amount)::text AS amount
    FROM (${credited(tx, appId, tallied, messages)}) AS c GROUP BY 1, 2, 3`;
}

/** Sums the credits of the messages that began in each period, in the same way. */
export async function sumCreditedRevenue(
  tx: Tx,
  appId: Uuid,
  range: Range,
  periods: readonly Range[],
  tallied: readonly Tallied[],
): Promise<(CreditedRevenue & { period: number })[]> {
  const messages = tx`SELECT id FROM messages WHERE ${started(tx, appId, range)}`;
  return tx`
    SELECT ${periodOf(tx, tx`m.started_at`, periods)} AS period, c.currency, c.class, sum(c.count)::bigint AS count,
      sum(c.amount)::text AS amount
    FROM (${credited(tx, appId, tallied, messages)}) AS c
    JOIN messages m ON m.app_id = ${appId} AND m.id = c.message_id
    GROUP BY 1, 2, 3`;
}
