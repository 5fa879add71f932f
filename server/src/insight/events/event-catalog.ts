// The event catalog for people who write filters and reports: names with counts, and the properties
// of their events. It is built from tracked events and complete up to the last stored one.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { listErasedSubjects } from '../../people/users/erasure-queries.ts';
import { type EventNameRow, findEventName, listEventNames, listEventProperties } from './catalog-queries.ts';
import type { EventPropertyType, Sample } from './known-properties.ts';
import { listDaysOfNames } from './recent-queries.ts';

export interface CataloguedEvent extends EventNameRow {
  readonly properties: readonly CataloguedProperty[];
}

/** One key with one type of value. A key with values of several types has one entry for each. */
export interface CataloguedProperty {
  readonly key: string;
  readonly type: EventPropertyType;
  /** At most five samples; none for objects, arrays and null, and none of an erased person. */
  readonly samples: readonly Sample[];
}

/** Lists an app's names after one, in their order. */
export async function listEventCatalog(
  sql: Sql,
  appId: Uuid,
  afterName: string | null,
  limit: number,
  prefix: string | null = null,
): Promise<CataloguedEvent[]> {
  return withProperties(sql, appId, await listEventNames(sql, appId, afterName, limit, prefix));
}

/** Finds one name; undefined when nothing was ever tracked under it. */
export async function findCataloguedEvent(sql: Sql, appId: Uuid, name: string): Promise<CataloguedEvent | undefined> {
  const row = await findEventName(sql, appId, name);
  const [found] = row ? await withProperties(sql, appId, [row]) : [];
  return found;
}

async function withProperties(sql: Sql, appId: Uuid, rows: readonly EventNameRow[]): Promise<CataloguedEvent[]> {
  const names = rows.map(({ name }) => name);
  const found = await listEventProperties(sql, appId, names, await listErasedSubjects(sql, appId));
  return rows.map((row) => ({
    ...row,
    properties: found.filter(({ name }) => name === row.name).map(({ key, type, samples }) => ({ key, type, samples })),
  }));
}

/** Days that `countDays` counts, today included. */
export const daysShown = 14;
const dayMs = 86_400_000;

export interface DayCount {
  /** In UTC, as `2026-11-21`. */
  readonly day: string;
  readonly count: number;
}

/** Counts the events of names on each of the last days, oldest first; the last day is today. */
export async function countDays(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  appId: Uuid,
  names: readonly string[],
): Promise<(name: string) => DayCount[]> {
  const days = Array.from({ length: daysShown }, (_, i) =>
    new Date(clock.nowMs() - (daysShown - 1 - i) * dayMs).toISOString().slice(0, 10),
  );
  const counted = await listDaysOfNames(sql, appId, names, new Date(`${days[0]}T00:00:00Z`));
  const counts = new Map(counted.map(({ name, day, count }) => [`${day} ${name}`, count]));
  return (name) => days.map((day) => ({ day, count: counts.get(`${day} ${name}`) ?? 0 }));
}
