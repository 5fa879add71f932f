// SQL: the events of one person, or of a few: the days, and each event. The daily counts lead to
// the days. Within a day the index by time and subject leads to the parts of the table that may
// contain the person's events.
import { type Fragment, listValues, type Sql, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';

/**
 * Lists the names of an app's events after one, in their order: names in the catalog, and names
 * that are still to be folded into it.
 */
export async function listEventNames(sql: Sql, appId: Uuid, after: string, limit: number): Promise<string[]> {
  return listValues(sql`
    SELECT name FROM event_names WHERE app_id = ${appId} AND name > ${after}
    UNION SELECT name FROM rollup_deltas WHERE app_id = ${appId} AND name > ${after}
    ORDER BY name LIMIT ${limit}`);
}

/** A UTC day on which some of the subjects have events of a name. */
export interface SubjectDay {
  readonly name: string;
  /** As `2026-11-21`. */
  readonly day: string;
}

/** Lists the days on which these subjects have events of these names. */
export async function listSubjectDays(
  sql: Sql,
  appId: Uuid,
  names: readonly string[],
  subjectIds: readonly Uuid[],
): Promise<SubjectDay[]> {
  return sql`
    SELECT DISTINCT name, day::text AS day FROM subject_events
    WHERE app_id = ${appId} AND name = ANY(${names}::text[])
      AND subject_id = ANY(${subjectIds}::uuid[])
    ORDER BY name, day`;
}

/** The events of one name and day in an app. */
export interface DayOfEvents extends SubjectDay {
  readonly appId: Uuid;
}

/** The bounds of a day's events: from the first instant, and before the second. */
export function boundsOf({ day }: Pick<SubjectDay, 'day'>): { readonly from: Date; readonly before: Date } {
  const from = new Date(`${day}T00:00:00Z`);
  return { from, before: new Date(from.getTime() + 86_400_000) };
}

/**
 * Up to this number, each subject is looked up in the index. For more subjects, reading the whole
 * day is faster.
 */
const lookedForMax = 16;

/** A condition that selects the events of these subjects. */
export function ofSubjects(tx: Tx, subjectIds: readonly Uuid[]): Fragment {
  const ids = tx`${subjectIds}::uuid[]`;
  return subjectIds.length <= lookedForMax ? tx`subject_id = ANY(${ids})` : tx`subject_id IN (SELECT unnest(${ids}))`;
}

export interface SubjectEvent {
  readonly id: Uuid;
  readonly at: Date;
  readonly deviceId: Uuid | null;
  readonly externalId: string | null;
  /** Includes the amount and the currency of a purchase. */
  readonly properties: Readonly<Record<string, unknown>>;
}

/**
 * Lists these subjects' events of a name on a day, in the order in which they were received, after
 * `afterId`.
 */
export async function listSubjectEvents(
  sql: Sql,
  day: DayOfEvents,
  subjectIds: readonly Uuid[],
  afterId: Uuid | null,
  limit: number,
): Promise<SubjectEvent[]> {
  const { from, before } = boundsOf(day);
  return sql`
    SELECT id, at, device_id, external_id, properties FROM events
    WHERE app_id = ${day.appId} AND name = ${day.name} AND at >= ${from} AND at < ${before}
      AND ${ofSubjects(sql, subjectIds)} ${afterId === null ? sql`` : sql`AND id > ${afterId}`}
    ORDER BY id LIMIT ${limit}`;
}

/** An event, and its subject when it was received. */
export interface EventOfSubject extends SubjectEvent {
  readonly name: string;
  readonly subjectId: Uuid;
  /** The instant as ISO text in UTC, to the microsecond. */
  readonly atText: string;
}

/** The position of an event in a list that begins with the latest one. */
export interface EventPosition {
  readonly at: string;
  readonly id: Uuid;
}

/** Lists these subjects' events on a day before a position, the latest first. */
export async function listDayEvents(
  sql: Sql,
  { appId, day }: { readonly appId: Uuid; readonly day: string },
  subjectIds: readonly Uuid[],
  position: EventPosition | null,
  limit: number,
): Promise<EventOfSubject[]> {
  const { from, before } = boundsOf({ day });
  const earlier =
    position === null ? sql`` : sql`AND (at, id) < (${position.at}::text::timestamptz, ${position.id}::uuid)`;
  return sql`
    SELECT id, name, subject_id, at, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at_text,
      device_id, external_id, properties
    FROM events
    WHERE app_id = ${appId} AND at >= ${from} AND at < ${before} AND ${ofSubjects(sql, subjectIds)} ${earlier}
    ORDER BY at DESC, id DESC LIMIT ${limit}`;
}
