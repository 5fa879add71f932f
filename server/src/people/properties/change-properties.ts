// The properties of one owner, a user or a device, after a request, and the catalog entries that
// are needed to show and copy them. The caller holds the lock on the owner.

import type { Tx } from '@carillon/postgres';
import { invalid } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { LearnedProperties } from './learn-properties.ts';
import {
  mergeProperties,
  type Property,
  propertiesPerOwnerMax,
  type StoredProperties,
  type TextGone,
  textsGone,
} from './property.ts';
import { readCatalog } from './queries.ts';

export interface ChangedProperties {
  readonly stored: StoredProperties;
  /** Entries of the former and the stored properties, and of those with a slot. */
  readonly catalog: ReadonlyMap<number, Property>;
  /** Texts that the owner had and no longer has, for `recordSightings`. */
  readonly gone: readonly TextGone[];
}

/**
 * Throws the 400 when the owner would have too many properties. With `keepsFormer` false, all
 * former values are deleted.
 */
export async function changeProperties(
  tx: Tx,
  appId: Uuid,
  former: StoredProperties,
  learned: LearnedProperties,
  keepsFormer: boolean,
): Promise<ChangedProperties> {
  const formerKept = keepsFormer ? former : {};
  const numbers = [...Object.keys(former).map(Number), ...learned.changes.keys()];
  const catalog = await readCatalog(tx, appId, numbers);
  return { ...applyChanges(formerKept, former, learned, catalog), catalog };
}

/**
 * Does what `changeProperties` does, for many owners at once, with a catalog that was read before.
 * The catalog must have every number that is stored or changed.
 */
export function applyChanges(
  formerKept: StoredProperties,
  former: StoredProperties,
  learned: LearnedProperties,
  catalog: ReadonlyMap<number, Property>,
): Omit<ChangedProperties, 'catalog'> {
  const stored = mergeProperties(formerKept, learned.changes, (id) => catalog.has(id));
  if (Object.keys(stored).length > propertiesPerOwnerMax) {
    const message = `At most ${propertiesPerOwnerMax} properties are stored for one user or device.`;
    throw invalid([{ path: ['properties'], code: 'too_many_properties', message }]);
  }
  return { stored, gone: textsGone(former, stored) };
}
