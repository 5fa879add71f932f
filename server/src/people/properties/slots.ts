// Slots: the typed columns of `audience` that hold the values of properties. Defines the columns
// and which slot a new key gets. Pure.
import { type Property, type PropertyType, propertyTypes } from './property.ts';

export const slotsOfType: Readonly<Record<PropertyType, { readonly column: string; readonly count: number }>> = {
  string: { column: 'text', count: 30 },
  number: { column: 'number', count: 30 },
  boolean: { column: 'bool', count: 10 },
};

/**
 * The column of a slot, such as `text_01`. The name consists of known words and a number, so it is
 * safe as an identifier.
 */
export function slotColumn(type: PropertyType, slot: number): string {
  return `${slotsOfType[type].column}_${String(slot).padStart(2, '0')}`;
}

/**
 * The places where values of a key are written: in its slot, in the overflow, or in both while it
 * moves.
 */
export interface KeyColumns {
  readonly slot: number | null;
  readonly isInOverflow: boolean;
}

export function columnsOfKey({
  slot,
  moveSlot,
  movePhase,
}: Pick<Property, 'slot' | 'moveSlot' | 'movePhase'>): KeyColumns {
  const isInBoth = movePhase === 'filling' || movePhase === 'switched';
  if (isInBoth) return { slot: slot ?? moveSlot ?? null, isInOverflow: true };
  return { slot, isInOverflow: slot === null };
}

const blockLength = 10;

/**
 * The columns that a copy of values writes: every block of ten columns in which a property has its
 * slot, completely. A statement that named only the used slots would have thousands of forms over
 * all apps, and the database keeps each form prepared.
 */
export function slotColumnsOf(
  properties: readonly Pick<Property, 'type' | 'slot' | 'moveSlot' | 'movePhase'>[],
): string[] {
  const columns: string[] = [];
  for (const type of propertyTypes) {
    const ofType = properties.filter((one) => one.type === type);
    const last = Math.max(0, ...ofType.map((one) => columnsOfKey(one).slot ?? 0));
    const end = Math.ceil(last / blockLength) * blockLength;
    for (let slot = 1; slot <= end; slot++) columns.push(slotColumn(type, slot));
  }
  return columns;
}

/** Assigns each new key the lowest free slot of its type, in order; null when none is left. */
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
