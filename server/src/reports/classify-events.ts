// Some events → whom each is owed to: their people are found as they are now (contract 10), what was sent to these people and
// clicked by them is read, and the pure rule decides. Writes nothing. The work of one call is bounded by the events it is given.
import type { Tx } from '../platform/db.ts';
import { type Uuid, uuidFloorOf } from '../platform/ids.ts';
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

export interface Classified {
  /** In the order of the events. */
  readonly credits: readonly Credit[];
  /** How many were read for it. */
  readonly deliveries: number;
}

/** What events are credited to. */
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
 * What was sent to people or clicked by them in a range: of a user all that was sent to them, and to a device of theirs while it was
 * nobody's; of a device that is nobody's all that was sent to it, whoever it belonged to.
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
  // A delivery is found by whom it is stored under: its user, or its device.
  const formerIds = nobodys.size === 0 ? [] : await listFormerOwners(tx, appId, [...nobodys]);
  const ids = new Set([...userIds, ...ownerOf.keys(), ...nobodys, ...formerIds]);
  const beforeBatchId = uuidFloorOf(new Date(range.toMs + clocksDifferMs));
  // In order, since each partition would put them in order for itself.
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
    // An external id may be another person's by now: then its devices are not this one's.
    if (user !== undefined && userIds.has(user)) add(user, delivery);
    if (nobodys.has(deviceId)) add(deviceId, delivery);
  }
  return { deliveriesOf: found, read: deliveries.length };
}
