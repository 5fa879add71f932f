// The notice after a save. It names the properties that were not saved, because their values have
// another type than the catalog's. Pure.
import type { PropertyConflict } from '../api/objects.ts';
import { propertyTypeNames } from './property-text.ts';

/** A type and no interface: Mantine takes only what may have further attributes. */
type Saved = { readonly color?: 'yellow'; readonly message: string };

/** `effect` is the sentence after a save of everything. */
export function tellSaved(conflicts: readonly PropertyConflict[], effect: string): Saved {
  if (conflicts.length === 0) return { message: `Saved. ${effect}` };
  const nameOf = (type: keyof typeof propertyTypeNames): string => `“${propertyTypeNames[type].toLowerCase()}”`;
  const told = conflicts.map(
    ({ key, expected, received }) => `${key} takes ${nameOf(expected)} and got ${nameOf(received)}`,
  );
  return { color: 'yellow', message: `Not everything was saved: ${told.join('; ')}.` };
}
