// Monthly partitions of `events` and `subject_events`, by the time the events happened. Made ahead, so that both tables of a month
// go away together and no event waits for one; what is older than all of them stands in the DEFAULT partitions. Taken away without
// a lock that ingest would wait for.
import { type Sql, transaction } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import { findKeptSince, listAttachedMonths } from './retention-queries.ts';

/** Events of an app that goes live bring some of the past along. */
const monthsBack = 3;
const monthsAhead = 2;

/** Any number that nothing else in this database locks. */
const advisoryLock = 4_271_960_140;

export interface Month {
  /** As tables are named after it: `202611`. */
  readonly name: string;
  readonly from: Date;
  readonly to: Date;
}

/** The month, in UTC, that an instant lies in, or one so many before or after it. */
export function monthOf(ms: number, offset = 0): Month {
  const at = new Date(ms);
  const from = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + offset));
  const to = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + offset + 1));
  return { name: from.toISOString().slice(0, 7).replace('-', ''), from, to };
}

/** The months that should have partitions at an instant: not those that retention has taken. */
export function monthsAround(nowMs: number, keptSince: Date | null): Month[] {
  const months = Array.from({ length: monthsBack + 1 + monthsAhead }, (_, i) => monthOf(nowMs, i - monthsBack));
  return months.filter(({ to }) => keptSince === null || to > keptSince);
}

export const partitionedTables = ['events', 'subject_events'] as const;

/**
 * Creates the missing partitions. Safe to run at any time and from several processes. A table is made apart and then attached, which
 * lets reads and writes of the others go on; for that moment the DEFAULT partition is locked and looked through.
 */
export async function ensureEventPartitions(
  sql: Sql,
  { nowMs = Date.now(), log }: { readonly nowMs?: number; readonly log?: Log } = {},
): Promise<void> {
  for (const month of monthsAround(nowMs, await findKeptSince(sql))) {
    for (const table of partitionedTables) {
      try {
        await makePartition(sql, table, month);
      } catch (error) {
        const { code } = error as { code?: unknown };
        // Somebody reads for long: the rest is for the next time. There are months ahead, and the DEFAULT partition.
        if (code === '55P03') {
          log?.warn({ table, month: month.name }, 'a partition is made later: the table is being read');
          return;
        }
        if (code !== '23514') throw error;
        // Events of this month came while it had no partition: they stay where they are, and so do all of that month.
        log?.warn(
          { table, month: month.name },
          'the DEFAULT partition has rows of this month: it gets none of its own',
        );
      }
    }
  }
}

async function makePartition(sql: Sql, table: (typeof partitionedTables)[number], month: Month): Promise<void> {
  const name = `${table}_${month.name}`;
  await transaction(sql, async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(${advisoryLock})`;
    const [existing] = await tx`SELECT to_regclass(${name}) AS found`;
    if (existing?.['found']) return;
    await tx`SET LOCAL lock_timeout = '2s'`;
    // A row of daily counts is written again and again on its day: with room on its page no index has to follow.
    const storage = table === 'subject_events' ? 'WITH (fillfactor = 80)' : '';
    const bounds = `FROM ('${month.from.toISOString()}') TO ('${month.to.toISOString()}')`;
    // Names and bounds are made above from numbers alone; DDL takes no parameters.
    await tx.unsafe(`CREATE TABLE ${name} (LIKE ${table} INCLUDING ALL) ${storage}`);
    await tx.unsafe(`ALTER TABLE ${table} ATTACH PARTITION ${name} FOR VALUES ${bounds}`);
  });
}

/** How long a drop may stand in the way of those who come after it. */
const lockTimeoutMs = 100;
const attemptsMax = 20;
const pauseMs = 500;

/**
 * Takes partitions away, rows and all; true when it is done. Beside a DEFAULT partition PostgreSQL detaches none concurrently, so
 * for a moment the table is locked: asked for briefly and often, since whoever comes after waits as long as the one who asks. Where
 * somebody reads all the time, it is left for the next time.
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

export interface MonthPartition {
  readonly name: string;
  /** The first instant in it, and the first after it. */
  readonly from: Date;
  readonly to: Date;
}

/** The months there are of a table, oldest first. Partitions of any other form are somebody else's. */
export async function listMonths(sql: Sql, table: (typeof partitionedTables)[number]): Promise<MonthPartition[]> {
  const attached = await listAttachedMonths(sql, table);
  return attached
    .flatMap(({ name, bound }) => {
      const [, from, to] = /FROM \('(\d{4}-\d\d-\d\d)[^']*'\) TO \('(\d{4}-\d\d-\d\d)[^']*'\)/.exec(bound) ?? [];
      return from && to ? [{ name, from: new Date(from), to: new Date(to) }] : [];
    })
    .sort((a, b) => a.from.getTime() - b.from.getTime());
}
