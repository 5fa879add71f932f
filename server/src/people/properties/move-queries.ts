// SQL: keys of the catalog that move into a slot.

import type { Sql, Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { MovePhase, Property } from './property.ts';

export interface Move extends Property {
  readonly appId: Uuid;
  readonly moveSlot: number;
  readonly movePhase: MovePhase;
  /** True when no process or transaction is left that knows the catalog from before this phase. */
  readonly isQuiet: boolean;
}

/**
 * Lists every key that moves, over all apps. A phase is quiet when two conditions hold. It is older
 * than any process keeps what it read of the catalog. And no transaction is left that began to
 * write before it. `moved_by` may be a transaction number that is still to come, when the database
 * was restored from a backup; then no such transaction is left.
 */
export async function listMoves(sql: Sql, clock: Clock, quietSeconds: number): Promise<Move[]> {
  return sql`
    SELECT app_id, id, key, type, slot, move_slot, move_phase,
      moved_at <= ${clock.now} - ${quietSeconds}::float8 * interval '1 second'
        AND (moved_by < pg_snapshot_xmin(pg_current_snapshot()) OR moved_by >= pg_snapshot_xmax(pg_current_snapshot()))
        AS is_quiet
    FROM properties WHERE move_slot IS NOT NULL ORDER BY app_id, id`;
}

/**
 * Returns whether the key is still in this phase. A key that was deleted meanwhile is in no phase.
 */
export async function isInPhase(sql: Sql, { appId, id, movePhase }: Move): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM properties WHERE app_id = ${appId} AND id = ${id} AND move_phase = ${movePhase}`;
  return rows.length > 0;
}

/** Starts a move: from now on values of the key are written to both places. */
export async function startMove(tx: Tx, clock: Clock, appId: Uuid, id: number, slot: number): Promise<void> {
  await tx`
    UPDATE properties
    SET move_slot = ${slot}, move_phase = 'filling', moved_at = ${clock.now}, moved_by = pg_current_xact_id()
    WHERE app_id = ${appId} AND id = ${id} AND move_slot IS NULL`;
}

/**
 * Moves the key to its next phase; `slot` is where its values are read from now on. Changes nothing
 * when the key is no longer in the phase before.
 */
export async function advanceMove(
  tx: Tx,
  clock: Clock,
  { appId, id, movePhase }: Move,
  next: { readonly movePhase: MovePhase; readonly slot: number | null },
): Promise<void> {
  await tx`
    UPDATE properties
    SET slot = ${next.slot}, move_phase = ${next.movePhase}, moved_at = ${clock.now}, moved_by = pg_current_xact_id()
    WHERE app_id = ${appId} AND id = ${id} AND move_phase = ${movePhase}`;
}

/** Ends a move: from now on values of the key are written to its slot alone. */
export async function endMove(tx: Tx, { appId, id, movePhase }: Move): Promise<void> {
  await tx`
    UPDATE properties SET move_slot = NULL, move_phase = NULL, moved_at = NULL, moved_by = NULL
    WHERE app_id = ${appId} AND id = ${id} AND move_phase = ${movePhase}`;
}

/** Lists those of the keys that have no slot and do not move to one. */
export async function listKeysWithoutSlot(
  sql: Sql,
  used: readonly { appId: Uuid; key: string }[],
): Promise<Pick<Move, 'appId' | 'id' | 'key' | 'type'>[]> {
  return sql`
    SELECT p.app_id, p.id, p.key, p.type
    FROM ${sql.rows('u', { uuid: ['appId'], text: ['key'] }, used)}
    JOIN properties p ON p.app_id = u.app_id AND p.key = u.key WHERE p.slot IS NULL AND p.move_slot IS NULL
    ORDER BY p.app_id, p.id`;
}
