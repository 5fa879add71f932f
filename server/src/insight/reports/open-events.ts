// Events that were classed ahead of their settling: the progress, and the people whose events may
// be credited to another message since then. Writes nothing.

import type { Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import { listPeopleChanges } from '../../people/devices/link-queries.ts';
import { listDevicesOfUsers, listOwners } from './attribution-queries.ts';
import { findOpenProgress, listBeingErased, listExternalIds, type OpenProgress } from './open-queries.ts';

export interface Open extends OpenProgress {
  /** Subjects whose events are classed again, because their stored credits may be outdated. */
  readonly changed: readonly Uuid[];
}

/**
 * Above these numbers of changes or people a report ignores classing ahead and classes all
 * unsettled events itself.
 */
const changesMax = 2_000;
const changedMax = 20_000;

/** Finds what was classed ahead with a window; undefined when none of it can be used. */
export async function findOpen(tx: Tx, appId: Uuid, windowHours: number): Promise<Open | undefined> {
  const progress = await findOpenProgress(tx, appId);
  if (progress === undefined || progress.windowHours !== windowHours) return undefined;
  const changes = await listPeopleChanges(tx, appId, changesMax + 1);
  if (changes.length > changesMax) return undefined;
  // The events of erased people are cleared step by step; after the last step their change is
  // recorded.
  const erased = await listBeingErased(tx, appId);
  const ids = [...changes.flatMap((change) => change.ids), ...erased.flatMap((one) => [one.userId, ...one.deviceIds])];
  if (ids.length > changedMax) return undefined;
  const changed = await findSubjects(tx, appId, ids);
  return changed.length > changedMax ? undefined : { ...progress, changed };
}

/**
 * Finds the subjects under which events of these devices and users may be stored: the ids
 * themselves, their users, and all devices of these users.
 */
export async function findSubjects(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<Uuid[]> {
  if (ids.length === 0) return [];
  const subjects = new Set(ids);
  const owners = await listOwners(tx, appId, [...subjects]);
  const externalIds = new Set(await listExternalIds(tx, appId, [...subjects]));
  for (const { userId, externalId } of owners) {
    subjects.add(userId);
    externalIds.add(externalId);
  }
  if (externalIds.size === 0) return [...subjects];
  for (const { deviceId } of await listDevicesOfUsers(tx, appId, [...externalIds])) subjects.add(deviceId);
  return [...subjects];
}
