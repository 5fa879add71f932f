// Retention of events: whole partitions are dropped with their daily counts and ids when the last
// event of a partition is old enough. The sums of reports stay.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Log } from '../../ground/host/log.ts';
import { aloneWithTotals } from './fold-totals.ts';
import { dropPartition, listSpans, partitionedTables } from './partitions.ts';
import {
  deleteDays,
  deleteEventKeys,
  deleteEvents,
  findKeptSince,
  findOldestEvent,
  raiseKeptSince,
} from './retention-queries.ts';
import { monthOf, type Times } from './spans.ts';
import { dayMs } from './totals.ts';

export interface EventRetentionDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
}

const hourMs = 3_600_000;

/**
 * Deletes events that are older than `keepDays`. A partition that cannot be dropped now is dropped
 * at a later run.
 */
export async function dropOldEvents({ sql, clock, log }: EventRetentionDeps, keepDays: number): Promise<void> {
  const { from: keptSince } = monthOf(clock.nowMs() - keepDays * dayMs);
  // Runs under the lock, so that no rebuild finds a month empty that is being dropped.
  await aloneWithTotals(sql, async () => {
    const keptBefore = await findKeptSince(sql);
    const going = (await listSpans(sql, 'events')).filter(({ from }) => from < keptSince);
    // The mark is set first, so that no rebuild sums up a month that may be half deleted.
    await raiseKeptSince(sql, keptSince);
    for (const table of partitionedTables) {
      for (const { name, from, to } of await listSpans(sql, table)) {
        if (from >= keptSince) break;
        // A partition of a year is dropped when all of it may go; before, its old rows are deleted.
        if (to > keptSince) await deleteOld(sql, table, { from, to: keptSince });
        else if (await dropPartition(sql, name)) log.info({ partition: name }, 'events of a partition dropped');
        else log.warn({ partition: name }, 'somebody reads events all the time: a partition is dropped later');
      }
    }
    await forgetIds(sql, keptBefore === null ? going : [{ from: keptBefore, to: keptSince }], keptSince);
  });
}

// Deletes a day at a time, so that no statement takes long. There are fewer daily counts, so one
// statement deletes them.
async function deleteOld(sql: Sql, table: (typeof partitionedTables)[number], old: Times): Promise<void> {
  if (table === 'subject_events') return deleteDays(sql, old);
  const oldest = await findOldestEvent(sql, old);
  for (let at = oldest?.getTime() ?? Number.POSITIVE_INFINITY; at < old.to.getTime(); at += dayMs) {
    await deleteEvents(sql, { from: new Date(at), to: new Date(Math.min(at + dayMs, old.to.getTime())) });
  }
}

// Deletes first the few ids from before the kept spans. Then it deletes an hour at a time, or a day
// at a time for a year.
async function forgetIds(sql: Sql, spans: readonly Times[], until: Date): Promise<void> {
  const first = spans[0]?.from ?? until;
  await deleteEventKeys(sql, null, first < until ? first : until);
  for (const { from, to } of spans) {
    const end = Math.min(to.getTime(), until.getTime());
    const stepMs = end - from.getTime() > 31 * dayMs ? dayMs : hourMs;
    for (let at = from.getTime(); at < end; at += stepMs) {
      await deleteEventKeys(sql, new Date(at), new Date(Math.min(at + stepMs, end)));
    }
  }
}
