// SQL: when the deliveries of one message were sent, failed, displayed, clicked and dismissed.
// Other rooms own messages, batches and deliveries.
import { findRow, getRow, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';

export interface MessageRun {
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly accepted: number;
  readonly sent: number;
  readonly failed: number;
}

export async function findRun(tx: Tx, appId: Uuid, id: Uuid): Promise<MessageRun | undefined> {
  return findRow(tx`
    SELECT started_at, finished_at, webpush_accepted + apns_accepted + fcm_accepted AS accepted,
      webpush_sent + apns_sent + fcm_sent AS sent, webpush_failed + apns_failed + fcm_failed AS failed
    FROM messages WHERE app_id = ${appId} AND id = ${id}`);
}

export interface MessageBatches {
  readonly displayed: number;
  readonly clicked: number;
  readonly dismissed: number;
  /** Every `everyNth` batch in the order in which they were made, from the first. */
  readonly ids: readonly Uuid[];
}

/** Sums the marks of all batches of a message, and picks some of the batches. */
export async function pickBatches(tx: Tx, messageId: Uuid, everyNth: number): Promise<MessageBatches> {
  return getRow(tx`
    SELECT coalesce(sum(displayed), 0)::bigint AS displayed, coalesce(sum(clicked), 0)::bigint AS clicked,
      coalesce(sum(dismissed), 0)::bigint AS dismissed,
      coalesce(array_agg(id ORDER BY id) FILTER (WHERE place % ${everyNth}::int = 0), '{}') AS ids
    FROM (
      SELECT id, displayed, clicked, dismissed, row_number() OVER (ORDER BY id) - 1 AS place
      FROM batches WHERE message_id = ${messageId}
    ) AS placed`);
}

export const momentKinds = ['sent', 'failed', 'displayed', 'clicked', 'dismissed'] as const;
export type MomentKind = (typeof momentKinds)[number];

export interface MomentCount {
  readonly kind: MomentKind;
  /** As stored: 0 webpush, 1 apns, 2 fcm. */
  readonly channel: number;
  /** Whole steps since `from`. An instant before `from` counts in step 0. */
  readonly step: number;
  readonly count: number;
}

/**
 * Counts the moments of the deliveries of some batches by kind, channel and step. Outcomes and
 * marks have separate steps. Marks after `marksMost` steps count in step `marksMost`.
 */
export async function countMoments(
  tx: Tx,
  batchIds: readonly Uuid[],
  steps: {
    readonly from: Date;
    readonly outcomeSeconds: number;
    readonly markSeconds: number;
    readonly marksMost: number;
  },
): Promise<MomentCount[]> {
  const { from, outcomeSeconds, markSeconds, marksMost } = steps;
  return tx`
    SELECT m.kind, d.channel, m.step, count(*) AS count
    FROM deliveries d CROSS JOIN LATERAL (
      SELECT v.kind, CASE WHEN v.is_mark
          THEN least(greatest(floor(extract(epoch FROM v.at - ${from}) / ${markSeconds}::int), 0), ${marksMost}::int)
          ELSE greatest(floor(extract(epoch FROM v.at - ${from}) / ${outcomeSeconds}::int), 0)
        END::int AS step
      FROM (VALUES
        ('sent', false, CASE WHEN d.status = 1 THEN d.done_at END), ('failed', false, CASE WHEN d.status = 2 THEN d.done_at END),
        ('displayed', true, d.displayed_at), ('clicked', true, d.clicked_at), ('dismissed', true, d.dismissed_at)
      ) AS v (kind, is_mark, at)
      WHERE v.at IS NOT NULL
    ) AS m
    WHERE d.batch_id = ANY(${batchIds}::uuid[])
    GROUP BY 1, 2, 3`;
}
