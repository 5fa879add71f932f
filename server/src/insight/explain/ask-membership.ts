// Asks whether the audiences of messages select devices now. For any number of messages, their
// segments, the catalog and the truth of all leaves take one statement each.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { decodeId, encodeId, type Uuid } from '../../ground/values/ids.ts';
import type { Audience } from '../../people/audience/audience.ts';
import { type CheckedFilter, checkFilter, propertyKeysOf } from '../../people/audience/check-filter.ts';
import { decide, leavesOf, type WrittenLeaf, writtenLeavesOf } from '../../people/audience/explain-filter.ts';
import { askLeaves, type LeavesOfDevice } from '../../people/audience/explain-queries.ts';
import type { Filter, Path } from '../../people/audience/filter.ts';
import { findPropertiesByKeys } from '../../people/properties/queries.ts';
import { listSegmentsById, type StoredSegment } from '../../people/segments/queries.ts';
import { readStoredFilter } from '../../people/segments/segment.ts';
import type { Asked, Membership } from './membership.ts';
import type { ExplainedDevice, ExplainedMessage } from './queries.ts';

export interface MembershipQuestion {
  readonly appId: Uuid;
  /** The devices with unknown membership, by message. */
  readonly wanted: readonly { readonly message: ExplainedMessage; readonly devices: readonly ExplainedDevice[] }[];
  /** The users and devices whose events count for these devices. */
  readonly subjects: readonly Uuid[];
}

/** A filter that a message names, prepared for the question. */
interface Source {
  readonly path: Path;
  readonly segment: { readonly id: string; readonly name: string } | null;
  readonly written: readonly WrittenLeaf[];
  readonly checked: CheckedFilter;
  /** The place of its first leaf among the leaves of all sources. */
  readonly at: number;
}

/** Returns a function that gives the answer for one message and device. */
export async function askMembership(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  { appId, wanted, subjects }: MembershipQuestion,
): Promise<(message: ExplainedMessage, device: ExplainedDevice) => Asked> {
  const messages = wanted.map(({ message }) => message);
  const segments = await readSegments(sql, appId, messages);
  const filters = new Map(messages.map((message) => [message.id, filtersOf(message, segments)]));
  const keys = [...filters.values()].flatMap((named) =>
    Object.values(named).flatMap((one) => (one && 'filter' in one ? propertyKeysOf(one.filter) : [])),
  );
  const catalog = new Map(
    (keys.length === 0 ? [] : await findPropertiesByKeys(sql, appId, [...new Set(keys)])).map((one) => [one.key, one]),
  );

  const sources = new Map<Named, Source>();
  const leaves: ReturnType<typeof leavesOf> = [];
  for (const named of [...filters.values()].flatMap(({ audience, exclusion }) => [audience, exclusion])) {
    if (named === null || !('filter' in named)) continue;
    const state = checkFilter(named.filter, catalog);
    if (!('filter' in state)) continue;
    const { path, segment, filter } = named;
    sources.set(named, {
      path,
      segment,
      written: writtenLeavesOf(filter),
      checked: state.filter,
      at: leaves.length,
    });
    leaves.push(...leavesOf(state.filter));
  }
  const deviceIds = [...new Set(wanted.flatMap(({ devices }) => devices.map(({ id }) => id)))];
  const asked =
    leaves.length === 0 || deviceIds.length === 0
      ? []
      : await askLeaves({ sql, clock }, { appId, deviceIds, subjects, leaves });
  const byDevice = new Map(asked.map((row) => [row.deviceId, row]));

  const answer = (named: Named | null, device: ExplainedDevice): Membership => {
    if (named === null) return { kind: 'everybody' };
    if ('missing' in named) return { kind: 'segment_gone', path: named.path };
    const source = sources.get(named);
    if (!source) return { kind: 'filter_invalid', path: named.path };
    return decideBy(source, byDevice.get(device.id));
  };
  return (message, device) => {
    const { audience, exclusion } = filters.get(message.id) ?? { audience: null, exclusion: null };
    return {
      audience: listedIn(message.audience as Audience, device) ?? answer(audience, device),
      exclusion: message.excludeSegmentId === null ? null : answer(exclusion, device),
    };
  };
}

