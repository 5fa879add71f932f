// Sums, daily counts and the catalog are made anew from the events that are kept, a day at a time, while ingest goes on. What
// happened before retention's mark is left as it is: its events are gone, and its sums are all that is known.
import { type Sql, type Tx, transaction } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { propertiesPerNameMax } from './catalog-queries.ts';
import { aloneWithTotals } from './fold-totals.ts';
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
  /** Null: as far back as events are kept. Widened to whole days, in UTC. */
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

const waitMs = 200;

/**
 * Needs a pool whose statements may take as long as a day of events does. It may be repeated; ended in the middle, the days it had
 * come to are right, and the catalog's counts are with the next run.
 */
export async function rebuildEventTotals(sql: Sql, request: RebuildEventTotals): Promise<RebuiltEventTotals> {
  const { appId, onDay } = request;
  const total = { days: 0, events: 0 };
  for (const month of await monthsToRebuild(sql, request)) {
    for (const day of await listDaysOfEvents(sql, appId, month)) {
      const span = { from: day, to: new Date(day.getTime() + dayMs) };
      await waitAlone(sql, async () => {
        // Asked under the lock: retention may have taken it since.
        const keptSince = await findKeptSince(sql);
        if (keptSince !== null && day < keptSince) return;
        total.events += await rebuildDay(sql, appId, span);
        total.days++;
      });
      onDay?.(day);
    }
  }
  await waitAlone(sql, () =>
    transaction(sql, async (tx) => {
      await upsertEventNames(tx, appId);
      await deleteEventNames(tx, appId);
    }),
  );
  return total;
}

// The parts of months that are to be done, oldest first.
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
    // One snapshot: what a request commits after it is in the deltas that stay, and not among the events that are counted.
    await tx.unsafe('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    await deleteDeltas(tx, appId, day);
    await deleteRollups(tx, appId, day);
    return insertRollups(tx, appId, day);
  });
  const repair = (): Promise<boolean> =>
    transaction(sql, async (tx) => {
      // A day that was written since statistics were taken looks empty: then the planner would hold each of its rows against each.
      await tx`SET LOCAL enable_nestloop = off`;
      return repairDayCounts(tx, appId, day);
    });
  if (await repair()) await repair();
  await addMissingProperties(sql, appId, day, propertiesPerNameMax);
  return events;
}

// A fold takes well under a second; taking a month away may take minutes.
async function waitAlone(sql: Sql, work: () => Promise<void>): Promise<void> {
  while (!(await aloneWithTotals(sql, work))) await new Promise((resolve) => setTimeout(resolve, waitMs));
}
