// The event catalog as people read it who write filters and reports: names with counts, and what their properties hold. Built from
// what was tracked, and complete up to the event that was stored last.
import type { Sql } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { type EventNameRow, findEventName, listEventNames, listEventProperties } from './catalog-queries.ts';
import type { EventPropertyType, Sample } from './known-properties.ts';

export interface CataloguedEvent extends EventNameRow {
  readonly properties: readonly CataloguedProperty[];
}

/** One key with one type of value; a key whose values differ in type stands there for each. */
export interface CataloguedProperty {
  readonly key: string;
  readonly type: EventPropertyType;
  /** Up to five; none of objects, arrays and null. */
  readonly samples: readonly Sample[];
}

/** An app's names after one, in their order. */
export async function listEventCatalog(
  sql: Sql,
  appId: Uuid,
  afterName: string | null,
  limit: number,
): Promise<CataloguedEvent[]> {
  return withProperties(sql, appId, await listEventNames(sql, appId, afterName, limit));
}

/** One name; undefined when nothing was ever tracked under it. */
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
