// Reads the credits of unsettled events: credits that were classed ahead, and otherwise the events
// themselves, classed now chunk by chunk from the stored deliveries. Writes nothing and keeps only
// the sums.

import type { Clock } from '../database/clock.ts';
import type { Tx } from '../database/db.ts';
import { parseDecimal } from '../ground/decimal.ts';
import type { Uuid } from '../ground/ids.ts';
import type { AttributedName, Credit } from './attribution.ts';
import {
  type AttributableEvent,
  type EventPosition,
  findProgress,
  listEvents,
  listLateEvents,
  type Progress,
} from './attribution-queries.ts';
import { chunkEvents, nextChunk } from './chunk.ts';
import { classifyEvents } from './classify-events.ts';
import { type Open, readLate, readOpenOf } from './open-events.ts';
import { sumOpenCredits } from './open-queries.ts';
import { periodIndexOf, type Range } from './periods.ts';
import { isSettled, nothingSettled } from './settled.ts';
import { reportMsMax, tooLong } from './snapshot.ts';
import type { Tally } from './tally.ts';

/**
 * The number of events that a report classes at once. Their deliveries take about ten megabytes in
 * the process.
 */
const chunkMost = 16_000;

export interface ReadContext {
  /** One snapshot for everything that a report reads. */
  readonly tx: Tx;
  readonly clock: Clock;
  readonly appId: Uuid;
  readonly windowMs: number;
  readonly startedAtMs: number;
  readonly periods: readonly Range[];
  readonly tally: Tally;
  /** Credits that were classed ahead with the same window; undefined when they must not be used. */
  readonly open: Open | undefined;
  /**
   * Selects events and returns the known credits; a credit is undefined when the event must be
   * classed.
   */
  select?(events: readonly AttributableEvent[], name: AttributedName): Promise<Selected[]>;
}

export interface Selected {
  readonly event: AttributableEvent;
  readonly credit: Credit | undefined;
}

/** Tallies the credits of a range's unsettled events. */
export async function readUnsettled(context: ReadContext, name: AttributedName, range: Range): Promise<void> {
  const { tx, appId, open } = context;
  const progress = (await findProgress(tx, appId, name)) ?? nothingSettled;
  if (open === undefined) return classUnsettled(context, name, range, progress);
  const openToMs = open.classedTo.getTime();
  const ahead = { fromMs: range.fromMs, toMs: Math.min(range.toMs, openToMs) };
  const rest = { fromMs: Math.max(range.fromMs, openToMs), toMs: range.toMs };
  if (ahead.fromMs < ahead.toMs) await readAhead(context, open, name, ahead, progress);
  if (rest.fromMs < rest.toMs) await classUnsettled(context, name, rest, progress);
}

/** Returns whether no event of the range is settled. */
export async function isOpen({ tx, appId }: ReadContext, name: AttributedName, range: Range): Promise<boolean> {
  const { settledAt } = (await findProgress(tx, appId, name)) ?? nothingSettled;
  return settledAt.getTime() < range.fromMs;
}

/**
 * Tallies the credits that were classed ahead, and classes the events that arrived too late for
 * that. Only credited events were stored ahead, so unattributed ones are missing from the tally.
 */
async function readAhead(
  context: ReadContext,
  open: Open,
  name: AttributedName,
  range: Range,
  settled: Progress,
): Promise<void> {
  const { tx, appId, periods, tally } = context;
  for (const sum of await sumOpenCredits(tx, appId, name, { range, periods, without: open.changed })) {
    tally.addSum({ ...sum, name, amount: parseDecimal(sum.amount) });
  }
  if (open.changed.length > 0) {
    const asked = { appId, name, range, subjectIds: open.changed, settled, open };
    for await (const events of readOpenOf(tx, asked)) await tallyEvents(context, name, events);
  }
  for await (const events of readLate(tx, { appId, name, range, open })) {
    await tallyEvents(
      context,
      name,
      events.filter((event) => !isSettled(settled, event)),
    );
  }
}

/** Classes the unsettled events of a range. */
async function classUnsettled(
  context: ReadContext,
  name: AttributedName,
  range: Range,
  progress: Progress,
): Promise<void> {
  const { tx, appId } = context;
  const settledTo: EventPosition = { at: progress.settledAt, id: progress.settledId };
  await readRange(context, name, range, settledTo.at.getTime() < range.fromMs ? null : settledTo);
  // Events that were received after the events of their time were settled.
  if (settledTo.at.getTime() < range.fromMs) return;
  let afterId = progress.receivedTo;
  for (let limit = chunkEvents; ; ) {
    const events = await listLateEvents(tx, { appId, name, upTo: settledTo, afterId, range, limit });
    const deliveries = await tallyEvents(context, name, events);
    const last = events.at(-1);
    if (last === undefined || events.length < limit) return;
    afterId = last.id;
    limit = nextChunk(limit, deliveries, chunkMost);
  }
}

/** Classes all events of a range, or those after a position in it. */
export async function readRange(
  context: ReadContext,
  name: AttributedName,
  range: Range,
  after: EventPosition | null = null,
): Promise<void> {
  const { tx, appId } = context;
  let position = after;
  for (let limit = chunkEvents; ; ) {
    const events = await listEvents(tx, { appId, name, range, after: position, limit });
    const deliveries = await tallyEvents(context, name, events);
    const last = events.at(-1);
    if (last === undefined || events.length < limit) return;
    position = last;
    limit = nextChunk(limit, deliveries, chunkMost);
  }
}

/** Tallies events and returns the number of deliveries that were read. */
async function tallyEvents(
  context: ReadContext,
  name: AttributedName,
  events: readonly AttributableEvent[],
): Promise<number> {
  const { tx, clock, appId, windowMs, startedAtMs, periods, tally } = context;
  if (clock.steadyMs() - startedAtMs > reportMsMax) throw tooLong();
  if (events.length === 0) return 0;
  const selected: Selected[] = context.select
    ? await context.select(events, name)
    : events.map((event) => ({ event, credit: undefined }));
  const open = selected.flatMap(({ event, credit }) => (credit === undefined ? [event] : []));
  const { credits, deliveries } = await classifyEvents(tx, { appId, windowMs }, open);
  let next = 0;
  for (const { event, credit } of selected) {
    const given = credit ?? credits[next++];
    if (given) tally.add(periodIndexOf(periods, event.at.getTime()), name, event, given);
  }
  return deliveries;
}
