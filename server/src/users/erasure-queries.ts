// SQL: erased users of whom something is still to be cleared.
import type { Clock } from '../platform/clock.ts';
import type { Sql, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

export interface Erasure {
  readonly appId: Uuid;
  /** Resolves to nobody any more. */
  readonly userId: Uuid;
  /** The devices that were theirs. */
  readonly deviceIds: readonly Uuid[];
  /** In the same order: the random id under which what a device did before `at` goes on. */
  readonly forgottenIds: readonly Uuid[];
  readonly at: Date;
}

/** A day of events of one name, up to which a turn has come. */
export interface Place {
  readonly name: string;
  /** `2026-11-21`. */
  readonly day: string;
}

export interface ListedErasure extends Erasure {
  /** The turn in which it is being cleared; null: none yet. */
  readonly turnId: Uuid | null;
  /** Of the oldest of a turn. */
  readonly doneName: string | null;
  readonly doneDay: string | null;
}

/** Notes that something is to be cleared. */
export async function insertErasure(tx: Tx, erasure: Erasure): Promise<void> {
  const { appId, userId, deviceIds, forgottenIds, at } = erasure;
  await tx`
    INSERT INTO erasures (app_id, user_id, device_ids, forgotten_ids, at)
    VALUES (${appId}, ${userId}, ${deviceIds as Uuid[]}::uuid[], ${forgottenIds as Uuid[]}::uuid[], ${at})`;
}

/** The apps that have erasures from before the last `quietSeconds`. */
export async function listAppsWithErasures(sql: Sql, clock: Clock, quietSeconds: number): Promise<Uuid[]> {
  const rows = await sql<{ appId: Uuid }[]>`
    SELECT DISTINCT app_id FROM erasures WHERE at < ${clock.now} - ${quietSeconds} * interval '1 second' ORDER BY app_id`;
  return rows.map(({ appId }) => appId);
}

/** An app's erasures from before the last `quietSeconds`, oldest first. */
export async function listErasures(
  sql: Sql,
  clock: Clock,
  appId: Uuid,
  quietSeconds: number,
  limit: number,
): Promise<ListedErasure[]> {
  return sql<ListedErasure[]>`
    SELECT app_id, user_id, device_ids, forgotten_ids, at, turn_id, done_name, done_day::text AS done_day FROM erasures
    WHERE app_id = ${appId} AND at < ${clock.now} - ${quietSeconds} * interval '1 second'
    ORDER BY at, user_id LIMIT ${limit}`;
}

/**
 * Begins a turn, or takes up one whose process is gone: how many of its erasures were there, in the turn that was read and nobody
 * else's now. Does not wait for who holds one.
 */
export async function takeErasures(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  { userIds, formerTurnId, turnId, leaseSeconds }: TurnToTake,
): Promise<number> {
  const rows = await tx`
    WITH free AS (
      SELECT user_id FROM erasures
      WHERE app_id = ${appId} AND user_id = ANY(${userIds as Uuid[]}::uuid[])
        AND turn_id IS NOT DISTINCT FROM ${formerTurnId}::uuid AND (turn_until IS NULL OR turn_until < ${clock.now})
      FOR UPDATE SKIP LOCKED
    )
    UPDATE erasures e SET turn_id = ${turnId},
      turn_until = CASE WHEN e.user_id = ${userIds[0] ?? null}::uuid
        THEN ${clock.now} + ${leaseSeconds} * interval '1 second' END
    FROM free WHERE e.app_id = ${appId} AND e.user_id = free.user_id
    RETURNING 1`;
  return rows.length;
}

export interface TurnToTake {
  /** Oldest first: that one stands for the turn. */
  readonly userIds: readonly Uuid[];
  readonly formerTurnId: Uuid | null;
  readonly turnId: Uuid;
  readonly leaseSeconds: number;
}

/**
 * Holds a turn by its oldest erasure until the transaction ends, goes on leasing it, and notes how far it has come. False: it is
 * another process's by now.
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
  /** What is cleared with this transaction; null: nothing that is kept account of. */
  readonly done: Place | null;
}

/** Anyone may take up this turn now. */
export async function freeTurn(sql: Sql, appId: Uuid, userId: Uuid, turnId: Uuid): Promise<void> {
  await sql`
    UPDATE erasures SET turn_until = NULL WHERE app_id = ${appId} AND user_id = ${userId} AND turn_id = ${turnId}`;
}

/** Nothing of these users is to be cleared any more. */
export async function deleteErasures(tx: Tx, appId: Uuid, userIds: readonly Uuid[]): Promise<void> {
  await tx`DELETE FROM erasures WHERE app_id = ${appId} AND user_id = ANY(${userIds as Uuid[]}::uuid[])`;
}
