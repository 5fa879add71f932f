// Reads chosen properties from audience rows for rendering: the columns to select, and how to read
// them.
import type { Fragment, Tx } from '@carillon/postgres';
import type { Property, PropertyValue } from '../properties/property.ts';
import { slotColumn } from '../properties/slots.ts';

type Column = Pick<Property, 'id' | 'key' | 'type' | 'slot'>;

/**
 * SELECT items to append after other aggregates of a query that names `audience` as `a`. Each item
 * begins with a comma.
 */
export function propertyLists(tx: Tx, properties: readonly Column[]): Fragment {
  const columns = properties.map(({ id, type, slot }) =>
    slot === null
      ? tx`, json_agg(a.overflow -> ${String(id)}::text) AS ${tx(alias(id))}`
      : tx`, json_agg(a.${tx(slotColumn(type, slot))}) AS ${tx(alias(id))}`,
  );
  return columns.length === 0 ? tx`` : tx`${columns}`;
}

/**
 * Reads the values of one row from lists that `propertyLists` selected, by key. Missing values are
 * absent.
 */
export function readProperties(
  read: (column: string) => unknown,
  properties: readonly Column[],
): Map<string, PropertyValue> {
  const values = new Map<string, PropertyValue>();
  for (const { id, key } of properties) {
    const value = read(alias(id));
    if (value !== null && value !== undefined) values.set(key, value as PropertyValue);
  }
  return values;
}

function alias(id: number): string {
  return `property${id}`;
}
