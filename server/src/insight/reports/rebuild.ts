// Computes attribution again (contract 11) for settled purchases, installs and sessions whose
// events and deliveries are still stored. Results that depend on deleted deliveries stay unchanged.
// Each day is one transaction, so that a reader sees a day completely before or after the change.

import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { mintedAtMs, type Uuid } from '../../ground/values/ids.ts';
import { listPartitions } from '../../sending/delivery/partitions.ts';
import { getAttributionWindowHours } from '../../teams/apps/queries.ts';
import { findKeptSince } from '../events/retention-queries.ts';
import { type AttributedName, attributedNames } from './attribution.ts';
import {
  type AttributableEvent,
  addCreditedTotals,
  deleteAttributions,
  deleteTotalsOfKept,
  findSettled,
  listAttributions,
  sumAttributionsAgain,
} from './attribution-queries.ts';
import { forgetClassedAhead } from './class-ahead.ts';
import { type ClassedChunk, type Classing, classBetween } from './class-between.ts';
import { type Marks, noEvent } from './marks.ts';
import { quarterMs, type Range } from './periods.ts';
import { findEventRange } from './rebuild-queries.ts';
import { quarterOf, settledAtOnceMax, storeSettled } from './settle.ts';
import { besideWhatStays } from './staying-counts.ts';
import { createTally } from './tally.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export interface RebuiltAttribution {
  readonly purchases: number;
  readonly installs: number;
  readonly sessions: number;
  /** The range that was classed again, in whole quarters of an hour; null: nothing. */
  readonly range: Range | null;
}

/** Classes the settled events of a range again. A null end means as far as there are events. */
export async function rebuildAttribution(
  { sql, clock }: { sql: Sql; clock: Clock },
  asked: { readonly appId: Uuid; readonly fromMs: number | null; readonly toMs: number | null },
): Promise<RebuiltAttribution> {
  const { appId } = asked;
  // Classing ahead then starts again for the unsettled events.
  await forgetClassedAhead(sql, appId);
  const windowHours = await getAttributionWindowHours(sql, appId);
  const [oldest] = await listPartitions(sql);
  const found = await findEventRange(sql, appId, attributedNames);
  const counts = { purchase: 0, install: 0, session_start: 0 };
  let range: Range | null = null;
  if (oldest && found) {
    const keptFromMs = mintedAtMs(oldest.from);
    const keptSinceMs = (await findKeptSince(sql))?.getTime() ?? 0;
    const firstMs = Math.max(found.first.getTime(), asked.fromMs ?? 0, keptFromMs + windowHours * hourMs, keptSinceMs);
    const endMs = Math.min(found.last.getTime() + quarterMs, asked.toMs ?? clock.nowMs());
    const fromMs = Math.ceil(floorFor(firstMs, keptFromMs + windowHours * hourMs, keptSinceMs) / quarterMs) * quarterMs;
    const toMs = Math.ceil(endMs / quarterMs) * quarterMs;
    if (fromMs < toMs) range = { fromMs, toMs };
    for (let dayFromMs = fromMs; dayFromMs < toMs; ) {
      const dayToMs = Math.min(toMs, (Math.floor(dayFromMs / dayMs) + 1) * dayMs);
      const day = { fromMs: dayFromMs, toMs: dayToMs };
      for (const name of attributedNames) {
        counts[name] += await transaction(sql, (tx) =>
          rebuildDay({ tx, appId, name, windowHours, keptFrom: oldest.from }, day),
        );
      }
      dayFromMs = dayToMs;
    }
  }
  return { purchases: counts.purchase, installs: counts.install, sessions: counts.session_start, range };
}

// The quarter in which the range begins is classed completely, unless events or deliveries of its
// beginning may be deleted.
function floorFor(firstMs: number, ...limitsMs: readonly number[]): number {
  const floorMs = Math.floor(firstMs / quarterMs) * quarterMs;
  return limitsMs.every((limitMs) => floorMs >= limitMs) ? floorMs : firstMs;
}

interface DayContext {
  readonly tx: Tx;
  readonly appId: Uuid;
  readonly name: AttributedName;
  readonly windowHours: number;
  /** The first batch id whose deliveries are stored. */
  readonly keptFrom: Uuid;
}

async function rebuildDay(context: DayContext, day: Range): Promise<number> {
  const { tx, appId, name } = context;
  // Reports class unsettled events themselves. The lock keeps other processes from settling events
  // meanwhile.
  const settled = (await findSettled(tx, appId, true)).get(name);
  if (!settled) return 0;
  return name === 'purchase' ? rebuildPurchases(context, settled, day) : rebuildCounts(context, settled, day);
}

async function rebuildPurchases(context: DayContext, to: Marks, day: Range): Promise<number> {
  const { tx, appId, keptFrom } = context;
  await deleteAttributions(tx, appId, day, keptFrom);
  const left = await listAttributions(tx, appId, { ...day, toMs: day.toMs - 1 });
  const leftIds = new Set(left.map(({ eventId }) => eventId));
  const select = (events: readonly AttributableEvent[]) => ({ events: events.filter(({ id }) => !leftIds.has(id)) });
  let count = 0;
  for await (const { classed } of classDay(context, to, day, select)) {
    await storeSettled(tx, context, classed);
    count += classed.length;
  }
  await sumAttributionsAgain(tx, appId, day);
  return count;
}

// For installs and sessions only sums are stored, so the sums that stay are subtracted from the new
// ones.
async function rebuildCounts(context: DayContext, to: Marks, day: Range): Promise<number> {
  const { tx, appId, name, keptFrom } = context;
  const left = await deleteTotalsOfKept(tx, appId, name, day, keptFrom);
  const tally = createTally();
  let count = 0;
  for await (const { classed } of classDay(context, to, day)) {
    for (const { event, credit } of classed) tally.add(quarterOf(event), name, event, credit);
    count += classed.length;
  }
  const staying = left.map(({ bucket, ...row }) => ({ ...row, period: bucket.getTime() / quarterMs }));
  await addCreditedTotals(tx, appId, name, besideWhatStays(tally.rows(), staying));
  return count;
}

function classDay(
  { tx, appId, name, windowHours }: DayContext,
  to: Marks,
  range: Range,
  select?: Classing['select'],
): AsyncGenerator<ClassedChunk> {
  const windowMs = windowHours * hourMs;
  const asked = { appId, name, windowMs, from: noEvent, to, range, atOnce: settledAtOnceMax };
  return classBetween(tx, { ...asked, ...(select && { select }) });
}
