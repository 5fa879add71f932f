// Which purchases are of people in a segment now: their device is, or a device of their user. What is settled of them keeps its
// class.
import type { CheckedFilter } from '../audience/check-filter.ts';
import type { Clock } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Credit } from './attribution.ts';
import { type AttributableEvent, listAttributions } from './attribution-queries.ts';
import { findPeople } from './classify-events.ts';
import type { ReadContext, Selected } from './read-credits.ts';
import { listDevicesInSegment } from './segment-queries.ts';

/** `keepsClasses`: what was settled with the same window stands. */
export function selectSegment(
  context: { readonly tx: Tx; readonly clock: Clock; readonly appId: Uuid },
  segment: CheckedFilter,
  keepsClasses: boolean,
): NonNullable<ReadContext['select']> {
  const { tx, appId } = context;
  return async (events, name) => {
    const people = await findPeople(tx, appId, events);
    const deviceIds = new Set(events.flatMap(({ deviceId }) => (deviceId === null ? [] : [deviceId])));
    const externalIds = new Set(people.flatMap((person) => (person?.externalId ? [person.externalId] : [])));
    const inside = await listDevicesInSegment(context, segment, {
      deviceIds: [...deviceIds],
      externalIds: [...externalIds],
    });
    const ids = new Set(inside.flatMap(({ deviceId, userId }) => (userId === null ? [deviceId] : [deviceId, userId])));
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
