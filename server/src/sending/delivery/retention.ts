// How long deliveries are kept, and how they are deleted: one week's partition at a time, when its
// newest row is old enough. A batch that is still open keeps only its own week.

import { type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Log } from '../../ground/host/log.ts';
import { type Uuid, uuidFloorOf } from '../../ground/values/ids.ts';
import { dropPartition, finishDropping, listPartitions } from './partitions.ts';
import { deleteBatches, deleteEarlyReceipts, listFinishedBatches, summarizeBatches } from './retention-queries.ts';

export const dayMs = 24 * 3_600_000;

/**
 * The days for which messages and deliveries are kept. A purchase may be credited to a message that
 * is one attribution window old, so this is at least two windows (contract 5.2).
 */
export function keepDaysOf(retentionDays: number, attributionWindowHoursMax: number): number {
  return Math.max(retentionDays, Math.ceil((2 * attributionWindowHoursMax) / 24));
}

export interface RetentionDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
}

export interface DropDeps extends RetentionDeps {
  /** A connection without a time limit, which nothing else uses. */
  readonly detachSql: Sql;
}

/**
 * Drops the weeks that are old enough. Beside a long reader this takes as long as the reader. A partition that cannot be dropped is tried again the next
 * time and stops no other.
 */
export async function dropOldDeliveries({ sql, detachSql, clock, log }: DropDeps, keepDays: number): Promise<void> {
  await finishDropping(detachSql).catch((error: unknown) => log.error({ err: error }, 'a partition is not detached'));
  const cutoff = uuidFloorOf(new Date(clock.nowMs() - keepDays * dayMs));
  for (const partition of await listPartitions(sql)) {
    // Rows of this week may be younger than the cutoff. Rows of every later week are younger.
    if (partition.to > cutoff) break;
    try {
      const { isOpen, isOld } = await summarizeBatches(sql, clock, partition, keepDays);
      if (isOpen) log.warn({ partition: partition.name }, 'a batch of this week never ended: its deliveries are kept');
      if (isOpen || !isOld) continue;
      await dropPartition(detachSql, partition.name);
      log.info({ partition: partition.name }, 'deliveries of a week dropped');
    } catch (error) {
      log.error({ err: error, partition: partition.name }, 'deliveries not dropped');
    }
  }
}

/** Deletes the batches of a message whose deliveries are gone, 500 in a transaction. */
export async function removeBatches(sql: Sql, messageId: Uuid): Promise<void> {
  const batchesAtOnce = 500;
  for (let removed = batchesAtOnce; removed === batchesAtOnce; ) {
    removed = await transaction(sql, async (tx) => {
      const ids = await listFinishedBatches(tx, messageId, batchesAtOnce);
      await deleteEarlyReceipts(tx, ids);
      await deleteBatches(tx, ids);
      return ids.length;
    });
  }
}
