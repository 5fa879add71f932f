// Selects the events of people who are in a segment now: the segment has the event's device or a
// device of its user. Settled purchases keep their class.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { CheckedFilter } from '../../people/audience/check-filter.ts';
import type { AttributedName, Credit } from './attribution.ts';
import { type AttributableEvent, listAttributions } from './attribution-queries.ts';
import { findPeople } from './classify-events.ts';
import type { Range } from './periods.ts';
import type { Select } from './read-credits.ts';
import { listDevicesInSegment } from './segment-queries.ts';
import { tooLong } from './snapshot.ts';

/** Devices that a report holds in memory; above this number it could not finish in time anyway. */
const devicesMax = 1_000_000;

export interface SegmentAsked {
  readonly segment: CheckedFilter;
  /** The names and the range that the report is going to read. */
  readonly names: readonly AttributedName[];
  readonly range: Range;
  /** True when purchases that were settled with the same window keep their class. */
  readonly keepsClasses: boolean;
}

/**
 * Finds once which people of a range are in a segment, so that everything the report reads is
 * compared with the same people.
 */
export async function selectSegment(
  context: { readonly tx: Tx; readonly clock: Clock; readonly appId: Uuid },
  { segment, names, range, keepsClasses }: SegmentAsked,
): Promise<Select> {
  const { tx, appId } = context;
  const inside = await listDevicesInSegment(context, segment, { names, range, limit: devicesMax + 1 });
  if (inside.length > devicesMax) throw tooLong();
  const ids = new Set<Uuid>();
  for (const { deviceId, userId } of inside) {
    ids.add(deviceId);
    if (userId !== null) ids.add(userId);
  }
  return async (found, name) => {
    const people = await findPeople(tx, appId, found);
    const events = found.filter(
      ({ deviceId }, i) => (deviceId !== null && ids.has(deviceId)) || ids.has(people[i]?.id ?? ''),
    );
    return keepsClasses && name === 'purchase' ? { events, known: await readKnown(tx, appId, events) } : { events };
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
