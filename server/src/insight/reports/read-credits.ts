// Reads the credits of unsettled events: credits that were classed ahead, and otherwise the events
// themselves, classed now chunk by chunk from the stored deliveries. Writes nothing and keeps only
// the sums.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { parseDecimal } from '../../ground/values/decimal.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { AttributedName } from './attribution.ts';
import type { AttributableEvent } from './attribution-queries.ts';
import { classBetween, notWithin, type Selection } from './class-between.ts';
import { type Between, type Marks, noEvent } from './marks.ts';
import { findOpen, type Open } from './open-events.ts';
import { sumOpenCredits } from './open-queries.ts';
import { periodIndexOf, type Range } from './periods.ts';
import { reportMsMax, tooLong } from './snapshot.ts';
import { createTally, type Tally } from './tally.ts';

/**
 * The number of events that a report classes at once. Their deliveries take about ten megabytes in
 * the process.
 */
const atOnce = 16_000;

const hourMs = 3_600_000;

/** A reader of one app's credits, in one snapshot for everything that a report reads. */
export interface CreditReader {
  /** The credits that were read. */
  readonly tally: Tally;
  /**
   * Reads the unsettled events of a range. Credits that were classed ahead are of credited events
   * only, so unattributed events may be missing from the tally.
   */
  readUnsettled(name: AttributedName, range: Range): Promise<void>;
  /** Classes all events of a range, or those that `select` selects. */
  readAll(name: AttributedName, range: Range, select?: Select): Promise<void>;
}

export type Select = (events: readonly AttributableEvent[], name: AttributedName) => Promise<Selection>;

export interface CreditsAsked {
  readonly windowHours: number;
  readonly periods: readonly Range[];
  /** How far the events of each name are settled. */
  readonly settled: ReadonlyMap<AttributedName, Marks>;
  /** Whether events that were classed ahead with this window need not be classed again. */
  readonly usesAhead: boolean;
}

export async function openCredits(
  { tx, clock, appId }: { readonly tx: Tx; readonly clock: Clock; readonly appId: Uuid },
  { windowHours, periods, settled, usesAhead }: CreditsAsked,
): Promise<CreditReader> {
  const startedAtMs = clock.steadyMs();
  const tally = createTally();
  const open: Open | undefined = usesAhead ? await findOpen(tx, appId, windowHours) : undefined;
  const ofApp = { appId, windowMs: windowHours * hourMs, atOnce };
  const read = async (name: AttributedName, between: Between, select?: Select): Promise<void> => {
    const chunks = classBetween(tx, {
      ...ofApp,
      ...between,
      name,
      select(events) {
        if (clock.steadyMs() - startedAtMs > reportMsMax) throw tooLong();
        return select ? select(events, name) : { events };
      },
    });
    for await (const { classed } of chunks) {
      for (const { event, credit } of classed) {
        tally.add(periodIndexOf(periods, event.at.getTime()), name, event, credit);
      }
    }
  };
  return {
    tally,
    readAll: (name, range, select) => read(name, { range, from: noEvent }, select),
    async readUnsettled(name, range) {
      const from = settled.get(name) ?? noEvent;
      if (open === undefined) return read(name, { range, from });
      const { changed } = open;
      for (const sum of await sumOpenCredits(tx, appId, name, { range, periods, without: changed })) {
        tally.addSum({ ...sum, name, amount: parseDecimal(sum.amount) });
      }
      if (changed.length > 0) await read(name, { range, from, to: open, subjectIds: changed });
      await read(name, { range, from: open }, async (events) => notWithin(from)(events));
    },
  };
}
