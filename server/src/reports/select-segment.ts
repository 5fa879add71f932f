// Which purchases are of people in a segment now: their device is, or a device of their user. What is settled of them keeps its
// class.
import type { CheckedFilter } from '../audience/check-filter.ts';
import type { Clock } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { AttributedName, Credit } from './attribution.ts';
import { type AttributableEvent, listAttributions } from './attribution-queries.ts';
import { findPeople } from './classify-events.ts';
import type { Range } from './periods.ts';
import { type ReadContext, type Selected, tooLong } from './read-credits.ts';
import { listDevicesInSegment } from './segment-queries.ts';

/** What a process holds of one report: more devices than its time would suffice for. */
const devicesMax = 1_000_000;

export interface SegmentAsked {
  readonly segment: CheckedFilter;
  /** All that is going to be read. */
  readonly names: readonly AttributedName[];
  readonly range: Range;
  /** What was settled with the same window stands. */
  readonly keepsClasses: boolean;
}

/** Finds out who of a range is in a segment, at once: all that is read of it is held to the same people. */
export async function selectSegment(
  context: { readonly tx: Tx; readonly clock: Clock; readonly appId: Uuid },
  { segment, names, range, keepsClasses }: SegmentAsked,
): Promise<NonNullable<ReadContext['select']>> {
  const { tx, appId } = context;
  const inside = await listDevicesInSegment(context, segment, { names, range, limit: devicesMax + 1 });
  if (inside.length > devicesMax) throw tooLong();
  const ids = new Set<Uuid>();
  for (const { deviceId, userId } of inside) {
    ids.add(deviceId);
    if (userId !== null) ids.add(userId);
  }
  return async (events, name) => {
    const people = await findPeople(tx, appId, events);
    const chosen = events.filter(
      ({ deviceId }, i) => (deviceId !== null && ids.has(deviceId)) || ids.has(people[i]?.id ?? ''),
    );
    const known = keepsClasses && name === 'purchase' ? await readKnown(tx, appId, chosen) : new Map<Uuid, Credit>();
    return chosen.map((event): Selected => ({ event, credit: known.get(event.id) }));
  };
}

async function readKnown(
  tx: Tx,
  appId: Uuid,
  events: readonly AttributableEvent[],
): Promise<ReadonlyMap<Uuid, Credit>> {
  if (events.length === 0) return new Map();
  const times = events.map(({ at }) => at.getTime());
  const stored = await listAttributions(tx, appId, { fromMs: Math.min(...times), toMs: Math.max(...times) });
  return new Map(stored.map(({ eventId, ...credit }) => [eventId, credit as Credit]));
}
