// The copy of a user's profile on the audience row of each of their devices, merged with the
// device's own properties. Pure: the same profile, properties and slots give the same copy, so
// writing the copy again repairs any row.
import type { Uuid } from '../../ground/values/ids.ts';
import type { Property, PropertyValue, StoredProperties } from '../properties/property.ts';
import { columnsOfKey, slotColumn, slotColumnsOf } from '../properties/slots.ts';

/** A user's profile as filters read it. */
export interface Profile {
  readonly userId: Uuid;
  readonly externalId: string;
  readonly createdAt: Date;
  readonly firstName: string | null;
  readonly country: string | null;
  readonly language: string | null;
  readonly timezone: string | null;
  readonly properties: StoredProperties;
}

export interface ProfileCopy {
  /** Columns of `audience` with their values: the user's fields and the slots. */
  readonly columns: Readonly<Record<string, PropertyValue | Date | null>>;
  /** Values of properties without a slot and of moving properties, by catalog number. */
  readonly overflow: StoredProperties;
}

/**
 * Merges both sets of properties; the user's value wins (contract 6, semantics 4). `slotted`: the
 * app's properties that have a slot or move. A value under any other number goes to `overflow`,
 * where no filter looks for the value of a deleted key.
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
    // Until the next release drops both: the version before counts such users by their ids.
    user_block: null,
    user_bit: 0,
  };
  const { written, places } = layoutOf(slotted);
  for (const column of written) columns[column] = null;
  for (const { id, column, isInOverflow } of places) {
    columns[column] = values.get(id) ?? null;
    if (!isInOverflow) values.delete(id);
  }
  return { columns, overflow: Object.fromEntries(values) };
}

/** The places for the values of an app's properties. */
interface Layout {
  readonly written: readonly string[];
  readonly places: readonly { readonly id: string; readonly column: string; readonly isInOverflow: boolean }[];
}

// A caller that copies thousands of profiles passes the same list each time.
const layouts = new WeakMap<readonly Property[], Layout>();

function layoutOf(slotted: readonly Property[]): Layout {
  const known = layouts.get(slotted);
  if (known) return known;
  const places = slotted.flatMap((property) => {
    const { slot, isInOverflow } = columnsOfKey(property);
    const id = String(property.id);
    return slot === null ? [] : [{ id, column: slotColumn(property.type, slot), isInOverflow }];
  });
  const layout = { written: slotColumnsOf(slotted), places };
  layouts.set(slotted, layout);
  return layout;
}
