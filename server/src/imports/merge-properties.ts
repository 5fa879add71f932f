// Merges a row into the properties of the user or device that it names.

import type { Tx } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import { ApiError } from '../http/api-error.ts';
import { applyChanges } from '../properties/change-properties.ts';
import type { LearnedProperties } from '../properties/learn-properties.ts';
import type { Property, StoredProperties, TextGone } from '../properties/property.ts';
import { readCatalog } from '../properties/queries.ts';
import type { ImportRow } from './row.ts';

export interface RowToMerge {
  readonly row: ImportRow;
  readonly learned: LearnedProperties;
}

export interface PropertiesMerge {
  readonly catalog: ReadonlyMap<number, Property>;
  readonly refusals: Map<ImportRow, ApiError>;
  readonly gone: TextGone[];
}

/**
 * Changes the properties of `holder`; when the row gives null, all former values are deleted.
 * Returns false when the holder would have too many: the row is then added to the refusals and
 * nothing has changed.
 */
export function mergeProperties(
  { catalog, refusals, gone }: PropertiesMerge,
  { row, learned }: RowToMerge,
  given: { readonly properties: unknown },
  holder: { properties: StoredProperties },
): boolean {
  try {
    const kept = given.properties === null ? {} : holder.properties;
    const changed = applyChanges(kept, holder.properties, learned, catalog);
    holder.properties = changed.stored;
    gone.push(...changed.gone);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    refusals.set(row, error);
    return false;
  }
}

/**
 * Reads the catalog entries of all stored and changed values, and of every property with a slot.
 */
export async function readCatalogOf(
  tx: Tx,
  appId: Uuid,
  learned: readonly LearnedProperties[],
  stored: readonly StoredProperties[],
): Promise<ReadonlyMap<number, Property>> {
  const numbers = new Set(learned.flatMap(({ changes }) => [...changes.keys()]));
  for (const properties of stored) for (const id of Object.keys(properties)) numbers.add(Number(id));
  return readCatalog(tx, appId, [...numbers]);
}
