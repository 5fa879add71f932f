// Partitions of `events` and `subject_events`, by the time at which events happened. A few months
// are created ahead, and any other partition when its first event arrives. There is no DEFAULT
// partition: creating a partition would scan it while it blocks everything else. The partitions of
// both tables are dropped together, without a lock that ingest waits for.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Sql, type Tx, transaction } from '@carillon/postgres';
import { advisoryLocks } from '../../ground/database/advisory-locks.ts';
import type { Log } from '../../ground/host/log.ts';
import { findKeptSince, isNameTaken, listAttachedSpans } from './retention-queries.ts';
import { missingSpan, monthsAround, type Span } from './spans.ts';

const storage = {
  // A search for one person's events reads pages completely that vacuum has not processed yet.
  events: 'autovacuum_vacuum_insert_scale_factor = 0.05',
  // A row of daily counts is updated repeatedly on its day. Free room on its page avoids updates of
  // the indexes.
  subject_events: 'fillfactor = 80',
} as const;

export const partitionedTables = ['events', 'subject_events'] as const;
type PartitionedTable = (typeof partitionedTables)[number];

const waitMs = 2_000;

/**
 * Creates the partitions of the months around an instant. Safe at any time and from several
 * processes.
 */
export async function ensureEventPartitions(
  sql: Sql,
  { nowMs, log }: { readonly nowMs: number; readonly log?: Log },
): Promise<void> {
  for (const { name, from } of monthsAround(nowMs, await findKeptSince(sql))) {
    try {
      await ensurePartitionsAt(sql, { atMs: from.getTime(), nowMs, waitMs });
    } catch (error) {
      if ((error as { code?: unknown }).code !== '55P03') throw error;
      // Another session changes the table. The rest is created at the next run. Until then months
      // ahead exist, and an event without a partition gets one.
      log?.warn({ month: name }, 'a partition of events is made later: their table is being altered or analyzed');
      return;
    }
  }
}

/**
 * Creates the missing partitions for events of an instant. A table is created separately and then
 * attached, so that reads and writes of the other partitions continue. Rejects with 55P03 when an
 * ANALYZE or ALTER of the whole table blocks it for `waitMs`.
 */
export async function ensurePartitionsAt(
  sql: Sql,
  { atMs, nowMs, waitMs }: { readonly atMs: number; readonly nowMs: number; readonly waitMs: number },
): Promise<void> {
  await transaction(sql, async (tx) => {
    await tx.unsafe(`SET LOCAL lock_timeout = '${waitMs}ms'`);
    await tx`SELECT pg_advisory_xact_lock(${advisoryLocks.eventPartitions})`;
    for (const table of partitionedTables) {
      const span = missingSpan(atMs, nowMs, (await listAttachedSpans(tx, table)).flatMap(readSpan));
      if (span === null) continue;
      const name = await freeName(tx, `${table}_${span.name}`);
      const bounds = `FROM ('${span.from.toISOString()}') TO ('${span.to.toISOString()}')`;
      // Names and bounds are built from numbers only, because DDL takes no parameters.
      await tx.unsafe(`CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL) WITH (${storage[table]})`);
      await tx.unsafe(`ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES ${bounds}`);
    }
  });
}

// A partition that an operator detached to keep it still has its name.
async function freeName(tx: Tx, wanted: string): Promise<string> {
  for (let number = 1; ; number++) {
    const name = number === 1 ? wanted : `${wanted}_${number}`;
    if (!(await isNameTaken(tx, name))) return name;
  }
}

/** Returns whether the error is that of a row for whose time there is no partition. */
export function lacksPartition(error: unknown): boolean {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  return code === '23514' && constraint === undefined;
}

/**
 * Milliseconds that a drop may wait for its lock, because every later statement waits behind it.
 */
const lockTimeoutMs = 100;
const roundsMax = 20;
const pauseMs = 500;

/**
 * Drops a partition with its rows; returns true when it is done. The whole table is locked for a
 * moment. The lock is requested briefly and repeatedly, because every later statement waits as long
 * as the request does. If readers never pause, the partition is dropped at a later run.
 */
export async function dropPartition(sql: Sql, name: string): Promise<boolean> {
  for (let round = 1; ; round++) {
    try {
      await transaction(sql, async (tx) => {
        await tx.unsafe(`SET LOCAL lock_timeout = '${lockTimeoutMs}ms'`);
        await tx.unsafe(`DROP TABLE ${name}`);
      });
      return true;
    } catch (error) {
      if ((error as { code?: unknown }).code !== '55P03') throw error;
      if (round === roundsMax) return false;
      await sleep(pauseMs);
    }
  }
}

/**
 * Lists the partitions of a table, oldest first. Partitions of another form were created by
 * somebody else and are omitted.
 */
export async function listSpans(sql: Sql, table: PartitionedTable): Promise<Span[]> {
  const attached = await listAttachedSpans(sql, table);
  return attached.flatMap(readSpan).sort((a, b) => a.from.getTime() - b.from.getTime());
}

/** `name` is the name of the partition's table. */
function readSpan({ name, bound }: { readonly name: string; readonly bound: string }): Span[] {
  const [, from, to] = /FROM \('(\d{4}-\d\d-\d\d)[^']*'\) TO \('(\d{4}-\d\d-\d\d)[^']*'\)/.exec(bound) ?? [];
  return from && to ? [{ name, from: new Date(from), to: new Date(to) }] : [];
}
