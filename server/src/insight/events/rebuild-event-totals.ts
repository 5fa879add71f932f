// Builds sums, daily counts and the catalog again from the stored events, a day at a time, while
// ingest continues. Days before retention's mark are not changed, because their events are deleted
// and only the sums are left.
import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import { propertiesPerNameMax } from './catalog-queries.ts';
import { waitAloneWithTotals } from './fold-totals.ts';
import { findKeptSince } from './retention-queries.ts';
import { monthOf } from './spans.ts';
import { dayMs } from './totals.ts';
import {
  addMissingProperties,
  deleteDeltas,
  deleteEventNames,
  deleteRollups,
  findTimesOfEvents,
  insertRollups,
  listDaysOfEvents,
  repairDayCounts,
  type Span,
  upsertEventNames,
} from './totals-queries.ts';

export interface RebuildEventTotals {
  readonly appId: Uuid;
  /** Null: as far back as events are kept. Rounded down to whole days in UTC. */
  readonly from: Date | null;
  /** Null: until now. */
  readonly to: Date | null;
  /** Called after each day, with its first instant. */
  readonly onDay?: (day: Date) => void;
}

export interface RebuiltEventTotals {
  readonly days: number;
  readonly events: number;
}

/**
 * Rebuilds the totals of an app. Needs a pool whose statements may take as long as a day of events
 * needs. May be repeated. After an interruption the finished days are correct, and the next run
 * corrects the catalog's counts.
 */
export async function rebuildEventTotals(sql: Sql, request: RebuildEventTotals): Promise<RebuiltEventTotals> {
  const { appId, onDay } = request;
  const total = { days: 0, events: 0 };
  for (const month of await monthsToRebuild(sql, request)) {
    for (const day of await listDaysOfEvents(sql, appId, month)) {
      const span = { from: day, to: new Date(day.getTime() + dayMs) };
      await waitAloneWithTotals(sql, async () => {
        // Read under the lock, because retention may have deleted this day since.
        const keptSince = await findKeptSince(sql);
        if (keptSince !== null && day < keptSince) return;
        total.events += await rebuildDay(sql, appId, span);
        total.days++;
      });
      onDay?.(day);
    }
  }
  await waitAloneWithTotals(sql, () =>
    transaction(sql, async (tx) => {
      await upsertEventNames(tx, appId);
      await deleteEventNames(tx, appId);
    }),
  );
  return total;
}

// The parts of months to rebuild, oldest first.
async function monthsToRebuild(sql: Sql, { appId, from, to }: RebuildEventTotals): Promise<Span[]> {
  const times = await findTimesOfEvents(sql, appId);
  if (times === null) return [];
  const first = Math.max(...[times.first, await findKeptSince(sql), from].map((date) => date?.getTime() ?? 0));
  const end = Math.min(times.last.getTime() + 1, to?.getTime() ?? Number.POSITIVE_INFINITY);
  const wholeFrom = Math.floor(first / dayMs) * dayMs;
  const wholeTo = Math.ceil(end / dayMs) * dayMs;
  const spans: Span[] = [];
  for (let at = wholeFrom; at < wholeTo; ) {
    const next = Math.min(monthOf(at).to.getTime(), wholeTo);
    spans.push({ from: new Date(at), to: new Date(next) });
    at = next;
  }
  return spans;
}

async function rebuildDay(sql: Sql, appId: Uuid, day: Span): Promise<number> {
  const events = await transaction(sql, async (tx: Tx) => {
    // One snapshot: a request that commits after it has its deltas kept, and its events are not
    // counted here.
    await tx.unsafe('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    await deleteDeltas(tx, appId, day);
    await deleteRollups(tx, appId, day);
    return insertRollups(tx, appId, day);
  });
  const repair = (): Promise<boolean> =>
    transaction(sql, async (tx) => {
      // A day that was written after the last statistics looks empty to the planner, which would
      // choose a nested loop that compares every row with every other.
      await tx`SET LOCAL enable_nestloop = off`;
      return repairDayCounts(tx, appId, day);
    });
  if (await repair()) await repair();
  await addMissingProperties(sql, appId, day, propertiesPerNameMax);
  return events;
}
