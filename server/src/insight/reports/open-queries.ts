// SQL: unsettled events that were classed ahead.
import { listValues, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { AttributedName } from './attribution.ts';
import type { Classed } from './class-between.ts';
import { type Marks, placeAt } from './marks.ts';
import type { Range } from './periods.ts';
import { periodOf, within } from './queries.ts';

/** How far an app's events are classed ahead, of all names, and with which window. */
export interface OpenProgress extends Marks {
  readonly windowHours: number;
}

export async function findOpenProgress(tx: Tx, appId: Uuid): Promise<OpenProgress | undefined> {
  const [row] = await tx<{ windowHours: number; at: Date; receivedTo: Uuid }[]>`
    SELECT window_hours, classed_to AS at, received_to FROM open_progress WHERE app_id = ${appId}`;
  return row && { ...row, ...placeAt(row.at.getTime()) };
}

/** Stores the progress. Its place is before every event of its instant. */
export async function upsertOpenProgress(tx: Tx, appId: Uuid, progress: OpenProgress): Promise<void> {
  const { windowHours, at, receivedTo } = progress;
  await tx`
    INSERT INTO open_progress (app_id, window_hours, classed_to, received_to)
    VALUES (${appId}, ${windowHours}, ${at}, ${receivedTo})
    ON CONFLICT (app_id) DO UPDATE SET
      window_hours = excluded.window_hours, classed_to = excluded.classed_to, received_to = excluded.received_to`;
}

/** Deletes an app's progress and credits, after which nothing of it counts as classed ahead. */
export async function deleteOpen(tx: Tx, appId: Uuid): Promise<void> {
  await tx`DELETE FROM open_progress WHERE app_id = ${appId}`;
  await tx`DELETE FROM open_credits WHERE app_id = ${appId}`;
}

const creditColumns = {
  uuid: ['eventId', 'subjectId', 'messageId'],
  timestamptz: ['at'],
  text: ['currency', 'class'],
  numeric: ['amount'],
} as const;

/** Stores events that are credited to a message. The others are not stored. */
export async function insertOpenCredits(
  tx: Tx,
  appId: Uuid,
  name: AttributedName,
  classed: readonly Classed[],
): Promise<void> {
  const credited = classed.flatMap(({ event: { id: eventId, ...event }, credit }) =>
    credit.messageId === null ? [] : [{ ...event, ...credit, eventId }],
  );
  if (credited.length === 0) return;
  await tx`
    INSERT INTO open_credits (app_id, name, event_id, subject_id, at, currency, amount, class, message_id)
    SELECT ${appId}::uuid, ${name}, c.event_id, c.subject_id, c.at, c.currency, c.amount, c.class, c.message_id
    FROM ${tx.rows('c', creditColumns, credited)}`;
}

/** Deletes the credits that these events had before they were settled. */
export async function deleteOpenCredits(
  tx: Tx,
  appId: Uuid,
  name: AttributedName,
  eventIds: readonly Uuid[],
): Promise<void> {
  await tx`
    DELETE FROM open_credits
    WHERE app_id = ${appId} AND name = ${name} AND event_id = ANY(${eventIds}::uuid[])`;
}

export async function deleteOpenCreditsOf(tx: Tx, appId: Uuid, subjectIds: readonly Uuid[]): Promise<void> {
  await tx`DELETE FROM open_credits WHERE app_id = ${appId} AND subject_id = ANY(${subjectIds}::uuid[])`;
}

export interface OpenSum {
  readonly period: number;
  readonly currency: string;
  readonly class: 'direct' | 'influenced';
  readonly messageId: Uuid;
  readonly count: number;
  readonly amount: string;
}

/** Sums the credits ahead of a range's events, without the events of some subjects. */
export async function sumOpenCredits(
  tx: Tx,
  appId: Uuid,
  name: AttributedName,
  { range, periods, without }: { range: Range; periods: readonly Range[]; without: readonly Uuid[] },
): Promise<OpenSum[]> {
  return tx`
    SELECT ${periodOf(tx, tx`at`, periods)} AS period, currency, class, message_id, count(*) AS count,
      sum(amount)::text AS amount
    FROM open_credits
    WHERE app_id = ${appId} AND name = ${name} AND ${within(tx, tx`at`, range)}
      ${without.length === 0 ? tx`` : tx`AND subject_id <> ALL(${without}::uuid[])`}
    GROUP BY 1, 2, 3, 4`;
}

/** Lists the erased users whose events still name them, and their former devices. */
export async function listBeingErased(tx: Tx, appId: Uuid): Promise<{ userId: Uuid; deviceIds: Uuid[] }[]> {
  return tx`SELECT user_id, device_ids FROM erasures WHERE app_id = ${appId}`;
}

/** Finds the current external ids of these users. Ids of nobody are omitted. */
export async function listExternalIds(tx: Tx, appId: Uuid, userIds: readonly Uuid[]): Promise<string[]> {
  return listValues(tx`
    SELECT external_id FROM people WHERE app_id = ${appId} AND user_id = ANY(${userIds}::uuid[])`);
}
