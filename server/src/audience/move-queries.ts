// SQL: copies and clears the values of a moving key on audience rows, one chunk at a time. No
// statement waits for a locked row, and none locks more rows than a chunk.
import type { Fragment, Sql, Tx } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import type { Property } from '../properties/property.ts';
import { slotColumn } from '../properties/slots.ts';
import { overflowColumn } from './filter-to-sql.ts';

/**
 * A range of devices in the order of their ids: greater than `after`, up to and including `upTo`.
 * Null: up to the last device.
 */
export interface Chunk {
  readonly after: Uuid;
  readonly upTo: Uuid | null;
}

/** An update of rows: the assignment, and the condition under which it changes anything. */
interface Work {
  readonly set: Fragment;
  readonly where: Fragment;
}

type Keyed = Pick<Property, 'id' | 'type'>;

/** A step fills the new place from the old one, or empties the old place. */
export type MoveStep = 'fill slot' | 'fill overflow' | 'empty slot' | 'empty overflow';

// Column names are known words (`slotColumn`), never a caller's text.
function workOf(tx: Tx, step: MoveStep, property: Keyed, slot: number): Work {
  const column = tx(slotColumn(property.type, slot));
  const number = String(property.id);
  switch (step) {
    case 'fill slot': {
      const value = overflowColumn(tx, property);
      return { set: tx`${column} = ${value}`, where: tx`a.${column} IS DISTINCT FROM ${value}` };
    }
    case 'fill overflow': {
      const value = tx`to_jsonb(a.${column})`;
      return {
        set: tx`overflow = CASE WHEN a.${column} IS NULL THEN a.overflow - ${number}::text
          ELSE a.overflow || jsonb_build_object(${number}::text, ${value}) END`,
        where: tx`(a.overflow -> ${number}::text) IS DISTINCT FROM ${value}`,
      };
    }
    case 'empty slot':
      return { set: tx`${column} = NULL`, where: tx`a.${column} IS NOT NULL` };
    case 'empty overflow':
      return { set: tx`overflow = a.overflow - ${number}::text`, where: tx`a.overflow ? ${number}::text` };
  }
}

/**
 * Finds the last device of the chunk of `devices` devices after `after`. Undefined when fewer
 * devices are left.
 */
export async function findChunkEnd(sql: Sql, appId: Uuid, after: Uuid, devices: number): Promise<Uuid | undefined> {
  const [row] = await sql<{ deviceId: Uuid }[]>`
    SELECT device_id FROM audience WHERE app_id = ${appId} AND device_id > ${after}
    ORDER BY device_id OFFSET ${devices - 1} LIMIT 1`;
  return row?.deviceId;
}

/**
 * Applies a step to the rows of a chunk that need it, except rows that another transaction has
 * locked. The new value is computed from the row at the moment of the write, so no other write is
 * undone.
 */
export async function updateChunk(
  sql: Sql,
  appId: Uuid,
  { after, upTo }: Chunk,
  step: MoveStep,
  property: Keyed & { readonly moveSlot: number },
): Promise<void> {
  const { set, where } = workOf(sql, step, property, property.moveSlot);
  await sql`
    UPDATE audience AS a SET ${set}
    WHERE a.app_id = ${appId} AND a.device_id = ANY(ARRAY(
      SELECT a.device_id FROM audience a
      WHERE a.app_id = ${appId} AND a.device_id > ${after}
        ${upTo === null ? sql`` : sql`AND a.device_id <= ${upTo}`} AND ${where}
      FOR UPDATE SKIP LOCKED))`;
}

/** Returns whether a row is left that the step would change. */
export async function isStepLeft(
  sql: Sql,
  appId: Uuid,
  step: MoveStep,
  property: Keyed & { readonly moveSlot: number },
): Promise<boolean> {
  const { where } = workOf(sql, step, property, property.moveSlot);
  const rows = await sql`SELECT 1 FROM audience a WHERE a.app_id = ${appId} AND ${where} LIMIT 1`;
  return rows.length > 0;
}
