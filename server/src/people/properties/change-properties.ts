// The properties of one owner, a user or a device, after a request, and the catalog entries that
// are needed to show and copy them. The caller holds the lock on the owner.

import type { Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import { type LearnedProperties, TooManyProperties } from './learn-properties.ts';
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
  const { refusal, ...changed } = applyChanges(formerKept, former, learned, catalog);
  if (refusal) throw refusal;
  return { ...changed, catalog };
}

/**
 * Does what `changeProperties` does, for many owners at once, with a catalog that was read before.
 * The catalog must have every number that is stored or changed. With a refusal, the result is that
 * of the changes without the misfits.
 */
export function applyChanges(
  formerKept: StoredProperties,
  former: StoredProperties,
  learned: LearnedProperties,
  catalog: ReadonlyMap<number, Property>,
): Omit<ChangedProperties, 'catalog'> & { readonly refusal?: TooManyProperties } {
  const merge = (changes: LearnedProperties['changes']) =>
    mergeProperties(formerKept, changes, (id) => catalog.has(id));
  const stored = merge(learned.changes);
  const surplus = Object.keys(stored).length - propertiesPerOwnerMax;
  if (surplus <= 0) return { stored, gone: textsGone(former, stored) };
  const added = [...learned.changes].flatMap(([id, value]) => (value === null || id in formerKept ? [] : [id]));
  const misfits = new Set(added.slice(-surplus));
  const fitting = merge(new Map([...learned.changes].filter(([id]) => !misfits.has(id))));
  const message = `At most ${propertiesPerOwnerMax} properties are stored for one user or device.`;
  const refusal = new TooManyProperties(
    message,
    [...misfits].flatMap((id) => catalog.get(id)?.key ?? []),
  );
  return { stored: fitting, gone: textsGone(former, fitting), refusal };
}
