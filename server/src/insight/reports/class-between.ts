// Classes the events between two marks, one chunk at a time: for settling, for classing ahead, for
// rebuilding and for reports. Writes nothing.
import type { Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import { type AttributedName, type Credit, unattributed } from './attribution.ts';
import { type AttributableEvent, listEvents } from './attribution-queries.ts';
import { chunkEvents, nextChunk } from './chunk.ts';
import { classifyEvents } from './classify-events.ts';
import { type Between, everyEvent, isWithin, type Marks } from './marks.ts';

export interface Selection {
  readonly events: readonly AttributableEvent[];
  /** The credits of events that need not be classed. */
  readonly known?: ReadonlyMap<Uuid, Credit>;
}

export interface Classing extends Between {
  readonly appId: Uuid;
  readonly name: AttributedName;
  readonly windowMs: number;
  /** Events of a chunk, at most. */
  readonly atOnce: number;
  select?(events: readonly AttributableEvent[]): Selection | Promise<Selection>;
}

export interface Classed {
  readonly event: AttributableEvent;
  readonly credit: Credit;
}

export interface ClassedChunk {
  readonly classed: readonly Classed[];
  /** With this chunk, every event within `to` and these marks is classed. */
  readonly done: Marks;
}

/** Selects the events that are not within some marks. */
export function notWithin(marks: Marks): (events: readonly AttributableEvent[]) => Selection {
  return (events) => ({ events: events.filter((event) => !isWithin(marks, event)) });
}

/**
 * Yields the late events in the order of their receipt, then the others in the order in which they
 * occurred. The last chunk may be empty.
 */
export async function* classBetween(tx: Tx, asked: Classing): AsyncGenerator<ClassedChunk> {
  const { from, to = everyEvent, range, atOnce, select = (events): Selection => ({ events }) } = asked;
  const mayBeLate = from.receivedTo < to.receivedTo && from.at.getTime() >= (range?.fromMs ?? 0);
  let done = from;
  let limit = chunkEvents;
  for (const isLate of mayBeLate ? [true, false] : [false]) {
    let last: AttributableEvent | undefined;
    do {
      const events = await listEvents(tx, { ...asked, from: done, isLate, limit });
      last = events.length < limit ? undefined : events.at(-1);
      const { at, id } = last ?? to;
      done = isLate ? { ...done, receivedTo: last?.id ?? to.receivedTo } : { ...done, at, id };
      const { events: selected, known } = await select(events);
      const unknown = known ? selected.filter((event) => !known.has(event.id)) : selected;
      const { credits, deliveries } = await classifyEvents(tx, asked, unknown);
      let next = 0;
      const creditOf = ({ id }: AttributableEvent) => known?.get(id) ?? credits[next++] ?? unattributed;
      yield { classed: selected.map((event) => ({ event, credit: creditOf(event) })), done };
      limit = nextChunk(limit, deliveries, atOnce);
    } while (last !== undefined);
  }
}
