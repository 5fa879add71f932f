// SQL: what is not settled and was classed ahead, and whose of it may have changed since.
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { AttributedName } from './attribution.ts';
import type { Range } from './periods.ts';

/** How far an app's events are classed ahead. */
export interface OpenProgress {
  readonly windowHours: number;
  /** All that occurred before this, */
  readonly classedTo: Date;
  /** and was received by this. */
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

/** Nothing of the app is classed ahead from now on. */
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

/** These events are settled: what they came to before that is done with. */
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

/** What was credited ahead of the events of a range, but for those of some subjects. */
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

/** The erased whose events still name them, and the devices that were theirs. */
export async function listBeingErased(tx: Tx, appId: Uuid): Promise<{ userId: Uuid; deviceIds: Uuid[] }[]> {
  return tx<{ userId: Uuid; deviceIds: Uuid[] }[]>`SELECT user_id, device_ids FROM erasures WHERE app_id = ${appId}`;
}

/** What these people are called now; those that are nobody's names are left out. */
export async function listExternalIds(tx: Tx, appId: Uuid, userIds: readonly Uuid[]): Promise<string[]> {
  const rows = await tx<{ externalId: string }[]>`
    SELECT external_id FROM people WHERE app_id = ${appId} AND user_id = ANY(${userIds as Uuid[]}::uuid[])`;
  return rows.map(({ externalId }) => externalId);
}
