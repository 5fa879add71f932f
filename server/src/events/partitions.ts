// Partitions of `events` and `subject_events`, by the time the events happened: a few months made ahead, and any other when the first
// event of it comes. There is no DEFAULT partition, which every new one would have to look through while it keeps all others
// waiting. Both tables of a time go away together, without a lock that ingest would wait for.
import { type Sql, type Tx, transaction } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import { findKeptSince, isNameTaken, listAttachedSpans } from './retention-queries.ts';
import { missingSpan, monthsAround, type Span } from './spans.ts';

const storage = {
  // What vacuum has not come to, whoever looks for a person's events reads whole.
  events: 'autovacuum_vacuum_insert_scale_factor = 0.05',
  // A row of daily counts is written again and again on its day: with room on its page no index has to follow.
  subject_events: 'fillfactor = 80',
} as const;

/** Any number that nothing else in this database locks. */
const advisoryLock = 4_271_960_140;

export const partitionedTables = ['events', 'subject_events'] as const;
type PartitionedTable = (typeof partitionedTables)[number];

const waitMs = 2_000;

/** Creates the partitions of the months around an instant. Safe to run at any time and from several processes. */
export async function ensureEventPartitions(
  sql: Sql,
  { nowMs = Date.now(), log }: { readonly nowMs?: number; readonly log?: Log } = {},
): Promise<void> {
  for (const { name, from } of monthsAround(nowMs, await findKeptSince(sql))) {
    try {
      await ensurePartitionsAt(sql, { atMs: from.getTime(), nowMs, waitMs });
    } catch (error) {
      if ((error as { code?: unknown }).code !== '55P03') throw error;
      // Somebody else changes the table: the rest is for the next time. There are months ahead, and what an event lacks it gets.
      log?.warn({ month: name }, 'a partition of events is made later: their table is being altered or analyzed');
      return;
    }
  }
}

/**
 * Creates what is missing for events of an instant. A table is made apart and then attached, so that reads and writes of the others
 * go on; rejects with 55P03 where an ANALYZE or an ALTER of the whole table does not let it for so long.
 */
export async function ensurePartitionsAt(
  sql: Sql,
  { atMs, nowMs, waitMs }: { readonly atMs: number; readonly nowMs: number; readonly waitMs: number },
): Promise<void> {
  await transaction(sql, async (tx) => {
    await tx.unsafe(`SET LOCAL lock_timeout = '${waitMs}ms'`);
    await tx`SELECT pg_advisory_xact_lock(${advisoryLock})`;
    for (const table of partitionedTables) {
      const span = missingSpan(atMs, nowMs, (await listAttachedSpans(tx, table)).flatMap(readSpan));
      if (span === null) continue;
      const name = await freeName(tx, `${table}_${span.name}`);
      const bounds = `FROM ('${span.from.toISOString()}') TO ('${span.to.toISOString()}')`;
      // Names and bounds are made from numbers alone; DDL takes no parameters.
      await tx.unsafe(`CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL) WITH (${storage[table]})`);
      await tx.unsafe(`ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES ${bounds}`);
    }
  });
}

// What somebody has detached, to keep it, has its name still.
async function freeName(tx: Tx, wanted: string): Promise<string> {
  for (let number = 1; ; number++) {
    const name = number === 1 ? wanted : `${wanted}_${number}`;
    if (!(await isNameTaken(tx, name))) return name;
  }
}

/** Is this the error of a row for whose time there is no partition? */
export function lacksPartition(error: unknown): boolean {
  const { code, constraint_name: constraint } = error as { code?: unknown; constraint_name?: unknown };
  return code === '23514' && constraint === undefined;
}

/** How long a drop may stand in the way of those who come after it. */
const lockTimeoutMs = 100;
const attemptsMax = 20;
const pauseMs = 500;

/**
 * Takes a partition away, rows and all; true when it is done. For a moment the whole table is locked: asked for briefly and often,
 * since whoever comes after waits as long as the one who asks. Where somebody reads all the time, it is left for the next time.
 */
export async function dropPartition(sql: Sql, name: string): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      await transaction(sql, async (tx) => {
        await tx.unsafe(`SET LOCAL lock_timeout = '${lockTimeoutMs}ms'`);
        await tx.unsafe(`DROP TABLE ${name}`);
      });
      return true;
    } catch (error) {
      if ((error as { code?: unknown }).code !== '55P03') throw error;
      if (attempt === attemptsMax) return false;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** The partitions of a table, oldest first. Those of any other form are somebody else's. */
export async function listSpans(sql: Sql, table: PartitionedTable): Promise<Span[]> {
  const attached = await listAttachedSpans(sql, table);
  return attached.flatMap(readSpan).sort((a, b) => a.from.getTime() - b.from.getTime());
}

/** `name` is the table's own. */
function readSpan({ name, bound }: { readonly name: string; readonly bound: string }): Span[] {
  const [, from, to] = /FROM \('(\d{4}-\d\d-\d\d)[^']*'\) TO \('(\d{4}-\d\d-\d\d)[^']*'\)/.exec(bound) ?? [];
  return from && to ? [{ name, from: new Date(from), to: new Date(to) }] : [];
}
