// SQL: drafts.

import { asJson, type Fragment, findRow, getValue, type Sql, type Tx } from '@carillon/postgres';
import { advisoryLocksOfApp } from '../../ground/database/advisory-locks.ts';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

export interface DraftFields {
  readonly name: string;
  readonly message: Readonly<Record<string, unknown>>;
}

export interface ListedDraft {
  readonly id: Uuid;
  readonly name: string;
  readonly title: string | null;
  readonly changedBy: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export type StoredDraft = ListedDraft & DraftFields;

const listedColumns = (tx: Tx): Fragment => tx`
  id, name, left(message #>> '{content,title}', 200) AS title, changed_by, created_at, updated_at`;

/**
 * Locks an app's drafts and templates until the transaction ends, so that their number does not
 * change after it is counted.
 */
export async function lockDrafts(tx: Tx, appId: Uuid): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(${advisoryLocksOfApp.drafts}, hashtext(${appId}::text))`;
}

export async function countDrafts(tx: Tx, appId: Uuid): Promise<number> {
  return getValue(tx`SELECT count(*) AS count FROM drafts WHERE app_id = ${appId}`);
}

/** Lists an app's drafts without their messages. */
export async function listDrafts(sql: Sql, appId: Uuid): Promise<ListedDraft[]> {
  return sql`
    SELECT ${listedColumns(sql)} FROM drafts WHERE app_id = ${appId}`;
}

/** Lists the drafts that name a segment as their audience or as their exclusion, by name. */
export async function listDraftsNaming(
  sql: Sql,
  appId: Uuid,
  segment: string,
  limit: number,
): Promise<{ id: Uuid; name: string; isExclusion: boolean }[]> {
  return sql`
    SELECT id, name, coalesce(message ->> 'exclude_segment_id' = ${segment}, false) AS is_exclusion FROM drafts
    WHERE app_id = ${appId}
      AND (message #>> '{audience,segment_id}' = ${segment} OR message ->> 'exclude_segment_id' = ${segment})
    ORDER BY name, id LIMIT ${limit}`;
}

export async function findDraft(tx: Tx, appId: Uuid, id: Uuid): Promise<StoredDraft | undefined> {
  return findRow(tx`
    SELECT ${listedColumns(tx)}, message FROM drafts WHERE app_id = ${appId} AND id = ${id}`);
}

/** Finds a draft and locks it until the transaction ends. */
export async function lockDraft(tx: Tx, appId: Uuid, id: Uuid): Promise<StoredDraft | undefined> {
  return findRow(tx`
    SELECT ${listedColumns(tx)}, message FROM drafts WHERE app_id = ${appId} AND id = ${id} FOR UPDATE`);
}

export async function insertDraft(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  id: Uuid,
  { name, message }: DraftFields,
  changedBy: string,
): Promise<void> {
  await tx`
    INSERT INTO drafts (app_id, id, name, message, changed_by, created_at, updated_at)
    VALUES (${appId}, ${id}, ${name}, ${asJson(message)}, ${changedBy}, ${nowOf(tx, clock)}, ${nowOf(tx, clock)})`;
}

/** Replaces a draft. Its `updated_at` always grows, so that two saves never look alike. */
export async function updateDraft(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  id: Uuid,
  { name, message }: DraftFields,
  changedBy: string,
): Promise<void> {
  await tx`
    UPDATE drafts SET name = ${name}, message = ${asJson(message)}, changed_by = ${changedBy},
      updated_at = greatest(${nowOf(tx, clock)}, updated_at + interval '1 millisecond')
    WHERE app_id = ${appId} AND id = ${id}`;
}

export async function deleteDraft(tx: Tx, appId: Uuid, id: Uuid): Promise<void> {
  await tx`DELETE FROM drafts WHERE app_id = ${appId} AND id = ${id}`;
}
