// Creates, replaces and deletes segments. The filter must fit the catalog now, and the name must be
// free. A segment that a scheduled message needs cannot be deleted.
import { isDeepStrictEqual } from 'node:util';
import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { invalid, notFound } from '../../ground/http/api-error.ts';
import { encodeId, mintUuid, type Uuid } from '../../ground/values/ids.ts';
import type { Issue } from '../../ground/values/issue.ts';
import type { AuditFields } from '../../teams/audit/entry.ts';
import { type Audited, recordAudit } from '../../teams/audit/record-audit.ts';
import { canonicalFilter } from '../audience/canonical-filter.ts';
import { checkFilter, fieldsOf, propertyKeysOf } from '../audience/check-filter.ts';
import { findPropertiesByKeys } from '../properties/queries.ts';
import {
  countSegments,
  deleteSegment,
  findSegment,
  findSegmentIdByName,
  insertSegment,
  listScheduledUses,
  lockSegments,
  lockSegmentToDelete,
  type SegmentFields,
  type StoredSegment,
  updateSegment,
} from './queries.ts';
import { readStoredFilter, segmentsMax } from './segment.ts';

export interface SegmentDeps extends Audited {
  readonly sql: Sql;
  readonly clock: Clock;
}

/** A segment as a request describes it. */
export type SegmentGiven = Omit<SegmentFields, 'fields'>;

/**
 * The fields that are stored. Call it only for a filter that fits, because bringing values to
 * canonical form is costly.
 */
export function fieldsOfSegment({ name, description, filter }: SegmentGiven): SegmentFields {
  return { name, description, filter: canonicalFilter(filter), fields: fieldsOf(readStoredFilter(filter)) };
}

/**
 * Creates a segment. Throws the 400 for a filter that does not fit, a name that is taken, and too
 * many segments.
 */
export async function createSegment(deps: SegmentDeps, appId: Uuid, given: SegmentGiven): Promise<StoredSegment> {
  const { sql, clock } = deps;
  await requireFitting(sql, appId, given.filter);
  const fields = fieldsOfSegment(given);
  return transaction(sql, async (tx) => {
    await lockSegments(tx, appId);
    if ((await countSegments(tx, appId)) >= segmentsMax) {
      throw invalid([{ path: [], code: 'too_big', message: `An app has at most ${segmentsMax} segments.` }]);
    }
    const segment = await insertSegment(tx, clock, appId, mintUuid(clock.nowMs()), fields);
    if (!segment) throw invalid([nameTaken]);
    const [target, after] = [encodeId('seg', segment.id), auditFieldsOf(fields)];
    await recordAudit({ ...deps, tx }, { appId, action: 'segment.create', target, after });
    return segment;
  });
}

/** The changes of a segment. An absent field keeps its value. */
export type SegmentEdit = Partial<SegmentGiven>;

/**
 * Changes name, description and filter. Throws the same 400s as `createSegment`, then the 404. `id`
 * is undefined when the caller's text was no id. `check` sees the segment before the change and may
 * throw.
 */
export async function editSegment(
  deps: SegmentDeps,
  appId: Uuid,
  id: Uuid | undefined,
  edit: SegmentEdit,
  check: (former: StoredSegment, tx: Tx) => Promise<void> = async () => undefined,
): Promise<StoredSegment> {
  const { sql, clock } = deps;
  if (edit.filter !== undefined) await requireFitting(sql, appId, edit.filter);
  return transaction(sql, async (tx) => {
    await lockSegments(tx, appId);
    const former = id && (await findSegment(tx, appId, id));
    if (former) await check(former, tx);
    const holder = edit.name === undefined ? undefined : await findSegmentIdByName(tx, appId, edit.name);
    if (holder !== undefined && holder !== id) throw invalid([nameTaken]);
    const fields = former && fieldsOfSegment({ ...former, ...edit });
    const segment = id && fields && (await updateSegment(tx, clock, appId, id, fields));
    if (!former || !segment) throw notFound();
    if (!isSame(former, segment)) {
      const [before, after] = [auditFieldsOf(fieldsOfSegment(former)), auditFieldsOf(fields)];
      const target = encodeId('seg', segment.id);
      await recordAudit({ ...deps, tx }, { appId, action: 'segment.replace', target, before, after });
    }
    return segment;
  });
}

const usesShown = 10;

/** Deletes a segment. Throws the 404, or the 400 `in_use` that names scheduled messages. */
export async function removeSegment(deps: SegmentDeps, appId: Uuid, id: Uuid): Promise<void> {
  await transaction(deps.sql, async (tx) => {
    // A message that is being scheduled locks the segment, so the transaction that commits later
    // sees the earlier one.
    if (!(await lockSegmentToDelete(tx, appId, id))) throw notFound();
    const former = await findSegment(tx, appId, id);
    const uses = await listScheduledUses(tx, appId, id, usesShown);
    if (uses.length > 0) {
      const names = uses.map((message) => encodeId('msg', message.id)).join(', ');
      throw invalid([{ path: ['id'], code: 'in_use', message: `Scheduled messages use this segment: ${names}.` }]);
    }
    await deleteSegment(tx, appId, id);
    const before = former && auditFieldsOf(fieldsOfSegment(former));
    const target = encodeId('seg', id);
    await recordAudit({ ...deps, tx }, { appId, action: 'segment.delete', target, ...(before && { before }) });
  });
}

/** The audit log gets no values of the filter, because an e-mail address may be among them. */
function auditFieldsOf({ name, fields }: SegmentFields): AuditFields {
  return { name, fields };
}

function isSame(one: StoredSegment, other: StoredSegment): boolean {
  const { name, description, filter } = one;
  return name === other.name && description === other.description && isDeepStrictEqual(filter, other.filter);
}

const nameTaken: Issue = { path: ['name'], code: 'name_taken', message: 'Another segment of this app has this name.' };

async function requireFitting(tx: Tx, appId: Uuid, json: unknown): Promise<void> {
  const filter = readStoredFilter(json);
  const entries = await findPropertiesByKeys(tx, appId, propertyKeysOf(filter));
  const checked = checkFilter(filter, new Map(entries.map((entry) => [entry.key, entry])));
  if ('issues' in checked) {
    throw invalid(checked.issues.map((issue) => ({ ...issue, path: ['filter', ...issue.path] })));
  }
}
