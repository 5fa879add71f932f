// SQL: the values of a moving key, copied and emptied on audience rows a chunk at a time. No statement waits for a row that
// somebody holds, and none holds more than a chunk.
import type { Fragment, Sql, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Property } from '../properties/property.ts';
import { slotColumn } from '../properties/slots.ts';
import { overflowColumn } from './filter-to-sql.ts';

/** Devices from one id to another, in their order: behind `after`, up to and with `upTo`; null: to the last. */
export interface Chunk {
  readonly after: Uuid;
  readonly upTo: Uuid | null;
}

/** What is done to each row: what is set, and where that changes anything. */
interface Work {
  readonly set: Fragment;
  readonly where: Fragment;
}

type Keyed = Pick<Property, 'id' | 'type'>;

/** Which of the four: the new place is filled from the old one, or the old one is emptied. */
export type MoveStep = 'fill slot' | 'fill overflow' | 'empty slot' | 'empty overflow';

// A column's name is a known word (`slotColumn`), never a caller's text.
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

/** Where does the chunk of so many devices end that begins behind a device? Undefined: there are not so many any more. */
export async function findChunkEnd(sql: Sql, appId: Uuid, after: Uuid, devices: number): Promise<Uuid | undefined> {
  const [row] = await sql<{ deviceId: Uuid }[]>`
    SELECT device_id FROM audience WHERE app_id = ${appId} AND device_id > ${after}
    ORDER BY device_id OFFSET ${devices - 1} LIMIT 1`;
  return row?.deviceId;
}

/**
 * Does a step on the rows of a chunk that need it, but for those that somebody holds. What is set is computed from the row as it
 * is when it is written: whoever wrote it last is not undone.
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

/** Is there a row left that a step would change? */
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
