// What of a user stands on the audience row of each of their devices, and the device's own properties beneath it. Pure: the
// same profile, properties and slots give the same copy, so writing it again repairs any row.
import type { Uuid } from '../platform/ids.ts';
import type { Property, PropertyValue, StoredProperties } from '../properties/property.ts';
import { placesOf, slotColumn, slotColumnsOf } from '../properties/slots.ts';

/** A user as audiences see them. */
export interface Profile {
  readonly userId: Uuid;
  /** Theirs alone in the app; null: not given yet. */
  readonly number: number | null;
  readonly externalId: string;
  readonly createdAt: Date;
  readonly firstName: string | null;
  readonly country: string | null;
  readonly language: string | null;
  readonly timezone: string | null;
  readonly properties: StoredProperties;
}

export interface ProfileCopy {
  /** Columns of `audience` with their values: those of the user, and the slots. */
  readonly columns: Readonly<Record<string, PropertyValue | Date | null>>;
  /** The values of properties without a slot, and of those that move, by number. */
  readonly overflow: StoredProperties;
}

/**
 * Where both have a property, the user's value wins (contract 6, semantics 4). `slotted` are the properties of the app that
 * have a slot or move; a number that is not among them goes to `overflow`, where a deleted key's value is never looked for.
 */
export function copyProfile(
  profile: Profile | null,
  ownProperties: StoredProperties,
  slotted: readonly Property[],
): ProfileCopy {
  const values = new Map(Object.entries({ ...ownProperties, ...profile?.properties }));
  const columns: Record<string, PropertyValue | Date | null> = {
    user_id: profile?.userId ?? null,
    external_id: profile?.externalId ?? null,
    user_created_at: profile?.createdAt ?? null,
    first_name: profile?.firstName ?? null,
    country: profile?.country ?? null,
    language: profile?.language ?? null,
    user_timezone: profile?.timezone ?? null,
    ...(profile ? placeOfNumber(profile.number) : { user_block: null, user_bit: null }),
  };
  const { written, places } = layoutOf(slotted);
  for (const column of written) columns[column] = null;
  for (const { id, column, isInOverflow } of places) {
    columns[column] = values.get(id) ?? null;
    if (!isInOverflow) values.delete(id);
  }
  return { columns, overflow: Object.fromEntries(values) };
}

/** Numbers that share a block: as many as an `integer` has bits. */
const numbersPerBlock = 32;

/** Where a user's number stands on a row: in its block, as one bit of it. Bit 0: there is none yet, and the user is counted by id. */
export function placeOfNumber(number: number | null): { user_block: number | null; user_bit: number } {
  if (number === null) return { user_block: null, user_bit: 0 };
  return { user_block: Math.floor(number / numbersPerBlock), user_bit: 1 << (number % numbersPerBlock) };
}

/** Where the values of an app's properties go. */
interface Layout {
  readonly written: readonly string[];
  readonly places: readonly { readonly id: string; readonly column: string; readonly isInOverflow: boolean }[];
}

// Whoever copies thousands of profiles hands in one and the same list.
const layouts = new WeakMap<readonly Property[], Layout>();

function layoutOf(slotted: readonly Property[]): Layout {
  const known = layouts.get(slotted);
  if (known) return known;
  const places = slotted.flatMap((property) => {
    const { slot, isInOverflow } = placesOf(property);
    const id = String(property.id);
    return slot === null ? [] : [{ id, column: slotColumn(property.type, slot), isInOverflow }];
  });
  const layout = { written: slotColumnsOf(slotted), places };
  layouts.set(slotted, layout);
  return layout;
}
