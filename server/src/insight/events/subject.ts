// The subject of an event as it is stored with the event: its user, else the user of its device
// when it is received, else the device, else nobody. A reader joins the current user of a device,
// because the device may belong to a user by then. Pure.

import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import type { DeviceOwner } from '../../people/audience/queries.ts';
import type { EventGiven } from './event.ts';

export interface Subject {
  readonly id: Uuid;
  /** The external id of the event's user; null when it has none. */
  readonly externalId: string | null;
  /** True when the subject is a user or a device, by which the event can be found. */
  readonly isSomebody: boolean;
}

/**
 * `people` maps external ids to user ids, and `owners` devices to their owners. Both contain every
 * person and device that the event names.
 */
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
