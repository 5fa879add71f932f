// Whose an event is, as far as it is kept with the event: its user, else the one its device belongs to as it is received, else the
// device, else nobody. What it is when somebody reads it is for the reader to join: a device may belong to someone by then. Pure.
import type { DeviceOwner } from '../audience/queries.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import type { EventGiven } from './event.ts';

export interface Subject {
  readonly id: Uuid;
  /** Of the event's user; null: it has none. */
  readonly externalId: string | null;
  /** Somebody may be found by it: a user or a device. */
  readonly isSomebody: boolean;
}

/** `people`: user ids by external id; `owners`: by device. Every person and device that the event names is among them. */
export function subjectOf(
  event: Pick<EventGiven, 'deviceId' | 'externalId'>,
  people: ReadonlyMap<string, Uuid>,
  owners: ReadonlyMap<Uuid, Pick<DeviceOwner, 'userId' | 'externalId'>>,
): Subject {
  const { deviceId, externalId } = event;
  const userId = externalId === null ? undefined : people.get(externalId);
  if (userId !== undefined) return { id: userId, externalId, isSomebody: true };
  const owner = deviceId === null ? undefined : owners.get(deviceId);
  if (owner?.userId) return { id: owner.userId, externalId: owner.externalId, isSomebody: true };
  if (deviceId !== null) return { id: deviceId, externalId: null, isSomebody: true };
  return { id: mintUuid(), externalId: null, isSomebody: false };
}
