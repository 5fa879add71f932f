// Reads chosen properties from audience rows, for those who render: the columns to select beside others, and what they say.
import type { Fragment, Tx } from '../platform/db.ts';
import type { Property, PropertyValue } from '../properties/property.ts';
import { slotColumn } from '../properties/slots.ts';

type Column = Pick<Property, 'id' | 'key' | 'type' | 'slot'>;

/** To be put behind other columns of a SELECT that knows `audience` as `a`; each begins with its comma. */
export function propertyColumns(tx: Tx, properties: readonly Column[]): Fragment {
  const columns = properties.map(({ id, type, slot }) =>
    slot === null
      ? tx`, a.overflow -> ${String(id)}::text AS ${tx(alias(id))}`
      : tx`, a.${tx(slotColumn(type, slot))} AS ${tx(alias(id))}`,
  );
  return columns.length === 0 ? tx`` : tx`${columns}`;
}

/** The values of a row selected so, by key; missing ones are absent. */
export function readPropertyColumns(
  row: Readonly<Record<string, unknown>>,
  properties: readonly Column[],
): Map<string, PropertyValue> {
  const values = new Map<string, PropertyValue>();
  for (const { id, key } of properties) {
    const value = row[alias(id)];
    if (value !== null && value !== undefined) values.set(key, value as PropertyValue);
  }
  return values;
}

function alias(id: number): string {
  return `property${id}`;
}
