// SQL: events and daily counts of erased users, and of devices that belonged to them. Amounts and
// counts stay unchanged.
import { listValues, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import { boundsOf, type DayOfEvents, ofSubjects } from './history-queries.ts';

/**
 * Removes external id and device from a user's events. The events stay under the user id, which
 * resolves to nothing.
 */
export async function updateForgottenUsers(tx: Tx, day: DayOfEvents, userIds: readonly Uuid[]): Promise<void> {
  const { from, before } = boundsOf(day);
  await tx`
    UPDATE events SET external_id = NULL, device_id = NULL
    WHERE app_id = ${day.appId} AND name = ${day.name} AND at >= ${from} AND at < ${before}
      AND ${ofSubjects(tx, userIds)} AND (external_id IS NOT NULL OR device_id IS NOT NULL)`;
}

/** A device whose past events continue under another id. */
export interface ForgottenDevice {
  readonly id: Uuid;
  readonly forgottenId: Uuid;
  /**
   * Only events with a smaller id are moved; an event's id contains the time at which it was
   * received.
   */
  readonly beforeId: Uuid;
}

/**
 * Deletes the daily counts of devices, to be counted again, and returns the devices that had any. A
 * transaction that adds to these counts waits.
 */
export async function deleteDayCounts(tx: Tx, day: DayOfEvents, deviceIds: readonly Uuid[]): Promise<Set<Uuid>> {
  const ids = await listValues<Uuid>(tx`
    DELETE FROM subject_events
    WHERE app_id = ${day.appId} AND name = ${day.name} AND day = ${day.day}::date
      AND subject_id = ANY(${deviceIds}::uuid[])
    RETURNING subject_id`);
  return new Set(ids);
}

/**
 * Deletes the events of devices and inserts them again under the new ids, because a distribution
 * column cannot be updated.
 */
export async function moveDeviceEvents(tx: Tx, day: DayOfEvents, devices: readonly ForgottenDevice[]): Promise<void> {
  const ids = devices.map(({ id }) => id);
  const { from, before } = boundsOf(day);
  const limits = devices.map(({ beforeId }) => beforeId);
  await tx`
    WITH moved AS (
      DELETE FROM events
      WHERE app_id = ${day.appId} AND name = ${day.name} AND at >= ${from} AND at < ${before}
        AND ${ofSubjects(tx, ids)} AND id < (${limits}::uuid[])[array_position(${ids}::uuid[], subject_id)]
      RETURNING *
    )
    INSERT INTO events (app_id, subject_id, id, name, at, properties, amount, currency)
    SELECT app_id, (${devices.map(({ forgottenId }) => forgottenId)}::uuid[])[array_position(${ids}::uuid[], subject_id)],
      id, name, at, properties, amount, currency
    FROM moved`;
}

/** Counts the stored events of subjects on a day. */
export async function insertDayCounts(tx: Tx, day: DayOfEvents, subjectIds: readonly Uuid[]): Promise<void> {
  const { from, before } = boundsOf(day);
  await tx`
    INSERT INTO subject_events (app_id, name, subject_id, day, count, last_at)
    SELECT app_id, name, subject_id, ${day.day}::date, count(*), max(at) FROM events
    WHERE app_id = ${day.appId} AND name = ${day.name} AND at >= ${from} AND at < ${before}
      AND ${ofSubjects(tx, subjectIds)}
    GROUP BY app_id, name, subject_id
    ON CONFLICT (app_id, name, subject_id, day) DO UPDATE SET count = excluded.count, last_at = excluded.last_at`;
}
