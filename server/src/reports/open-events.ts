// What is classed ahead of its settling: how far that goes, and whose events may be owed to another message since. Writes nothing.
import { listPeopleChanges } from '../devices/link-queries.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { AttributedName } from './attribution.ts';
import {
  type AttributableEvent,
  listDevicesOfUsers,
  listEvents,
  listLateEvents,
  listOwners,
  type Place,
  type Progress,
} from './attribution-queries.ts';
import { chunkEvents } from './chunk.ts';
import { findOpenProgress, listBeingErased, listExternalIds, type OpenProgress } from './open-queries.ts';
import type { Range } from './periods.ts';
import { nothingSettled } from './settled.ts';

export interface Open extends OpenProgress {
  /** Subjects of events whose credits are not taken as they were stored, but found out anew. */
  readonly changed: readonly Uuid[];
}

/** Of more than so many changes, or people, a report looks at none: it classes all events anew. */
const changesMax = 2_000;
const changedMax = 20_000;

/** What was classed ahead with a window; undefined: nothing that can be relied on. */
export async function findOpen(tx: Tx, appId: Uuid, windowHours: number): Promise<Open | undefined> {
  const progress = await findOpenProgress(tx, appId);
  if (progress === undefined || progress.windowHours !== windowHours) return undefined;
  const changes = await listPeopleChanges(tx, appId, changesMax + 1);
  if (changes.length > changesMax) return undefined;
  // Their events are cleared bit by bit; when all are, they have changed for the last time.
  const erased = await listBeingErased(tx, appId);
  const ids = [...changes.flatMap((change) => change.ids), ...erased.flatMap((one) => [one.userId, ...one.deviceIds])];
  if (ids.length > changedMax) return undefined;
  const changed = await findSubjects(tx, appId, ids);
  return changed.length > changedMax ? undefined : { ...progress, changed };
}

/** Under whom events are stored that devices or users have to do with: they, their users, and the devices of all of these. */
export async function findSubjects(tx: Tx, appId: Uuid, ids: readonly Uuid[]): Promise<Uuid[]> {
  if (ids.length === 0) return [];
  const subjects = new Set(ids);
  const owners = await listOwners(tx, appId, [...subjects]);
  const externalIds = new Set(await listExternalIds(tx, appId, [...subjects]));
  for (const { userId, externalId } of owners) {
    subjects.add(userId);
    externalIds.add(externalId);
  }
  if (externalIds.size === 0) return [...subjects];
  for (const { deviceId } of await listDevicesOfUsers(tx, appId, [...externalIds])) subjects.add(deviceId);
  return [...subjects];
}

/** The events of some subjects that occurred in a range, were reached by classing ahead, and are not settled: in chunks. */
export async function* readOpenOf(
  tx: Tx,
  asked: {
    readonly appId: Uuid;
    readonly name: AttributedName;
    readonly range: Range;
    readonly subjectIds: readonly Uuid[];
    readonly settled: Progress;
    readonly open: OpenProgress;
  },
): AsyncGenerator<AttributableEvent[]> {
  const { appId, name, subjectIds, settled, open } = asked;
  const { receivedTo } = open;
  const range = { fromMs: asked.range.fromMs, toMs: Math.min(asked.range.toMs, open.classedTo.getTime()) };
  const upTo: Place = { at: settled.settledAt, id: settled.settledId };
  const isPast = upTo.at.getTime() < range.fromMs;
  const common = { appId, name, range, subjectIds, receivedTo, limit: chunkEvents };
  for (let after: Place | null = isPast ? null : upTo; ; ) {
    const events: AttributableEvent[] = await listEvents(tx, { ...common, after });
    yield events;
    const last = events.at(-1);
    if (last === undefined || events.length < chunkEvents) break;
    after = last;
  }
  if (isPast) return;
  for (let afterId = settled.receivedTo; afterId < receivedTo; ) {
    const events = await listLateEvents(tx, { ...common, upTo, afterId });
    yield events;
    const last = events.at(-1);
    if (last === undefined || events.length < chunkEvents) return;
    afterId = last.id;
  }
}

/** The events of a range that occurred before `classedTo` and were received too late to be classed ahead: in chunks. */
export async function* readLate(
  tx: Tx,
  asked: {
    readonly appId: Uuid;
    readonly name: AttributedName;
    readonly range?: Range;
    readonly receivedTo?: Uuid;
    readonly open: OpenProgress;
  },
): AsyncGenerator<AttributableEvent[]> {
  const { open, ...rest } = asked;
  const upTo: Place = { at: open.classedTo, id: nothingSettled.settledId };
  for (let afterId = open.receivedTo; ; ) {
    const events = await listLateEvents(tx, { ...rest, upTo, afterId, limit: chunkEvents });
    yield events;
    const last = events.at(-1);
    if (last === undefined || events.length < chunkEvents) return;
    afterId = last.id;
  }
}
