// Weekly partitions of `deliveries`, by the time inside `batch_id`. They are made four weeks ahead,
// so that no send waits for one. A batch id outside all partitions would fail its flush, so every
// start also makes the current week's partition. Dropping a partition takes no lock that a send
// would wait for.

import { getValue, type Sql, transaction } from '@carillon/postgres';
import { advisoryLocks } from '../../ground/database/advisory-locks.ts';
import { type Uuid, uuidFloorOf } from '../../ground/values/ids.ts';
import { listAttached, listDetached } from './retention-queries.ts';

const weekMs = 7 * 24 * 3_600_000;
const weeksAhead = 4;

/** 1970-01-05 was a Monday. Weeks begin on Monday 00:00 UTC. */
const firstMondayMs = 4 * 24 * 3_600_000;

export interface Partition {
  readonly name: string;
  /** The first batch id of this partition, and the first of the next. */
  readonly from: Uuid;
  readonly to: Uuid;
}

/**
 * The partitions that should exist at an instant: from last week's, because clocks differ, to four
 * weeks ahead.
 */
export function partitionsAround(nowMs: number): Partition[] {
  const current = Math.floor((nowMs - firstMondayMs) / weekMs);
  return Array.from({ length: weeksAhead + 2 }, (_, i) => {
    const startMs = (current - 1 + i) * weekMs + firstMondayMs;
    const day = new Date(startMs).toISOString().slice(0, 10).replaceAll('-', '');
    return {
      name: `deliveries_${day}`,
      from: uuidFloorOf(new Date(startMs)),
      to: uuidFloorOf(new Date(startMs + weekMs)),
    };
  });
}

/**
 * Creates the missing partitions. Safe at any time and from several processes: one works, and the
 * others wait. A table is made apart and then attached, because that lets reads and writes of the
 * other partitions continue. CREATE … PARTITION OF would lock all of them.
 */
export async function ensureDeliveryPartitions(sql: Sql, nowMs: number): Promise<void> {
  await transaction(sql, async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(${advisoryLocks.deliveryPartitions})`;
    await tx`SET LOCAL lock_timeout = '2s'`;
    for (const { name, from, to } of partitionsAround(nowMs)) {
      if (await getValue(tx`SELECT to_regclass(${name})`)) continue;
      // DDL takes no parameters. These names and bounds are made above, from numbers alone.
      await tx.unsafe(`CREATE TABLE ${name} (LIKE deliveries INCLUDING ALL)`);
      await tx.unsafe(`ALTER TABLE deliveries ATTACH PARTITION ${name} FOR VALUES FROM ('${from}') TO ('${to}')`);
    }
  });
}

const leavingComment = 'carillon: on its way out';

/** The attached partitions, oldest first. */
export async function listPartitions(sql: Sql): Promise<Partition[]> {
  const attached = await listAttached(sql);
  return attached
    .flatMap(({ name, bound, isLeaving }) => {
      const [, from, to] = /FROM \('([0-9a-f-]{36})'\) TO \('([0-9a-f-]{36})'\)/.exec(bound) ?? [];
      return from && to && !isLeaving ? [{ name, from, to }] : [];
    })
    .sort((a, b) => (a.from < b.from ? -1 : 1));
}

/**
 * Deletes a partition with its rows, over a connection without a time limit. DETACH … CONCURRENTLY
 * marks the partition, waits for transactions that may still see it, such as a `pg_dump`, and locks
 * only the partition. DROP TABLE alone would lock the parent, and with it every send.
 */
export async function dropPartition(sql: Sql, name: string): Promise<void> {
  // A table that an operator detached belongs to the operator. `finishDropping` drops only tables
  // with this comment.
  await sql.unsafe(`COMMENT ON TABLE ${name} IS '${leavingComment}'`);
  await sql.unsafe(`ALTER TABLE deliveries DETACH PARTITION ${name} CONCURRENTLY`);
  await sql.unsafe(`DROP TABLE ${name}`);
}

/**
 * Finishes the work of a process that died while it dropped a partition: the partition was marked
 * and not detached, or detached and not dropped. Waits for the same transactions.
 */
export async function finishDropping(sql: Sql): Promise<void> {
  for (const { name, isLeaving } of await listAttached(sql)) {
    if (isLeaving) await sql.unsafe(`ALTER TABLE deliveries DETACH PARTITION ${name} FINALIZE`);
  }
  for (const name of await listDetached(sql, leavingComment)) await sql.unsafe(`DROP TABLE ${name}`);
}
