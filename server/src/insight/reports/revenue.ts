// Revenue by class and by message (contract 11), from the sums of settled events and by classing
// the unsettled ones. With a window that is not the app's, or for a segment, all events are classed
// from stored deliveries.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { noSuch } from '../../ground/http/api-error.ts';
import { parseDecimal } from '../../ground/values/decimal.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import type { CheckedFilter } from '../../people/audience/check-filter.ts';
import { getAttributionWindowHours } from '../../teams/apps/queries.ts';
import { findKeptSince } from '../events/retention-queries.ts';
import { type AttributedName, attributedNames } from './attribution.ts';
import { findSettled } from './attribution-queries.ts';
import { type ClassedSums, createClassedSums } from './classed-sums.ts';
import { cutAt, quarterMs, type Range, type SplitRange, splitRange } from './periods.ts';
import {
  type Cut,
  isKnownMessage,
  listMessageRevenue,
  type MessageRevenue,
  type MessageRevenueAsked,
  sumEvents,
  sumSettledCredits,
} from './queries.ts';
import { openCredits } from './read-credits.ts';
import { checkWindow, classedSinceMs } from './report-request.ts';
import { selectSegment } from './select-segment.ts';
import { type ReportReader, snapshot } from './snapshot.ts';

export interface RevenueDeps extends ReportReader {
  readonly clock: Clock;
  readonly retentionDays: number;
}

export interface RevenueAsked {
  readonly appId: Uuid;
  readonly range: Range;
  /** The parts of the range that have sums of their own, in order and without gaps. */
  readonly periods: readonly Range[];
  /** Null: the app's own window. */
  readonly windowHours: number | null;
  readonly messageId: Uuid | null;
  readonly segment: CheckedFilter | null;
  /**
   * The names to class: a reader of purchases does not wait for installs and sessions. Default:
   * all.
   */
  readonly names?: readonly AttributedName[];
  readonly after: MessageRevenueAsked['after'];
  /** Rows by message. */
  readonly limit: number;
}

export interface RevenueReport {
  readonly windowHours: number;
  /**
   * False when installs and sessions cannot be classed, because deliveries of the range are
   * deleted.
   */
  readonly knowsCounts: boolean;
  readonly periods: readonly Range[];
  readonly sums: ClassedSums;
  readonly messages: readonly MessageRevenue[];
}

const hourMs = 3_600_000;

/** Throws the 400 for a window that needs deleted deliveries. The app's own window needs none. */
export async function checkAskedWindow(
  deps: RevenueDeps,
  { appId, range, windowHours }: Pick<RevenueAsked, 'appId' | 'range' | 'windowHours'>,
): Promise<void> {
  if (windowHours === null || windowHours === (await getAttributionWindowHours(deps.sql, appId))) return;
  checkWindow(deps, range, windowHours);
}

/** Reports revenue. Throws the 404 for a message that never existed. */
export async function reportRevenue(deps: RevenueDeps, asked: RevenueAsked): Promise<RevenueReport> {
  const { clock } = deps;
  const { appId, range, periods, messageId, segment, names: askedNames = attributedNames, after, limit } = asked;
  return snapshot(deps, async (tx) => {
    const appHours = await getAttributionWindowHours(tx, appId);
    const windowHours = asked.windowHours ?? appHours;
    if (messageId !== null && !(await isKnownMessage(tx, appId, messageId)))
      throw noSuch('message', encodeId('msg', messageId));
    const usesStored = windowHours === appHours && segment === null;
    const settled = await findSettled(tx, appId);
    const settledMs = windowHours === appHours ? settled.get('purchase')?.at.getTime() : undefined;
    const parts = cutAt(periods, openSinceMs(clock, windowHours, settledMs));
    const cutPeriods = parts.map(({ part }) => part);
    const credits = await openCredits(
      { tx, clock, appId },
      { windowHours, periods: cutPeriods, settled, usesAhead: usesStored },
    );
    const sums = createClassedSums(parts);
    let split: SplitRange | null = null;
    let knowsCounts = true;
    if (usesStored) {
      const eventsSinceMs = (await findKeptSince(tx))?.getTime() ?? Number.NEGATIVE_INFINITY;
      split = splitRange(range, eventsSinceMs);
      // Part of a quarter is classed from deliveries. When these are deleted, the quarter counts
      // completely or not at all.
      const countSplit = splitRange(range, Math.max(eventsSinceMs, classedSinceMs(deps, windowHours)));
      for (const name of askedNames) {
        const cut = { periods: cutPeriods, split: name === 'purchase' ? split : countSplit };
        await addStored(tx, sums, { appId, name, messageId }, cut);
        const settledToMs = settled.get(name)?.at.getTime() ?? 0;
        await credits.readUnsettled(name, cut.split.inner);
        for (const edge of cut.split.edges) {
          // Each settled purchase is stored and is found at the ends of a range too. For other
          // names only sums are stored.
          if (name === 'purchase' || settledToMs < edge.fromMs) await credits.readUnsettled(name, edge);
          else await credits.readAll(name, edge);
        }
      }
    } else {
      // Settled purchases keep their classes, because each is stored. For installs and sessions
      // only sums are stored.
      knowsCounts = range.fromMs >= classedSinceMs(deps, windowHours);
      const names = knowsCounts ? askedNames : (['purchase'] as const);
      const keepsClasses = windowHours === appHours;
      const select = segment
        ? await selectSegment({ tx, clock, appId }, { segment, names, range, keepsClasses })
        : undefined;
      for (const name of names) await credits.readAll(name, range, select);
    }
    const isOfMessage = (row: { messageId: Uuid | null }): boolean => messageId === null || row.messageId === messageId;
    const tallied = credits.tally.rows().filter(isOfMessage);
    for (const row of tallied) {
      // Otherwise the stored totals include these events already, and the unattributed part is the
      // rest of the totals.
      if (split === null || messageId !== null) sums.add('total', row);
      if (row.class !== 'unattributed') sums.add(row.class, row);
    }
    const messages = await listMessageRevenue(tx, { appId, split, tallied, messageId, after, limit });
    return { windowHours, knowsCounts, periods, sums, messages };
  });
}

/**
 * The instant from which on the classes of purchases are provisional (contract 11): their windows
 * are open, and they are not settled. Purchases that were settled under a shorter window stay
 * settled. Rounded down to the quarter of an hour, because sums are stored by quarters.
 */
function openSinceMs(clock: Clock, windowHours: number, settledMs = 0): number {
  return Math.floor(Math.max(clock.nowMs() - windowHours * hourMs, settledMs) / quarterMs) * quarterMs;
}

/** Adds the stored totals of events, and the credits of settled ones. */
async function addStored(
  tx: Tx,
  sums: ClassedSums,
  { appId, name, messageId }: { readonly appId: Uuid; readonly name: AttributedName; readonly messageId: Uuid | null },
  cut: Cut,
): Promise<void> {
  if (messageId === null) {
    for (const row of await sumEvents(tx, appId, [name], cut)) {
      sums.add('total', { ...row, amount: parseDecimal(row.amount) });
    }
  }
  for (const row of await sumSettledCredits(tx, appId, name, cut, messageId)) {
    const sum = { ...row, amount: parseDecimal(row.amount) };
    if (messageId !== null) sums.add('total', sum);
    sums.add(row.class, sum);
  }
}
