// Slots: the typed columns of `audience` that hold the values of catalogued properties. Which columns there are, and which
// one a new key gets. Pure.
import { type Property, type PropertyType, propertyTypes } from './property.ts';

const slotsOfType: Readonly<Record<PropertyType, { readonly column: string; readonly count: number }>> = {
  string: { column: 'text', count: 30 },
  number: { column: 'number', count: 30 },
  boolean: { column: 'bool', count: 10 },
};

/** The column of a slot, such as `text_01`: made of known words and a number, so it is safe as an identifier. */
export function slotColumn(type: PropertyType, slot: number): string {
  return `${slotsOfType[type].column}_${String(slot).padStart(2, '0')}`;
}

const blockLength = 10;

/**
 * The columns that a copy of values writes: each block of ten in which a property has its slot, whole. A statement that names
 * exactly the slots in use would have thousands of forms over all apps, and the database keeps each form prepared.
 */
export function slotColumnsOf(properties: readonly Pick<Property, 'type' | 'slot'>[]): string[] {
  const columns: string[] = [];
  for (const type of propertyTypes) {
    const last = Math.max(0, ...properties.filter((one) => one.type === type).map((one) => one.slot ?? 0));
    const end = Math.ceil(last / blockLength) * blockLength;
    for (let slot = 1; slot <= end; slot++) columns.push(slotColumn(type, slot));
  }
  return columns;
}

/** The lowest free slot for each new key in turn; null where its type has none left. */
export function assignSlots(
  taken: readonly Pick<Property, 'type' | 'slot'>[],
  newTypes: readonly PropertyType[],
): (number | null)[] {
  const used = new Set(taken.map(({ type, slot }) => `${type} ${slot}`));
  return newTypes.map((type) => {
    for (let slot = 1; slot <= slotsOfType[type].count; slot++) {
      if (used.has(`${type} ${slot}`)) continue;
      used.add(`${type} ${slot}`);
      return slot;
    }
    return null;
  });
}
