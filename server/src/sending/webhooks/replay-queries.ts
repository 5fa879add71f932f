// SQL of the progress of webhooks' replays that have not ended.

import { findRow, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

/** The events of a replay. Two replays with equal fields are the same replay. */
export interface ReplayedEvents {
  readonly appId: Uuid;
  readonly webhookId: Uuid;
  /** A half-open range, `[from, to)`. */
  readonly from: Date;
  readonly to: Date;
  /** The stored numbers of the kinds, in ascending order. */
  readonly kinds: readonly number[];
}

export interface ReplayProgress {
  /** The last batch whose events are in the outbox; null before the first. */
  readonly batchId: Uuid | null;
  readonly queued: number;
}

/** Deletes the progress of replays of one webhook that were interrupted longer than `forMs` ago. */
export async function deleteOldReplays(
  sql: Sql,
  clock: Clock,
  { appId, webhookId }: Pick<ReplayedEvents, 'appId' | 'webhookId'>,
  forMs: number,
): Promise<void> {
  await sql`
    DELETE FROM webhook_replays WHERE app_id = ${appId} AND webhook_id = ${webhookId}
      AND moved_at < ${clock.now} - ${forMs}::float8 * interval '1 millisecond'`;
}

/** Begins a replay, or answers the progress of the same one. Undefined: the webhook is gone. */
export async function insertReplay(
  tx: Tx,
  clock: Clock,
  { appId, webhookId, from, to, kinds }: ReplayedEvents,
): Promise<ReplayProgress | undefined> {
  return findRow(tx`
    INSERT INTO webhook_replays AS r (app_id, webhook_id, from_at, to_at, kinds, moved_at)
    SELECT w.app_id, w.id, ${from}, ${to}, ${kinds}::smallint[], ${clock.now} FROM webhooks w
    WHERE w.app_id = ${appId} AND w.id = ${webhookId} FOR KEY SHARE
    ON CONFLICT (app_id, webhook_id, from_at, to_at, kinds) DO UPDATE SET moved_at = ${clock.now}
    RETURNING r.batch_id, r.queued`);
}

/**
 * Records that the events of one more batch are queued. False: another process has moved the replay
 * since.
 */
export async function moveReplay(
  tx: Tx,
  clock: Clock,
  { appId, webhookId, from, to, kinds }: ReplayedEvents,
  before: Uuid | null,
  { batchId, more }: { batchId: Uuid; more: number },
): Promise<boolean> {
  const result = await tx`
    UPDATE webhook_replays SET batch_id = ${batchId}, queued = queued + ${more}, moved_at = ${clock.now}
    WHERE app_id = ${appId} AND webhook_id = ${webhookId} AND from_at = ${from} AND to_at = ${to}
      AND kinds = ${kinds}::smallint[] AND batch_id IS NOT DISTINCT FROM ${before}::uuid`;
  return result.count === 1;
}

/**
 * Deletes the progress of a replay that is complete, so that the next one of the same events starts
 * from the beginning. False: another process has moved the replay since.
 */
export async function deleteReplay(
  sql: Sql,
  { appId, webhookId, from, to, kinds }: ReplayedEvents,
  before: Uuid | null,
): Promise<boolean> {
  const result = await sql`
    DELETE FROM webhook_replays
    WHERE app_id = ${appId} AND webhook_id = ${webhookId} AND from_at = ${from} AND to_at = ${to}
      AND kinds = ${kinds}::smallint[] AND batch_id IS NOT DISTINCT FROM ${before}::uuid`;
  return result.count === 1;
}
