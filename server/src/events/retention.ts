// How long events are kept, and how they go: by whole months, with their daily counts and their ids, when the last of the month is
// old enough. The sums of reports stay.
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import { aloneWithTotals } from './fold-totals.ts';
import { dropPartition, listMonths, monthOf, partitionedTables } from './partitions.ts';
import {
  deleteDaysOutside,
  deleteEventKeys,
  deleteEventsOutside,
  findKeptSince,
  findOldestOutside,
  raiseKeptSince,
} from './retention-queries.ts';
import { dayMs } from './totals.ts';

export interface EventRetentionDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
}

const hourMs = 3_600_000;

/** Removes the months that are old enough. What cannot go now stays for the next time. */
export async function dropOldEvents({ sql, clock, log }: EventRetentionDeps, keepDays: number): Promise<void> {
  const { from: keptSince } = monthOf(clock.nowMs() - keepDays * dayMs);
  // Alone: whoever sums up anew must not take a month for empty that is on its way out.
  await aloneWithTotals(sql, async () => {
    const [oldest] = await listMonths(sql, 'events');
    const idsSince = (await findKeptSince(sql)) ?? oldest?.from ?? keptSince;
    // Said before it is done: of a month that may be half gone nothing is summed up again.
    await raiseKeptSince(sql, keptSince);
    for (const table of partitionedTables) {
      for (const { name, to } of await listMonths(sql, table)) {
        if (to > keptSince) break;
        if (await dropPartition(sql, name)) log.info({ partition: name }, 'events of a month dropped');
        else log.warn({ partition: name }, 'somebody reads events all the time: a month is dropped later');
      }
    }
    await deleteOutside(sql, keptSince);
    await forgetIds(sql, idsSince, keptSince);
  });
}

// A day at a time, so that no statement takes long; of the daily counts there are fewer.
async function deleteOutside(sql: Sql, keptSince: Date): Promise<void> {
  const oldest = await findOldestOutside(sql);
  for (let at = oldest?.getTime() ?? Number.POSITIVE_INFINITY; at < keptSince.getTime(); at += dayMs) {
    await deleteEventsOutside(sql, new Date(Math.min(at + dayMs, keptSince.getTime())));
  }
  await deleteDaysOutside(sql, keptSince);
}

// First what is older than all that was kept until now, which is little; then an hour at a time.
async function forgetIds(sql: Sql, since: Date, until: Date): Promise<void> {
  await deleteEventKeys(sql, null, since < until ? since : until);
  for (let at = since.getTime(); at < until.getTime(); at += hourMs) {
    await deleteEventKeys(sql, new Date(at), new Date(Math.min(at + hourMs, until.getTime())));
  }
}
