// Weekly partitions of `deliveries`, by the time inside `batch_id`. Made four weeks ahead, so that a send never waits for
// one; a batch id outside all of them would fail its flush, so the current week is made at every start too. Taken away without
// a lock that a send would wait for.
import { type Sql, transaction } from '../platform/db.ts';
import { type Uuid, uuidFloorOf } from '../platform/ids.ts';
import { listAttached, listDetached } from './retention-queries.ts';

const weekMs = 7 * 24 * 3_600_000;
const weeksAhead = 4;

/** 1970-01-05 was a Monday: weeks begin there, in UTC. */
const firstMondayMs = 4 * 24 * 3_600_000;

export interface Partition {
  readonly name: string;
  /** The first batch id in it, and the first after it. */
  readonly from: Uuid;
  readonly to: Uuid;
}

/** The partitions that should exist at an instant: last week's, for clocks that differ, to four weeks ahead. */
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

/** Any number that nothing else in this database locks. */
const advisoryLock = 4_271_960_119;

/**
 * Creates the missing partitions. Safe to run at any time and from several processes: one works, the others wait and find them
 * made. A table is made apart and then attached, which lets reads and writes of the others go on; CREATE … PARTITION OF would
 * lock them all.
 */
export async function ensureDeliveryPartitions(sql: Sql, nowMs: number = Date.now()): Promise<void> {
  await transaction(sql, async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(${advisoryLock})`;
    await tx`SET LOCAL lock_timeout = '2s'`;
    for (const { name, from, to } of partitionsAround(nowMs)) {
      const [existing] = await tx`SELECT to_regclass(${name}) AS found`;
      if (existing?.['found']) continue;
      // Names and bounds are made above from numbers alone; DDL takes no parameters.
      await tx.unsafe(`CREATE TABLE ${name} (LIKE deliveries INCLUDING ALL)`);
      await tx.unsafe(`ALTER TABLE deliveries ATTACH PARTITION ${name} FOR VALUES FROM ('${from}') TO ('${to}')`);
    }
  });
}

const leavingComment = 'carillon: on its way out';

/** The partitions there are, oldest first. */
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
 * Takes a partition away, rows and all. DETACH … CONCURRENTLY marks it first, waits for the transactions that may still see it
 * without standing in anybody's way, and locks the partition alone; DROP TABLE would lock the parent, and with it every send.
 */
export async function dropPartition(sql: Sql, name: string): Promise<void> {
  // What an operator detached is theirs: only a table that says so is dropped by those who find it detached.
  await sql.unsafe(`COMMENT ON TABLE ${name} IS '${leavingComment}'`);
  await sql.unsafe(`ALTER TABLE deliveries DETACH PARTITION ${name} CONCURRENTLY`);
  await sql.unsafe(`DROP TABLE ${name}`);
}

/** Finishes what a process left that died while it took a partition away: marked and not detached, or detached and not dropped. */
export async function finishDropping(sql: Sql): Promise<void> {
  for (const { name, isLeaving } of await listAttached(sql)) {
    if (isLeaving) await sql.unsafe(`ALTER TABLE deliveries DETACH PARTITION ${name} FINALIZE`);
  }
  for (const name of await listDetached(sql, leavingComment)) await sql.unsafe(`DROP TABLE ${name}`);
}
