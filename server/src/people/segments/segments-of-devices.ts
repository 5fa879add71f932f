// The segments that select some devices now: those of one user. Each segment is tested with the
// predicate of a send, on a few rows.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { type CheckedFilter, propertyKeysOf } from '../audience/check-filter.ts';
import { countSelected } from '../audience/explain-queries.ts';
import { findPropertiesByKeys } from '../properties/queries.ts';
import { listSegments, type StoredSegment } from './queries.ts';
import { readStoredFilter, stateOfFilter } from './segment.ts';

export interface SegmentOfDevices {
  readonly segment: StoredSegment;
  /** The active devices that it selects. */
  readonly devices: number;
}

export interface SegmentsPart {
  readonly selecting: readonly SegmentOfDevices[];
  /** The last segment that was tested, if there are more. */
  readonly stoppedAt: StoredSegment | null;
}

/** Tests up to `limit` segments of the app after a position, newest first. */
export async function listSegmentsOf(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  appId: Uuid,
  { deviceIds, subjects }: { readonly deviceIds: readonly Uuid[]; readonly subjects: readonly Uuid[] },
  after: { createdAt: string; id: Uuid } | null,
  limit: number,
): Promise<SegmentsPart> {
  const found = await listSegments(sql, appId, after, limit + 1);
  const asked = found.slice(0, limit);
  const stoppedAt = found.length > limit ? (asked.at(-1) ?? null) : null;
  const stored = asked.map((segment) => ({ segment, filter: readStoredFilter(segment.filter) }));
  const keys = [...new Set(stored.flatMap(({ filter }) => propertyKeysOf(filter)))];
  const known = keys.length === 0 ? [] : await findPropertiesByKeys(sql, appId, keys);
  const catalog = new Map(known.map((property) => [property.key, property]));
  const valid = stored.flatMap(({ segment, filter }): { segment: StoredSegment; filter: CheckedFilter }[] => {
    const state = stateOfFilter(filter, catalog);
    return state.isValid ? [{ segment, filter: state.filter }] : [];
  });
  if (valid.length === 0 || deviceIds.length === 0) return { selecting: [], stoppedAt };
  const filters = valid.map(({ filter }) => filter);
  const counts = await countSelected({ sql, clock }, { appId, deviceIds, subjects, filters });
  return {
    selecting: valid.flatMap(({ segment }, i) => {
      const devices = counts[i] ?? 0;
      return devices > 0 ? [{ segment, devices }] : [];
    }),
    stoppedAt,
  };
}
