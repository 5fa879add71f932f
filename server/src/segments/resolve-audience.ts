// An audience as a caller names it, resolved to what can be asked of the one table: segments are looked up, filters are held
// against the catalog as it is now. Whom it reaches is asked in `audience/queries.ts`.
import type { Audience } from '../audience/audience.ts';
import { type CheckedFilter, checkFilter, propertyKeysOf } from '../audience/check-filter.ts';
import type { ResolvedAudience } from '../audience/queries.ts';
import { type Issue, invalid, noSuch } from '../platform/api-error.ts';
import type { Tx } from '../platform/db.ts';
import { decodeId, type Uuid } from '../platform/ids.ts';
import type { Property } from '../properties/property.ts';
import { findPropertiesByKeys } from '../properties/queries.ts';
import { findSegment, keepSegments } from './queries.ts';
import { readStoredFilter, stateOfFilter } from './segment.ts';

/** Where a refusal points: the paths of the selector and of the exclusion in the request. */
export interface AudiencePaths {
  readonly audience: readonly string[];
  readonly exclude: readonly string[];
}

export const messagePaths: AudiencePaths = { audience: ['audience'], exclude: ['exclude_segment_id'] };

/** Keeps the segments that an audience names as long as the transaction lasts, for a message that will need them later. */
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
 * Throws the 400 with every issue of the filter, `segment_invalid` for a segment that no longer fits the catalog, and the 404
 * for one that does not exist; the 400s first (contract 1).
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
    if (selected === undefined) throw new Error('an audience by filter has none');
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
