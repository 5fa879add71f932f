// Credits events to messages: finds the events' people as they are now (contract 10), reads the
// deliveries and clicks of these people, and applies the pure rule. Writes nothing. The number of
// given events bounds the work of one call.
import type { Tx } from '@carillon/postgres';
import { type Uuid, uuidFloorOf } from '../../ground/values/ids.ts';
import { type Credit, classify, type SentDelivery, unattributed } from './attribution.ts';
import {
  type AttributableEvent,
  listDeliveriesUnder,
  listDevicesOfUsers,
  listFormerOwners,
  listMessagesOfBatches,
  listOwners,
} from './attribution-queries.ts';
import type { Range } from './periods.ts';

/**
 * Milliseconds. A batch's id is minted before its first push, by clocks that differ by less than
 * this.
 */
const clocksDifferMs = 60_000;

type EventOfPerson = Pick<AttributableEvent, 'at' | 'subjectId' | 'deviceId' | 'externalId'>;

export interface Person {
  /** The user of the event, or its device when the device belongs to nobody. */
  readonly id: Uuid;
  /** Set for users only. */
  readonly externalId: string | null;
}

/**
 * Finds the person of each event as of now: its user, else the current user of its device, else the
 * device. Undefined for an event without user and device, such as one of an erased person.
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

export interface Classified {
  /** In the order of the events. */
  readonly credits: readonly Credit[];
  /** The number of deliveries that were read. */
  readonly deliveries: number;
}

/** Credits each event to a message or to none. */
export async function classifyEvents(
  tx: Tx,
  { appId, windowMs }: { appId: Uuid; windowMs: number },
  events: readonly EventOfPerson[],
): Promise<Classified> {
  if (events.length === 0) return { credits: [], deliveries: 0 };
  const people = await findPeople(tx, appId, events);
  const times = events.map(({ at }) => at.getTime());
  const range = { fromMs: Math.min(...times) - windowMs, toMs: Math.max(...times) };
  const { deliveriesOf, read } = await readDeliveries(tx, appId, people, range);
  const credits = events.map(({ at }, i) => {
    const deliveries = deliveriesOf.get(people[i]?.id ?? '');
    return deliveries === undefined ? unattributed : classify(at.getTime(), deliveries, windowMs);
  });
  return { credits, deliveries: read };
}

/**
 * Reads the deliveries to people, sent or clicked in a range. For a user: all deliveries to the
 * user, and deliveries to the user's devices from times when a device belonged to nobody. For a
 * device of nobody: all deliveries to the device, under any user.
 */
async function readDeliveries(
  tx: Tx,
  appId: Uuid,
  people: readonly (Person | undefined)[],
  range: Range,
): Promise<{ deliveriesOf: Map<Uuid, SentDelivery[]>; read: number }> {
  const userIds = new Set<Uuid>();
  const externalIds = new Set<string>();
  const nobodys = new Set<Uuid>();
  for (const person of people) {
    if (person === undefined) continue;
    if (person.externalId === null) nobodys.add(person.id);
    else {
      userIds.add(person.id);
      externalIds.add(person.externalId);
    }
  }
  const found = new Map<Uuid, SentDelivery[]>();
  if (userIds.size + nobodys.size === 0) return { deliveriesOf: found, read: 0 };
  const owned = externalIds.size === 0 ? [] : await listDevicesOfUsers(tx, appId, [...externalIds]);
  const ownerOf = new Map(owned.map(({ deviceId, userId }) => [deviceId, userId]));
  // A delivery is stored under its user, or under its device when it has none.
  const formerIds = nobodys.size === 0 ? [] : await listFormerOwners(tx, appId, [...nobodys]);
  const ids = new Set([...userIds, ...ownerOf.keys(), ...nobodys, ...formerIds]);
  const beforeBatchId = uuidFloorOf(new Date(range.toMs + clocksDifferMs));
  // Sorted here once, because otherwise each partition would sort the ids itself.
  const deliveries = await listDeliveriesUnder(tx, [...ids].sort(), range, beforeBatchId);
  if (deliveries.length === 0) return { deliveriesOf: found, read: 0 };
  const batchIds = new Set(deliveries.map(({ batchId }) => batchId));
  const batches = await listMessagesOfBatches(tx, appId, [...batchIds]);
  const messageOf = new Map(batches.map(({ id, messageId }) => [id, messageId]));
  const add = (personId: Uuid, delivery: SentDelivery): void => {
    const known = found.get(personId);
    if (known) known.push(delivery);
    else found.set(personId, [delivery]);
  };
  for (const { deviceId, userId, batchId, sentAt, clickedAt } of deliveries) {
    const messageId = messageOf.get(batchId);
    if (messageId === undefined) continue;
    const delivery = { messageId, sentAtMs: sentAt.getTime(), clickedAtMs: clickedAt?.getTime() ?? null };
    const user = userId ?? ownerOf.get(deviceId);
    // An external id may belong to another person by now; then its devices do not belong to this
    // user.
    if (user !== undefined && userIds.has(user)) add(user, delivery);
    if (nobodys.has(deviceId)) add(deviceId, delivery);
  }
  return { deliveriesOf: found, read: deliveries.length };
}
