// The event catalog for people who write filters and reports: names with counts, and the properties
// of their events. It is built from tracked events and complete up to the last stored one.
import type { Sql } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import { type EventNameRow, findEventName, listEventNames, listEventProperties } from './catalog-queries.ts';
import type { EventPropertyType, Sample } from './known-properties.ts';

export interface CataloguedEvent extends EventNameRow {
  readonly properties: readonly CataloguedProperty[];
}

/** One key with one type of value. A key with values of several types has one entry for each. */
export interface CataloguedProperty {
  readonly key: string;
  readonly type: EventPropertyType;
  /** At most five samples; none for objects, arrays and null. */
  readonly samples: readonly Sample[];
}

/** Lists an app's names after one, in their order. */
export async function listEventCatalog(
  sql: Sql,
  appId: Uuid,
  afterName: string | null,
  limit: number,
): Promise<CataloguedEvent[]> {
  return withProperties(sql, appId, await listEventNames(sql, appId, afterName, limit));
}

/** Finds one name; undefined when nothing was ever tracked under it. */
export async function findCataloguedEvent(sql: Sql, appId: Uuid, name: string): Promise<CataloguedEvent | undefined> {
  const row = await findEventName(sql, appId, name);
  const [found] = row ? await withProperties(sql, appId, [row]) : [];
  return found;
}

async function withProperties(sql: Sql, appId: Uuid, rows: readonly EventNameRow[]): Promise<CataloguedEvent[]> {
  const found = await listEventProperties(
    sql,
    appId,
    rows.map(({ name }) => name),
  );
  return rows.map((row) => ({
    ...row,
    properties: found.filter(({ name }) => name === row.name).map(({ key, type, samples }) => ({ key, type, samples })),
  }));
}
