// SQL: unsettled events that were classed ahead.
import type { Tx } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import type { AttributedName } from './attribution.ts';
import type { Range } from './periods.ts';

/** The progress of classing an app's events ahead. */
export interface OpenProgress {
  readonly windowHours: number;
  /** Events that occurred before this instant are classed, */
  readonly classedTo: Date;
  /** if they were received by this id. */
  readonly receivedTo: Uuid;
}

export async function findOpenProgress(tx: Tx, appId: Uuid): Promise<OpenProgress | undefined> {
  const [row] = await tx<OpenProgress[]>`
    SELECT window_hours, classed_to, received_to FROM open_progress WHERE app_id = ${appId}`;
  return row;
}

export async function upsertOpenProgress(tx: Tx, appId: Uuid, progress: OpenProgress): Promise<void> {
  const { windowHours, classedTo, receivedTo } = progress;
  await tx`
    INSERT INTO open_progress (app_id, window_hours, classed_to, received_to)
    VALUES (${appId}, ${windowHours}, ${classedTo}, ${receivedTo})
    ON CONFLICT (app_id) DO UPDATE SET
      window_hours = excluded.window_hours, classed_to = excluded.classed_to, received_to = excluded.received_to`;
}

/** Deletes the progress of an app, after which nothing of it counts as classed ahead. */
export async function deleteOpenProgress(tx: Tx, appId: Uuid): Promise<void> {
  await tx`DELETE FROM open_progress WHERE app_id = ${appId}`;
}

export async function deleteAllOpenCredits(tx: Tx, appId: Uuid): Promise<void> {
  await tx`DELETE FROM open_credits WHERE app_id = ${appId}`;
}

export interface OpenCredit {
  readonly eventId: Uuid;
  readonly subjectId: Uuid;
  readonly at: Date;
  readonly currency: string;
  readonly amount: string;
  readonly class: 'direct' | 'influenced';
  readonly messageId: Uuid;
}

export async function insertOpenCredits(
  tx: Tx,
  appId: Uuid,
  name: AttributedName,
  credits: readonly OpenCredit[],
): Promise<void> {
  await tx`
    INSERT INTO open_credits (app_id, name, event_id, subject_id, at, currency, amount, class, message_id)
    SELECT ${appId}::uuid, ${name}, c.event_id, c.subject_id, c.at, c.currency, c.amount, c.class, c.message_id
    FROM unnest(
      ${credits.map(({ eventId }) => eventId)}::uuid[], ${credits.map(({ subjectId }) => subjectId)}::uuid[],
      ${credits.map(({ at }) => at.toISOString())}::timestamptz[], ${credits.map(({ currency }) => currency)}::text[],
      ${credits.map(({ amount }) => amount)}::numeric[], ${credits.map((one) => one.class)}::text[],
      ${credits.map(({ messageId }) => messageId)}::uuid[]
    ) AS c (event_id, subject_id, at, currency, amount, class, message_id)`;
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
    WHERE app_id = ${appId} AND name = ${name} AND event_id = ANY(${eventIds as Uuid[]}::uuid[])`;
}

export async function deleteOpenCreditsOf(tx: Tx, appId: Uuid, subjectIds: readonly Uuid[]): Promise<void> {
  await tx`DELETE FROM open_credits WHERE app_id = ${appId} AND subject_id = ANY(${subjectIds as Uuid[]}::uuid[])`;
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
  const starts = periods.map(({ fromMs }) => new Date(fromMs).toISOString());
  return tx<OpenSum[]>`
    SELECT width_bucket(at, ${starts}::timestamptz[]) - 1 AS period, currency, class, message_id, count(*) AS count,
      sum(amount)::text AS amount
    FROM open_credits
    WHERE app_id = ${appId} AND name = ${name} AND at >= ${new Date(range.fromMs)} AND at < ${new Date(range.toMs)}
      ${without.length === 0 ? tx`` : tx`AND subject_id <> ALL(${without as Uuid[]}::uuid[])`}
    GROUP BY 1, 2, 3, 4`;
}

/** Lists the erased users whose events still name them, and their former devices. */
export async function listBeingErased(tx: Tx, appId: Uuid): Promise<{ userId: Uuid; deviceIds: Uuid[] }[]> {
  return tx<{ userId: Uuid; deviceIds: Uuid[] }[]>`SELECT user_id, device_ids FROM erasures WHERE app_id = ${appId}`;
}

/** Finds the current external ids of these users. Ids of nobody are omitted. */
export async function listExternalIds(tx: Tx, appId: Uuid, userIds: readonly Uuid[]): Promise<string[]> {
  const rows = await tx<{ externalId: string }[]>`
    SELECT external_id FROM people WHERE app_id = ${appId} AND user_id = ANY(${userIds as Uuid[]}::uuid[])`;
  return rows.map(({ externalId }) => externalId);
}
