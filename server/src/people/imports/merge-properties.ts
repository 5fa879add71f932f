// Merges a row into the properties of the user or device that it names.

import type { Tx } from '@carillon/postgres';
import { ApiError } from '../../ground/http/api-error.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { applyChanges } from '../properties/change-properties.ts';
import type { LearnedProperties } from '../properties/learn-properties.ts';
import {
  type Property,
  propertiesPerOwnerMax,
  type StoredProperties,
  type TextGone,
  mergeProperties as withChanges,
} from '../properties/property.ts';
import { readCatalog } from '../properties/queries.ts';
import type { ImportRow, Refusal } from './row.ts';

export interface RowToMerge {
  readonly row: ImportRow;
  readonly learned: LearnedProperties;
}

export interface PropertiesMerge {
  readonly catalog: ReadonlyMap<number, Property>;
  readonly refusals: Map<ImportRow, Refusal>;
  readonly gone: TextGone[];
}

/**
 * Changes the properties of `holder`; when the row gives null, all former values are deleted.
 * When the holder would have too many, the row is added to the refusals, with the keys of another
 * service's row that are too many. Returns false when nothing has changed.
 */
export function mergeProperties(
  { catalog, refusals, gone }: PropertiesMerge,
  { row, learned }: RowToMerge,
  given: { readonly properties: unknown },
  holder: { properties: StoredProperties },
): boolean {
  const kept = given.properties === null ? {} : holder.properties;
  try {
    const changed = applyChanges(kept, holder.properties, learned, catalog);
    holder.properties = changed.stored;
    gone.push(...changed.gone);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const misfits = row.isForeign ? listMisfits(catalog, kept, learned.changes) : [];
    refusals.set(row, { error, misfits: misfits.flatMap((id) => catalog.get(id)?.key ?? []) });
    if (!row.isForeign) return false;
    // The fitting properties are stored in the next try. The following rows are checked as if they
    // were stored.
    const fitting = new Map([...learned.changes].filter(([id]) => !misfits.includes(id)));
    holder.properties = withChanges(kept, fitting, (id) => catalog.has(id));
    return true;
  }
}

// The new properties beyond the limit: the last ones that the row names.
function listMisfits(
  catalog: ReadonlyMap<number, Property>,
  kept: StoredProperties,
  changes: LearnedProperties['changes'],
): number[] {
  const all = Object.keys(withChanges(kept, changes, (id) => catalog.has(id)));
  const added = [...changes].flatMap(([id, value]) => (value === null || id in kept ? [] : [id]));
  return added.slice(propertiesPerOwnerMax - all.length);
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
