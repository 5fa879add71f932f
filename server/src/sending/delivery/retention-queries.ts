// SQL of the retention of deliveries and batches.

import { getRow, listValues, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

export interface AttachedPartition {
  readonly name: string;
  /** The bound in PostgreSQL's words: `FOR VALUES FROM ('…') TO ('…')`. */
  readonly bound: string;
  /** A process or an operator began to detach it. */
  readonly isLeaving: boolean;
}

/** The partitions of deliveries, including those that are being detached. */
export async function listAttached(sql: Sql): Promise<AttachedPartition[]> {
  return sql`
    SELECT quote_ident(c.relname) AS name, pg_get_expr(c.relpartbound, c.oid) AS bound, i.inhdetachpending AS is_leaving
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'deliveries'::regclass`;
}

/** Tables that were partitions, are detached, and have this comment. */
export async function listDetached(sql: Sql, comment: string): Promise<string[]> {
  return listValues(sql`
    SELECT c.relname::text AS name FROM pg_class c
    WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'deliveries'::regclass)
      AND c.relkind = 'r' AND NOT c.relispartition AND c.relname ~ '^deliveries_[0-9]{8}$'
      AND obj_description(c.oid, 'pg_class') = ${comment}
    ORDER BY c.relname`);
}

/**
 * The batches of a range of ids: whether one is still open, and whether all of them ended more than
 * `keepDays` ago.
 */
export async function summarizeBatches(
  sql: Sql,
  clock: Clock,
  range: { from: Uuid; to: Uuid },
  keepDays: number,
): Promise<{ isOpen: boolean; isOld: boolean }> {
  return getRow(sql`
    SELECT coalesce(bool_or(state <> 'done'), false) AS is_open,
      coalesce(max(finished_at) < ${clock.now} - make_interval(days => ${keepDays}), true) AS is_old
    FROM batches WHERE id >= ${range.from} AND id < ${range.to}`);
}

/** Some finished batches of a message. */
export async function listFinishedBatches(tx: Tx, messageId: Uuid, limit: number): Promise<Uuid[]> {
  return listValues(tx`
    SELECT id FROM batches WHERE message_id = ${messageId} AND state = 'done' ORDER BY id LIMIT ${limit}`);
}

/** Deletes early receipts of these batches. No outcome ever came for them. */
export async function deleteEarlyReceipts(tx: Tx, batchIds: readonly Uuid[]): Promise<void> {
  await tx`DELETE FROM early_receipts WHERE batch_id = ANY(${batchIds}::uuid[])`;
}

/** Deletes batches whose deliveries are gone. */
export async function deleteBatches(tx: Tx, batchIds: readonly Uuid[]): Promise<void> {
  await tx`DELETE FROM batches WHERE id = ANY(${batchIds}::uuid[])`;
}
