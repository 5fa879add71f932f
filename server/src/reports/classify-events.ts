// Some events → whom each is owed to: their people are found as they are now (contract 10), what was sent to these people and
// clicked by them is read, and the pure rule decides. Writes nothing. The work of one call is bounded by the events it is given.
import type { Tx } from '../platform/db.ts';
import { type Uuid, uuidFloorOf } from '../platform/ids.ts';
import { type Credit, classify, type SentDelivery, unattributed } from './attribution.ts';
import {
  type AttributableEvent,
  listDeliveriesOfPeople,
  listDevicesOfUsers,
  listMessagesOfBatches,
  listOwners,
} from './attribution-queries.ts';
import type { Range } from './periods.ts';

/** How many events are classed at once. */
export const chunkEvents = 1_000;

/** A batch's id is minted before anything of it is sent, by clocks that differ by less than this. */
const clocksDifferMs = 60_000;

type EventOfPerson = Pick<AttributableEvent, 'at' | 'subjectId' | 'deviceId' | 'externalId'>;

export interface Person {
  /** The user it belongs to, or the device that belongs to nobody. */
  readonly id: Uuid;
  /** Known of users. */
  readonly externalId: string | null;
}

/**
 * Whose an event is, as of now: its user; else whoever its device belongs to; else the device; undefined for one that has neither,
 * as erased ones have.
 */
export async function findPeople(
  tx: Tx,
  appId: Uuid,
  events: readonly EventOfPerson[],
): Promise<(Person | undefined)[]> {
  const anonymous = events.flatMap(({ externalId, deviceId }) => (externalId === null && deviceId ? [deviceId] : []));
  const owners = anonymous.length === 0 ? [] : await listOwners(tx, appId, [...new Set(anonymous)]);
  const ownerOf = new Map(owners.map((owner) => [owner.deviceId, owner]));
  return events.map(({ externalId, deviceId, subjectId }) => {
    if (externalId !== null) return { id: subjectId, externalId };
    if (deviceId === null) return undefined;
    const owner = ownerOf.get(deviceId);
    return owner ? { id: owner.userId, externalId: owner.externalId } : { id: deviceId, externalId: null };
  });
}

/** The credits of events, in their order. */
export async function classifyEvents(
  tx: Tx,
  { appId, windowMs }: { appId: Uuid; windowMs: number },
  events: readonly EventOfPerson[],
): Promise<Credit[]> {
  if (events.length === 0) return [];
  const people = await findPeople(tx, appId, events);
  const times = events.map(({ at }) => at.getTime());
  const range = { fromMs: Math.min(...times) - windowMs, toMs: Math.max(...times) };
  const deliveriesOf = await readDeliveries(tx, appId, people, range);
  return events.map(({ at }, i) => {
    const deliveries = deliveriesOf.get(people[i]?.id ?? '');
    return deliveries === undefined ? unattributed : classify(at.getTime(), deliveries, windowMs);
  });
}

/** What was sent to people or clicked by them in a range: by user, or by the device of nobody. */
async function readDeliveries(
  tx: Tx,
  appId: Uuid,
  people: readonly (Person | undefined)[],
  range: Range,
): Promise<Map<Uuid, SentDelivery[]>> {
  // A delivery is stored under its user, or under a device that was nobody's when it was sent: that is now its owner's.
  const personOf = new Map<Uuid, Uuid>();
  const externalIds = new Set<string>();
  for (const person of people) {
    if (person === undefined) continue;
    personOf.set(person.id, person.id);
    if (person.externalId !== null) externalIds.add(person.externalId);
  }
  const owned = externalIds.size === 0 ? [] : await listDevicesOfUsers(tx, appId, [...externalIds]);
  // An external id may be another person's by now: then its devices are not this one's.
  for (const { deviceId, userId } of owned) if (personOf.has(userId)) personOf.set(deviceId, userId);
  const found = new Map<Uuid, SentDelivery[]>();
  if (personOf.size === 0) return found;
  const beforeBatchId = uuidFloorOf(new Date(range.toMs + clocksDifferMs));
  const deliveries = await listDeliveriesOfPeople(tx, [...personOf.keys()], range, beforeBatchId);
  if (deliveries.length === 0) return found;
  const batchIds = new Set(deliveries.map(({ batchId }) => batchId));
  const batches = await listMessagesOfBatches(tx, appId, [...batchIds]);
  const messageOf = new Map(batches.map(({ id, messageId }) => [id, messageId]));
  for (const { personId, batchId, sentAt, clickedAt } of deliveries) {
    const person = personOf.get(personId);
    const messageId = messageOf.get(batchId);
    if (person === undefined || messageId === undefined) continue;
    const delivery = { messageId, sentAtMs: sentAt.getTime(), clickedAtMs: clickedAt?.getTime() ?? null };
    const known = found.get(person);
    if (known) known.push(delivery);
    else found.set(person, [delivery]);
  }
  return found;
}
