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

/** Where the values of a key are written: in one place, and in both while it moves from one to the other. */
export interface Places {
  readonly slot: number | null;
  readonly isInOverflow: boolean;
}

export function placesOf({ slot, moveSlot, movePhase }: Pick<Property, 'slot' | 'moveSlot' | 'movePhase'>): Places {
  const isInBoth = movePhase === 'filling' || movePhase === 'switched';
  if (isInBoth) return { slot: slot ?? moveSlot ?? null, isInOverflow: true };
  return { slot, isInOverflow: slot === null };
}

const blockLength = 10;

/**
 * The columns that a copy of values writes: each block of ten in which a property has its slot, whole. A statement that names
 * exactly the slots in use would have thousands of forms over all apps, and the database keeps each form prepared.
 */
export function slotColumnsOf(
  properties: readonly Pick<Property, 'type' | 'slot' | 'moveSlot' | 'movePhase'>[],
): string[] {
  const columns: string[] = [];
  for (const type of propertyTypes) {
    const ofType = properties.filter((one) => one.type === type);
    const last = Math.max(0, ...ofType.map((one) => placesOf(one).slot ?? 0));
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

/** Is the key on its way out of a slot? */
function isLeaving({ slot, movePhase }: Pick<Property, 'slot' | 'movePhase'>): boolean {
  return movePhase === 'filling' ? slot !== null : slot === null && Boolean(movePhase);
}

/** A key of an app and how filters use it. */
export interface SlotCandidate extends Property {
  readonly usersCount: number;
  /** `much`: a segment compares it, or previews do again and again. `some`: a preview did lately. */
  readonly use: 'none' | 'some' | 'much';
}

export interface MoveToStart {
  readonly id: number;
  /** Into this slot, or out of it: whichever the key is not in. */
  readonly slot: number;
}

/**
 * Which keys should set out now: one that is much used and has no slot into a free one; where its type has none, the key that
 * nothing uses, and that the fewest profiles hold, out of its own. A key that stands in a slot stays there until another needs it.
 * `taken`: slots that are not free though no key here stands in them.
 */
export function planMoves(
  candidates: readonly SlotCandidate[],
  taken: readonly Pick<Property, 'type' | 'slot'>[],
): MoveToStart[] {
  const moves: MoveToStart[] = [];
  const standing = candidates.filter(({ slot }) => slot !== null);
  const occupied: Pick<Property, 'type' | 'slot'>[] = [...standing, ...taken];
  for (const type of propertyTypes) {
    const ofType = candidates.filter((one) => one.type === type);
    const wanting = ofType.filter((one) => one.slot === null && !one.movePhase && one.use === 'much');
    const free = assignSlots(
      occupied,
      wanting.map(() => type),
    );
    for (const [i, { id }] of wanting.entries()) {
      const slot = free[i] ?? null;
      if (slot !== null) moves.push({ id, slot });
    }
    const lacking = free.filter((slot) => slot === null).length - ofType.filter(isLeaving).length;
    const idle = ofType.filter((one) => one.slot !== null && !one.movePhase && one.use === 'none');
    idle.sort((one, other) => one.usersCount - other.usersCount || other.id - one.id);
    for (const { id, slot } of idle.slice(0, Math.max(0, lacking))) if (slot !== null) moves.push({ id, slot });
  }
  return moves;
}
