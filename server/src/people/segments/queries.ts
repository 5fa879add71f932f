// SQL: segments, and the scheduled messages that use one.

import { asJson, beginsWith, findRow, findValue, getValue, type Sql, type Tx } from '@carillon/postgres';
import { advisoryLocksOfApp } from '../../ground/database/advisory-locks.ts';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import { decodeId, encodeId, type Uuid } from '../../ground/values/ids.ts';
import type { StoredFilter } from '../audience/canonical-locales.ts';

export interface StoredSegment {
  readonly id: Uuid;
  readonly name: string;
  readonly description: string | null;
  readonly filter: unknown;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface SegmentFields {
  readonly name: string;
  readonly description: string | null;
  readonly filter: unknown;
  readonly fields: readonly string[];
}

/**
 * Locks an app's segments until the transaction ends, so that their number does not change after it
 * is counted.
 */
export async function lockSegments(tx: Tx, appId: Uuid): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(${advisoryLocksOfApp.segments}, hashtext(${appId}::text))`;
}

/** Counts the segments of an app. */
export async function countSegments(tx: Tx, appId: Uuid): Promise<number> {
  return getValue(tx`SELECT count(*) AS count FROM segments WHERE app_id = ${appId}`);
}

/** Adds a segment. Returns undefined when another segment has the name. */
export async function insertSegment(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  id: Uuid,
  { name, description, filter, fields }: SegmentFields,
): Promise<StoredSegment | undefined> {
  return findRow(tx`
    INSERT INTO segments (app_id, id, name, description, filter, fields, created_at, updated_at)
    VALUES (${appId}, ${id}, ${name}, ${description}, ${asJson(filter)}, ${fields},
      ${nowOf(tx, clock)}, ${nowOf(tx, clock)})
    ON CONFLICT (app_id, name) DO NOTHING
    RETURNING id, name, description, filter, created_at, updated_at`);
}

/** Finds the segment with this name. */
export async function findSegmentIdByName(tx: Tx, appId: Uuid, name: string): Promise<Uuid | undefined> {
  return findValue(tx`SELECT id FROM segments WHERE app_id = ${appId} AND name = ${name}`);
}

/** Replaces the fields of a segment. Returns undefined when there is no such segment. */
export async function updateSegment(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  id: Uuid,
  { name, description, filter, fields }: SegmentFields,
): Promise<StoredSegment | undefined> {
  return findRow(tx`
    UPDATE segments SET name = ${name}, description = ${description}, filter = ${asJson(filter)},
      fields = ${fields}, updated_at = ${nowOf(tx, clock)}
    WHERE app_id = ${appId} AND id = ${id}
    RETURNING id, name, description, filter, created_at, updated_at`);
}

export async function findSegment(tx: Tx, appId: Uuid, id: Uuid): Promise<StoredSegment | undefined> {
  return findRow(tx`
    SELECT id, name, description, filter, created_at, updated_at FROM segments WHERE app_id = ${appId} AND id = ${id}`);
}

/** Finds the segments with these ids that exist. */
export async function listSegmentsById(sql: Sql, appId: Uuid, ids: readonly Uuid[]): Promise<StoredSegment[]> {
  return sql`
    SELECT id, name, description, filter, created_at, updated_at FROM segments
    WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[])`;
}

/**
 * Prevents the deletion of segments until the transaction ends. Waits for a transaction that
 * deletes one.
 */
export async function keepSegments(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<void> {
  await tx`
    SELECT 1 FROM segments WHERE app_id = ${appId} AND id = ANY(${ids}::uuid[]) ORDER BY id FOR KEY SHARE`;
}

/**
 * Locks a segment until the transaction ends, after all transactions that keep it. Returns false
 * when there is no such segment.
 */
export async function lockSegmentToDelete(tx: Tx, appId: Uuid, id: Uuid): Promise<boolean> {
  const rows = await tx`SELECT 1 FROM segments WHERE app_id = ${appId} AND id = ${id} FOR UPDATE`;
  return rows.length === 1;
}

/**
 * Lists an app's segments, newest first, after a position. `search`: an id, or the beginning of a
 * name.
 */
export async function listSegments(
  sql: Sql,
  appId: Uuid,
  after: { createdAt: string; id: Uuid } | null,
  limit: number,
  search: string | null = null,
): Promise<StoredSegment[]> {
  const found =
    search === null
      ? sql``
      : sql`AND (id = ${decodeId('seg', search) ?? null}::uuid OR ${beginsWith(sql, sql`lower(name)`, search)})`;
  return sql`
    SELECT id, name, description, filter, created_at, updated_at FROM segments
    WHERE app_id = ${appId} ${found}
      ${after === null ? sql`` : sql`AND (created_at, id) < (${after.createdAt}::text::timestamptz, ${after.id}::uuid)`}
    ORDER BY created_at DESC, id DESC LIMIT ${limit}`;
}

/** Deletes a segment. Returns false when there is no such segment. */
export async function deleteSegment(tx: Tx, appId: Uuid, id: Uuid): Promise<boolean> {
  const result = await tx`DELETE FROM segments WHERE app_id = ${appId} AND id = ${id}`;
  return result.count === 1;
}

/** A scheduled message that needs a segment. */
export interface ScheduledUse {
  readonly id: Uuid;
  readonly name: string | null;
  readonly title: string | null;
  readonly runAt: Date;
  /** True: the message excludes the segment. */
  readonly isExclusion: boolean;
}

/**
 * Lists the oldest scheduled messages that use a segment as their audience or as their exclusion.
 */
export async function listScheduledUses(tx: Tx, appId: Uuid, id: Uuid, limit: number): Promise<ScheduledUse[]> {
  return tx`
    SELECT id, name, title, run_at, coalesce(exclude_segment_id = ${id}, false) AS is_exclusion FROM messages
    WHERE app_id = ${appId} AND status = 'scheduled'
      AND (audience ->> 'segment_id' = ${encodeId('seg', id)} OR exclude_segment_id = ${id})
    ORDER BY id LIMIT ${limit}`;
}

/** A segment whose filter compares some of the given keys. */
export interface SegmentNaming {
  readonly id: Uuid;
  readonly name: string;
  readonly fields: readonly string[];
}

/** Lists the segments whose filters compare any of these properties, by name. */
export async function listSegmentsNaming(tx: Tx, appId: Uuid, keys: readonly string[]): Promise<SegmentNaming[]> {
  const fields = keys.map((key) => `properties.${key}`);
  return tx`
    SELECT id, name, fields FROM segments
    WHERE app_id = ${appId} AND fields && ${fields}::text[] ORDER BY name`;
}

/** The next segments that compare any of these fields, of all apps, in the order of the primary key. */
export async function listFiltersComparing(
  sql: Sql,
  fields: readonly string[],
  after: Pick<StoredFilter, 'appId' | 'id'>,
): Promise<StoredFilter[]> {
  return sql`
    SELECT app_id, id, filter FROM segments
    WHERE (app_id, id) > (${after.appId}::uuid, ${after.id}::uuid) AND fields && ${fields}::text[]
    ORDER BY app_id, id LIMIT 100`;
}

/**
 * Locks an app's segments like `lockSegments`, but does not wait. Returns false when another
 * transaction has locked them.
 */
export async function tryLockSegments(tx: Tx, appId: Uuid): Promise<boolean> {
  return getValue(tx`
    SELECT pg_try_advisory_xact_lock(${advisoryLocksOfApp.segments}, hashtext(${appId}::text)) AS is_free`);
}

/**
 * Replaces only the filter. The time of the last change stays, because no person changed the
 * segment.
 */
export async function rewriteFilter(tx: Tx, { appId, id, filter }: StoredFilter): Promise<void> {
  await tx`UPDATE segments SET filter = ${asJson(filter)} WHERE app_id = ${appId} AND id = ${id}`;
}
