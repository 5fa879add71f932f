// SQL: how far the replays of webhooks have come that are not at their end.
import type { Clock } from '../platform/clock.ts';
import type { Sql, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

/** Which events are told again: two replays of the same ones are one. */
export interface ReplayedEvents {
  readonly appId: Uuid;
  readonly webhookId: Uuid;
  /** Half-open: `[from, to)`. */
  readonly from: Date;
  readonly to: Date;
  /** As they are stored, in ascending order. */
  readonly kinds: readonly number[];
}

export interface ReplayPlace {
  /** The last batch whose events are in the outbox; null: none is yet. */
  readonly batchId: Uuid | null;
  readonly queued: number;
}

/** Forgets what was broken off so long ago of one webhook. */
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

/** Begins a replay, or says how far it has come. Undefined: the webhook is gone. */
export async function insertReplay(
  tx: Tx,
  clock: Clock,
  { appId, webhookId, from, to, kinds }: ReplayedEvents,
): Promise<ReplayPlace | undefined> {
  const [row] = await tx<ReplayPlace[]>`
    INSERT INTO webhook_replays AS r (app_id, webhook_id, from_at, to_at, kinds, moved_at)
    SELECT w.app_id, w.id, ${from}, ${to}, ${kinds as number[]}::smallint[], ${clock.now} FROM webhooks w
    WHERE w.app_id = ${appId} AND w.id = ${webhookId} FOR KEY SHARE
    ON CONFLICT (app_id, webhook_id, from_at, to_at, kinds) DO UPDATE SET moved_at = ${clock.now}
    RETURNING r.batch_id, r.queued`;
  return row;
}

/** The events of one more batch are queued. False: somebody else has moved it meanwhile. */
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
      AND kinds = ${kinds as number[]}::smallint[] AND batch_id IS NOT DISTINCT FROM ${before}::uuid`;
  return result.count === 1;
}

/** All of it is queued: the next replay of the same events begins anew. False: somebody else has moved it meanwhile. */
export async function deleteReplay(
  sql: Sql,
  { appId, webhookId, from, to, kinds }: ReplayedEvents,
  before: Uuid | null,
): Promise<boolean> {
  const result = await sql`
    DELETE FROM webhook_replays
    WHERE app_id = ${appId} AND webhook_id = ${webhookId} AND from_at = ${from} AND to_at = ${to}
      AND kinds = ${kinds as number[]}::smallint[] AND batch_id IS NOT DISTINCT FROM ${before}::uuid`;
  return result.count === 1;
}
