// What a row makes of the properties of the user or device that it names.
import { ApiError } from '../platform/api-error.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
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
 * Changes `holder`; with null for what the row gives, nothing of what it had is kept. False: it would hold too many, the row is
 * among the refusals, and nothing has changed.
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

/** The catalog as far as stored and changed values need it, with everything that has a slot. */
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
