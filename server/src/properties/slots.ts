// Slots: the typed columns of `audience` that hold the values of catalogued properties. Which columns there are, and which
// one a new key gets. Pure.
import type { Property, PropertyType } from './property.ts';

const slotsOfType: Readonly<Record<PropertyType, { readonly column: string; readonly count: number }>> = {
  string: { column: 'text', count: 30 },
  number: { column: 'number', count: 30 },
  boolean: { column: 'bool', count: 10 },
};

/** The column of a slot, such as `text_01`: made of known words and a number, so it is safe as an identifier. */
export function slotColumn(type: PropertyType, slot: number): string {
  return `${slotsOfType[type].column}_${String(slot).padStart(2, '0')}`;
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
