// One page of the events of a user and their devices, or of a single device, the latest first.
import type { Sql } from '@carillon/postgres';
import { nilUuid, type Uuid } from '../../ground/values/ids.ts';
import {
  type EventOfSubject,
  type EventPosition,
  listDayEvents,
  listEventNames,
  listSubjectDays,
} from './history-queries.ts';

export interface HistoryPart {
  readonly events: readonly EventOfSubject[];
  /** Set when the read ended at `daysReadMax`: there may be more after this position. */
  readonly stoppedAt: EventPosition | null;
}

/** Names for one statement, which looks up every name for every subject and month. */
const namesAtOnce = 20;
/**
 * The days that one page reads. After them it is answered with a cursor, even if it is not full.
 */
const daysReadMax = 30;

/** The UTC days on which these subjects have events, the latest first. */
async function listDays(sql: Sql, appId: Uuid, subjectIds: readonly Uuid[]): Promise<string[]> {
  const days = new Set<string>();
  for (let after = ''; ; ) {
    const names = await listEventNames(sql, appId, after, namesAtOnce);
    for (const { day } of await listSubjectDays(sql, appId, names, subjectIds)) days.add(day);
    const last = names.at(-1);
    if (last === undefined || names.length < namesAtOnce) return [...days].sort().reverse();
    after = last;
  }
}

/** Up to `limit` events of these subjects before a position, the latest first. */
export async function listHistory(
  sql: Sql,
  appId: Uuid,
  subjectIds: readonly Uuid[],
  before: EventPosition | null,
  limit: number,
): Promise<HistoryPart> {
  const events: EventOfSubject[] = [];
  const days = await listDays(sql, appId, subjectIds);
  const left = before === null ? days : days.filter((day) => day <= new Date(before.at).toISOString().slice(0, 10));
  for (const day of left.slice(0, daysReadMax)) {
    events.push(...(await listDayEvents(sql, { appId, day }, subjectIds, before, limit - events.length)));
    if (events.length >= limit) return { events, stoppedAt: null };
  }
  const [last, next] = left.slice(daysReadMax - 1);
  return { events, stoppedAt: last && next ? { at: `${last}T00:00:00Z`, id: nilUuid } : null };
}
