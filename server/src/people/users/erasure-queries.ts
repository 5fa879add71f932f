// SQL: erased users whose data is still to be cleared from some tables.

import { listValues, type Sql, type Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';

export interface Erasure {
  readonly appId: Uuid;
  /** The former user id, which resolves to nobody any more. */
  readonly userId: Uuid;
  /** The devices that belonged to the user. */
  readonly deviceIds: readonly Uuid[];
  /**
   * For each device, in the same order, a random id that replaces the device's id in everything
   * that happened before `at`.
   */
  readonly forgottenIds: readonly Uuid[];
  readonly at: Date;
}

/** The progress of a turn: events of one name are cleared up to and including this day. */
export interface ErasureProgress {
  readonly name: string;
  /** As `2026-11-21`. */
  readonly day: string;
}

export interface ListedErasure extends Erasure {
  /** The turn that clears this erasure; null: none yet. */
  readonly turnId: Uuid | null;
  /** The progress of the turn, stored on its oldest erasure. */
  readonly doneName: string | null;
  readonly doneDay: string | null;
}

/** Records a user whose data is to be cleared. */
export async function insertErasure(tx: Tx, erasure: Erasure): Promise<void> {
  const { appId, userId, deviceIds, forgottenIds, at } = erasure;
  await tx`
    INSERT INTO erasures (app_id, user_id, device_ids, forgotten_ids, at)
    VALUES (${appId}, ${userId}, ${deviceIds}::uuid[], ${forgottenIds}::uuid[], ${at})`;
}

/**
 * Lists the erased users and devices that may still have stored rows. Nothing shows these rows.
 */
export async function listErasedSubjects(sql: Sql, appId: Uuid): Promise<Uuid[]> {
  const rows = await sql<{ userId: Uuid; deviceIds: readonly Uuid[] }[]>`
    SELECT user_id, device_ids FROM erasures WHERE app_id = ${appId}`;
  return rows.flatMap(({ userId, deviceIds }) => [userId, ...deviceIds]);
}

/** Lists the apps with erasures that are older than `quietSeconds`. */
export async function listAppsWithErasures(sql: Sql, clock: Clock, quietSeconds: number): Promise<Uuid[]> {
  return listValues(sql`
    SELECT DISTINCT app_id FROM erasures WHERE at < ${clock.now} - ${quietSeconds} * interval '1 second' ORDER BY app_id`);
}

/** Lists an app's erasures that are older than `quietSeconds`, oldest first. */
export async function listErasures(
  sql: Sql,
  clock: Clock,
  appId: Uuid,
  quietSeconds: number,
  limit: number,
): Promise<ListedErasure[]> {
  return sql`
    SELECT app_id, user_id, device_ids, forgotten_ids, at, turn_id, done_name, done_day::text AS done_day FROM erasures
    WHERE app_id = ${appId} AND at < ${clock.now} - ${quietSeconds} * interval '1 second'
    ORDER BY at, user_id LIMIT ${limit}`;
}

/**
 * Begins a turn, or continues a turn whose process is gone, with a lease. Returns how many of the
 * erasures were still in the turn that was read and held by no other process. Does not wait for a
 * locked row. A lease that ends later than any was written before the clock was set back.
 */
export async function takeErasures(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  { userIds, formerTurnId, turnId, leaseSeconds }: TurnToTake,
): Promise<number> {
  const leaseEnd = tx`${clock.now} + ${leaseSeconds} * interval '1 second'`;
  const rows = await tx`
    WITH free AS (
      SELECT user_id FROM erasures
      WHERE app_id = ${appId} AND user_id = ANY(${userIds}::uuid[])
        AND turn_id IS NOT DISTINCT FROM ${formerTurnId}::uuid
        AND (turn_until IS NULL OR turn_until < ${clock.now} OR turn_until > ${leaseEnd} + interval '1 second')
      FOR UPDATE SKIP LOCKED
    )
    UPDATE erasures e SET turn_id = ${turnId},
      turn_until = CASE WHEN e.user_id = ${userIds[0] ?? null}::uuid
        THEN ${leaseEnd} END
    FROM free WHERE e.app_id = ${appId} AND e.user_id = free.user_id
    RETURNING 1`;
  return rows.length;
}

export interface TurnToTake {
  /** Oldest first; the lease and the progress stand on the first. */
  readonly userIds: readonly Uuid[];
  readonly formerTurnId: Uuid | null;
  readonly turnId: Uuid;
  readonly leaseSeconds: number;
}

/**
 * Locks a turn by its oldest erasure until the transaction ends, renews the lease and stores the
 * progress. Returns false when another process has taken the turn.
 */
export async function holdTurn(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  { userId, turnId, leaseSeconds, done }: TurnToHold,
): Promise<boolean> {
  const result = await tx`
    UPDATE erasures SET turn_until = ${clock.now} + ${leaseSeconds} * interval '1 second',
      done_name = coalesce(${done?.name ?? null}::text, done_name), done_day = coalesce(${done?.day ?? null}::date, done_day)
    WHERE app_id = ${appId} AND user_id = ${userId} AND turn_id = ${turnId}`;
  return result.count === 1;
}

export interface TurnToHold {
  readonly userId: Uuid;
  readonly turnId: Uuid;
  readonly leaseSeconds: number;
  /** The progress after the commit of this transaction; null when its work is not tracked. */
  readonly done: ErasureProgress | null;
}

/** Ends the lease of a turn, so that any process may continue it now. */
export async function freeTurn(sql: Sql, appId: Uuid, userId: Uuid, turnId: Uuid): Promise<void> {
  await sql`
    UPDATE erasures SET turn_until = NULL WHERE app_id = ${appId} AND user_id = ${userId} AND turn_id = ${turnId}`;
}

/** Deletes the records of users whose data is completely cleared. */
export async function deleteErasures(tx: Tx, appId: Uuid, userIds: readonly Uuid[]): Promise<void> {
  await tx`DELETE FROM erasures WHERE app_id = ${appId} AND user_id = ANY(${userIds}::uuid[])`;
}

export interface DraftNamingUsers {
  readonly id: Uuid;
  /** The draft as its author left it. Its audience names users. */
  readonly message: { readonly audience: { readonly external_ids: unknown } };
}

/**
 * Lists and locks the drafts of an app whose audience names users. An app has some hundred drafts
 * at most.
 */
export async function lockDraftsNamingUsers(tx: Tx, appId: Uuid): Promise<DraftNamingUsers[]> {
  return tx`
    SELECT id, message FROM drafts
    WHERE app_id = ${appId} AND json_typeof(message #> '{audience,external_ids}') = 'array'
    ORDER BY id FOR UPDATE`;
}

/**
 * Stores a draft's message as it is now. The time of the last change stays: nobody changed the
 * draft.
 */
export async function updateDraftMessage(tx: Tx, appId: Uuid, { id, message }: DraftNamingUsers): Promise<void> {
  await tx`UPDATE drafts SET message = ${JSON.stringify(message)}::text::json WHERE app_id = ${appId} AND id = ${id}`;
}
