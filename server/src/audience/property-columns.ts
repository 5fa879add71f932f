// Reads chosen properties from audience rows, for those who render: what to select beside other columns, and what it says.
import type { Fragment, Tx } from '../platform/db.ts';
import type { Property, PropertyValue } from '../properties/property.ts';
import { slotColumn } from '../properties/slots.ts';

type Column = Pick<Property, 'id' | 'key' | 'type' | 'slot'>;

/** To be put behind other aggregates of a SELECT that knows `audience` as `a`; each begins with its comma. */
export function propertyLists(tx: Tx, properties: readonly Column[]): Fragment {
  const columns = properties.map(({ id, type, slot }) =>
    slot === null
      ? tx`, json_agg(a.overflow -> ${String(id)}::text) AS ${tx(alias(id))}`
      : tx`, json_agg(a.${tx(slotColumn(type, slot))}) AS ${tx(alias(id))}`,
  );
  return columns.length === 0 ? tx`` : tx`${columns}`;
}

/** The values of one row in lists selected so, by key; missing ones are absent. */
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