/** A filter as a message names it, or the segment that is missing. */
type Named =
  | {
      readonly path: Path;
      readonly segment: { readonly id: string; readonly name: string } | null;
      readonly filter: Filter;
    }
  | { readonly path: Path; readonly missing: true };

async function readSegments(
  sql: Sql,
  appId: Uuid,
  messages: readonly ExplainedMessage[],
): Promise<ReadonlyMap<Uuid, StoredSegment>> {
  const ids = messages.flatMap(({ audience, excludeSegmentId }) => {
    const named = (audience as { segment_id?: string }).segment_id;
    const own = named === undefined ? undefined : decodeId('seg', named);
    return [...(own ? [own] : []), ...(excludeSegmentId ? [excludeSegmentId] : [])];
  });
  const found = ids.length === 0 ? [] : await listSegmentsById(sql, appId, [...new Set(ids)]);
  return new Map(found.map((segment) => [segment.id, segment]));
}

function filtersOf(
  { audience, excludeSegmentId }: ExplainedMessage,
  segments: ReadonlyMap<Uuid, StoredSegment>,
): { audience: Named | null; exclusion: Named | null } {
  const ofSegment = (id: Uuid | undefined, path: Path): Named => {
    const segment = id === undefined ? undefined : segments.get(id);
    if (!segment) return { path, missing: true };
    const named = { id: encodeId('seg', segment.id), name: segment.name };
    return { path, segment: named, filter: readStoredFilter(segment.filter) };
  };
  const selector = audience as Audience;
  const exclusion = excludeSegmentId === null ? null : ofSegment(excludeSegmentId, ['exclude_segment_id']);
  if ('filter' in selector) {
    const filter = readStoredFilter(selector.filter);
    return { audience: { path: ['audience', 'filter'], segment: null, filter }, exclusion };
  }
  if (!('segment_id' in selector)) return { audience: null, exclusion };
  return { audience: ofSegment(decodeId('seg', selector.segment_id), ['audience', 'segment_id']), exclusion };
}

/** Undefined when the audience is a filter or a segment. */
function listedIn(audience: Audience, device: ExplainedDevice): Membership | undefined {
  if ('all' in audience) return { kind: 'everybody' };
  if ('device_ids' in audience) {
    const isListed = audience.device_ids.includes(encodeId('dev', device.id));
    return { kind: isListed ? 'listed' : 'not_listed', path: ['audience', 'device_ids'] };
  }
  if ('external_ids' in audience) {
    const isListed = device.externalId !== null && audience.external_ids.includes(device.externalId);
    return { kind: isListed ? 'listed' : 'not_listed', path: ['audience', 'external_ids'] };
  }
  return undefined;
}

function decideBy({ path, segment, written, checked, at }: Source, row: LeavesOfDevice | undefined): Membership {
  const truths = row?.truths.slice(at, at + written.length) ?? [];
  const { matches, leaf, leafIs } = decide(checked, truths);
  const deciding = written[leaf];
  if (!deciding) throw new Error('a filter has no leaf that decides');
  const found = row?.actuals[at + leaf] ?? null;
  const place = { path: [...path, ...deciding.path], segment, leafIs };
  const kind = matches ? 'matches' : 'differs';
  if (deciding.kind === 'leaf') {
    const { field, op, value } = deciding;
    return { kind, leaf: { ...place, field, event: null, op, value, actual: found, lastAt: null } };
  }
  const { event, count } = deciding;
  const counted = found as { count: number; last_at: string | null } | null;
  const actual = counted?.count ?? 0;
  const lastAt = counted?.last_at ? new Date(counted.last_at).toISOString() : null;
  return { kind, leaf: { ...place, field: null, event, op: count.op, value: count.value, actual, lastAt } };
}
