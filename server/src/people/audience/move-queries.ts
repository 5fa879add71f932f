// SQL: copies the values of a moving key into its slot on audience rows, one chunk at a time. No
// statement waits for a locked row, and none locks more rows than a chunk.
import { type Fragment, findValue, type Sql, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
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

/** A key that moves into a slot. */
type Moving = Pick<Property, 'id' | 'type'> & { readonly moveSlot: number };

// Column names are known words (`slotColumn`), never a caller's text.
const slotOf = (tx: Tx, { type, moveSlot }: Moving): Fragment => tx`${tx(slotColumn(type, moveSlot))}`;

const isToFill = (tx: Tx, moving: Moving): Fragment =>
  tx`a.${slotOf(tx, moving)} IS DISTINCT FROM ${overflowColumn(tx, moving)}`;

/**
 * Finds the last device of the chunk of `devices` devices after `after`. Undefined when fewer
 * devices are left.
 */
export async function findChunkEnd(sql: Sql, appId: Uuid, after: Uuid, devices: number): Promise<Uuid | undefined> {
  return findValue(sql`
    SELECT device_id FROM audience WHERE app_id = ${appId} AND device_id > ${after}
    ORDER BY device_id OFFSET ${devices - 1} LIMIT 1`);
}

/**
 * Fills the slot on the rows of a chunk, except rows that another transaction has locked. The value
 * is taken from the row at the moment of the write, so no other write is undone.
 */
export async function fillChunk(sql: Sql, appId: Uuid, { after, upTo }: Chunk, moving: Moving): Promise<void> {
  await sql`
    UPDATE audience AS a SET ${slotOf(sql, moving)} = ${overflowColumn(sql, moving)}
    WHERE a.app_id = ${appId} AND a.device_id = ANY(ARRAY(
      SELECT a.device_id FROM audience a
      WHERE a.app_id = ${appId} AND a.device_id > ${after}
        ${upTo === null ? sql`` : sql`AND a.device_id <= ${upTo}`} AND ${isToFill(sql, moving)}
      FOR UPDATE SKIP LOCKED))`;
}

/** Returns whether the slot of a row is still to be filled. */
export async function isUnfilled(sql: Sql, appId: Uuid, moving: Moving): Promise<boolean> {
  const rows = await sql`SELECT 1 FROM audience a WHERE a.app_id = ${appId} AND ${isToFill(sql, moving)} LIMIT 1`;
  return rows.length > 0;
}
