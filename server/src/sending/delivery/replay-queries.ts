// SQL that finds the events of a time that webhooks were told, among the deliveries that are kept.
// Writes nothing.

import { findValue, type Sql } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { TargetUrls } from '../content/compile-content.ts';
import type { Attempt } from './delivery.ts';

/** A half-open range of time, `[from, to)`. */
export interface TimeRange {
  readonly from: Date;
  readonly to: Date;
}

/** The oldest batch of any app, where a walk in time begins. */
export async function findOldestBatch(sql: Sql): Promise<Uuid | undefined> {
  return findValue(sql`SELECT id FROM batches ORDER BY id LIMIT 1`);
}

export interface ToldBatch {
  readonly id: Uuid;
  readonly messageId: Uuid;
}

/**
 * The batches of an app, between two ids, that may have deliveries that ended or were clicked in
 * the range.
 */
export async function listToldBatches(
  sql: Sql,
  appId: Uuid,
  ids: { after: Uuid; before: Uuid; limit: number },
  { from, to }: TimeRange,
): Promise<ToldBatch[]> {
  return sql`
    SELECT id, message_id FROM batches
    WHERE id > ${ids.after} AND id < ${ids.before} AND app_id = ${appId} AND queued_at < ${to}
      AND sent + failed + clicked > 0 AND (finished_at IS NULL OR finished_at >= ${from} OR clicked > 0)
    ORDER BY id LIMIT ${ids.limit}`;
}

export interface ToldDelivery {
  readonly deviceId: Uuid;
  readonly userId: Uuid | null;
  readonly channel: number;
  readonly status: number;
  readonly errorCode: number | null;
  readonly attempts: number;
  readonly providerStatus: number | null;
  readonly doneAt: Date;
  readonly clickedAt: Date | null;
  readonly action: string | null;
  readonly urls: TargetUrls | null;
  /** Set for a failed delivery only. */
  readonly lastAttempt: Attempt | null;
}

/** The deliveries of a batch that were sent, failed or clicked in the range. */
export async function listToldDeliveries(sql: Sql, batchId: Uuid, { from, to }: TimeRange): Promise<ToldDelivery[]> {
  return sql`
    SELECT device_id, user_id, channel, status, error_code, attempts, provider_status, done_at, clicked_at, action, urls,
      CASE WHEN status = 2 THEN timeline -> -1 END AS last_attempt
    FROM deliveries
    WHERE batch_id = ${batchId}
      AND ((status IN (1, 2) AND done_at >= ${from} AND done_at < ${to}) OR (clicked_at >= ${from} AND clicked_at < ${to}))
    ORDER BY device_id`;
}
