// What events are credited to while that is not settled: classed now, chunk by chunk, from the deliveries that are kept. Writes
// nothing; what it remembers is the sums.
import { ApiError } from '../platform/api-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { AttributedName, Credit } from './attribution.ts';
import { type AttributableEvent, findProgress, listEvents, listLateEvents, type Place } from './attribution-queries.ts';
import { classifyEvents } from './classify-events.ts';
import { periodIndexOf, type Range } from './periods.ts';
import { nothingSettled } from './settle.ts';
import type { Tally } from './tally.ts';

/** A report that takes longer is refused. */
const msMax = 30_000;
const retryAfterMs = 5_000;

/**
 * Events that a report classes at once: each time twice as many, since most of what an event costs is finding its person's deliveries
 * in every week that is kept, and these lie beside each other when many are looked for. The last has ten megabytes in the process.
 */
const chunkLeast = 1_000;
const chunkMost = 16_000;

/** The 503 for a report that asks for too much. */
export function tooLong(): ApiError {
  return new ApiError('unavailable', {
    message: 'This report takes too long: ask for a shorter range.',
    retryAfterMs,
  });
}

export interface ReadContext {
  /** One snapshot, for all that a report reads. */
  readonly tx: Tx;
  readonly clock: Clock;
  readonly appId: Uuid;
  readonly windowMs: number;
  readonly startedAtMs: number;
  readonly periods: readonly Range[];
  readonly tally: Tally;
  /** Leaves out events and says what is known of the others: undefined where a credit is to be found out. */
  select?(events: readonly AttributableEvent[], name: AttributedName): Promise<Selected[]>;
}

export interface Selected {
  readonly event: AttributableEvent;
  readonly credit: Credit | undefined;
}

/** Classes the events of a range that are not settled. */
export async function readUnsettled(context: ReadContext, name: AttributedName, range: Range): Promise<void> {
  const { tx, appId } = context;
  const progress = (await findProgress(tx, appId, name)) ?? nothingSettled;
  const settledTo: Place = { at: progress.settledAt, id: progress.settledId };
  await readRange(context, name, range, settledTo.at.getTime() < range.fromMs ? null : settledTo);
  // What was received too late for what is settled of its time.
  if (settledTo.at.getTime() < range.fromMs) return;
  let afterId = progress.receivedTo;
  for (let limit = chunkLeast; ; limit = Math.min(2 * limit, chunkMost)) {
    const events = await listLateEvents(tx, { appId, name, upTo: settledTo, afterId, range, limit });
    await tallyEvents(context, name, events);
    const last = events.at(-1);
    if (last === undefined || events.length < limit) return;
    afterId = last.id;
  }
}

/** Classes all events of a range, or those after a place in it. */
export async function readRange(
  context: ReadContext,
  name: AttributedName,
  range: Range,
  after: Place | null = null,
): Promise<void> {
  const { tx, appId } = context;
  let place = after;
  for (let limit = chunkLeast; ; limit = Math.min(2 * limit, chunkMost)) {
    const events = await listEvents(tx, { appId, name, range, after: place, limit });
    await tallyEvents(context, name, events);
    const last = events.at(-1);
    if (last === undefined || events.length < limit) return;
    place = last;
  }
}

async function tallyEvents(
  context: ReadContext,
  name: AttributedName,
  events: readonly AttributableEvent[],
): Promise<void> {
  const { tx, clock, appId, windowMs, startedAtMs, periods, tally } = context;
  if (clock.steadyMs() - startedAtMs > msMax) throw tooLong();
  if (events.length === 0) return;
  const selected: Selected[] = context.select
    ? await context.select(events, name)
    : events.map((event) => ({ event, credit: undefined }));
  const open = selected.flatMap(({ event, credit }) => (credit === undefined ? [event] : []));
  const found = await classifyEvents(tx, { appId, windowMs }, open);
  let next = 0;
  for (const { event, credit } of selected) {
    const given = credit ?? found[next++];
    if (given) tally.add(periodIndexOf(periods, event.at.getTime()), name, event, given);
  }
}
