// Resolves an audience as a caller names it to a predicate over the audience table: segments are
// looked up, and filters are checked against the current catalog. `audience/queries.ts` asks which
// devices it selects.

import type { Tx } from '@carillon/postgres';
import { invalid, noSuch } from '../../ground/http/api-error.ts';
import { decodeId, type Uuid } from '../../ground/values/ids.ts';
import type { Issue } from '../../ground/values/issue.ts';
import type { Audience } from '../audience/audience.ts';
import { type CheckedFilter, checkFilter, propertyKeysOf } from '../audience/check-filter.ts';
import type { ResolvedAudience } from '../audience/queries.ts';
import type { Property } from '../properties/property.ts';
import { findPropertiesByKeys } from '../properties/queries.ts';
import { findSegment, keepSegments } from './queries.ts';
import { readStoredFilter, stateOfFilter } from './segment.ts';

/** The paths of the selector and of the exclusion in the request, for refusals. */
export interface AudiencePaths {
  readonly audience: readonly string[];
  readonly exclude: readonly string[];
}

export const messagePaths: AudiencePaths = { audience: ['audience'], exclude: ['exclude_segment_id'] };

/**
 * Prevents the deletion of an audience's segments until the transaction ends, for a message that
 * needs them later.
 */
export async function keepSegmentsOf(
  tx: Tx,
  appId: Uuid,
  audience: Audience,
  excludeSegmentId: string | null,
): Promise<void> {
  const named = ['segment_id' in audience ? audience.segment_id : null, excludeSegmentId];
  const ids = named.flatMap((segmentId) => (segmentId && decodeId('seg', segmentId)) || []);
  if (ids.length > 0) await keepSegments(tx, appId, ids);
}

/**
 * Resolves an audience. Throws the 400 with every issue of the filter, and the 400
 * `segment_invalid` for a segment that no longer fits the catalog. Throws the 404 for a segment
 * that does not exist, after the 400s (contract 1).
 */
export async function resolveAudience(
  tx: Tx,
  appId: Uuid,
  audience: Audience,
  excludeSegmentId: string | null = null,
  paths: AudiencePaths = messagePaths,
): Promise<ResolvedAudience> {
  const issues: Issue[] = [];
  const selected =
    'filter' in audience
      ? await checkAgainstCatalog(tx, appId, audience.filter, [...paths.audience, 'filter'], issues)
      : 'segment_id' in audience
        ? await openSegment(tx, appId, audience.segment_id, [...paths.audience, 'segment_id'], issues)
        : undefined;
  const excluded =
    excludeSegmentId === null ? undefined : await openSegment(tx, appId, excludeSegmentId, paths.exclude, issues);
  if (issues.length > 0) throw invalid(issues);
  if (selected === 'missing') throw noSuch('segment', 'segment_id' in audience ? audience.segment_id : '');
  if (excluded === 'missing') throw noSuch('segment', excludeSegmentId ?? '');
  const exclude = excluded ?? null;
  if ('filter' in audience || 'segment_id' in audience) {
    if (selected === undefined) throw new Error('an audience by filter has no filter');
    return { filter: selected, exclude };
  }
  return { ...audience, exclude };
}

async function checkAgainstCatalog(
  tx: Tx,
  appId: Uuid,
  json: unknown,
  path: readonly string[],
  issues: Issue[],
): Promise<CheckedFilter | undefined> {
  const filter = readStoredFilter(json);
  const checked = checkFilter(filter, await readCatalogOf(tx, appId, propertyKeysOf(filter)));
  if ('filter' in checked) return checked.filter;
  issues.push(...checked.issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] })));
  return undefined;
}

async function openSegment(
  tx: Tx,
  appId: Uuid,
  segmentId: string,
  path: readonly string[],
  issues: Issue[],
): Promise<CheckedFilter | 'missing' | undefined> {
  const id = decodeId('seg', segmentId);
  const segment = id === undefined ? undefined : await findSegment(tx, appId, id);
  if (!segment) return 'missing';
  const filter = readStoredFilter(segment.filter);
  const state = stateOfFilter(filter, await readCatalogOf(tx, appId, propertyKeysOf(filter)));
  if (state.isValid) return state.filter;
  const message = `Segment '${segment.name}' no longer fits the catalog: ${state.reason}.`;
  issues.push({ path, code: 'segment_invalid', message });
  return undefined;
}

async function readCatalogOf(tx: Tx, appId: Uuid, keys: readonly string[]): Promise<ReadonlyMap<string, Property>> {
  if (keys.length === 0) return new Map();
  const entries = await findPropertiesByKeys(tx, appId, keys);
  return new Map(entries.map((entry) => [entry.key, entry]));
}
