// Classes events some minutes after they occurred, so that a report need not do so: the class of
// most unsettled events never changes. A change is recorded where it happens, and the event is
// classed again here. Until then a report classes the event itself. Settles nothing.
import { getAttributionWindowHours, listAttributionWindows } from '../apps/queries.ts';
import type { Clock } from '../database/clock.ts';
import { planWithoutValues, type Sql, type Tx, transaction } from '../database/db.ts';
import { deletePeopleChanges, listPeopleChanges } from '../devices/link-queries.ts';
import { type Uuid, uuidFloorOf } from '../ground/ids.ts';
import { type AttributedName, attributedNames } from './attribution.ts';
import {
  type AttributableEvent,
  type EventPosition,
  findNextEventMs,
  listEvents,
  lockProgressOfApp,
  type Progress,
} from './attribution-queries.ts';
import { chunkEvents } from './chunk.ts';
import { classifyEvents } from './classify-events.ts';
import type { DueApp } from './due-apps-queries.ts';
import { findSubjects, readLate, readOpenOf } from './open-events.ts';
import {
  deleteAllOpenCredits,
  deleteOpenCreditsOf,
  deleteOpenProgress,
  findOpenProgress,
  insertOpenCredits,
  type OpenProgress,
  upsertOpenProgress,
} from './open-queries.ts';
import { quarterMs, type Range } from './periods.ts';
import { commitMsMax, isSettled, nothingSettled } from './settled.ts';

export interface ClassAheadDeps {
  readonly sql: Sql;
  readonly clock: Clock;
}

const hourMs = 3_600_000;

/**
 * Milliseconds; the age at which events are classed. An event that is received later than this age,
 * less the time for its commit, stands in the index of late events.
 */
const ageMsMin = 330_000;

/** Changes that one transaction processes. */
const changesAtOnce = 100;

const everything: Range = { fromMs: 0, toMs: Date.UTC(2200, 0, 1) };

/**
 * Classes the due events of every app, or of `apps`. Settled events are skipped. Call it after
 * settling, in one process at a time.
 */
export async function classAhead({ sql, clock }: ClassAheadDeps, apps?: readonly DueApp[]): Promise<void> {
  // One present instant for the whole run; with a moving one the run would never end.
  const nowMs = clock.nowMs();
  for (const { id } of apps ?? (await listAttributionWindows(sql))) {
    while (await transaction(sql, (tx) => classSome(tx, id, nowMs)));
  }
}

/**
 * Deletes everything of an app that was classed ahead, so that the next run starts from the
 * beginning.
 */
export async function forgetClassedAhead(sql: Sql, appId: Uuid): Promise<void> {
  await transaction(sql, async (tx) => {
    await lockProgressOfApp(tx, appId);
    await forget(tx, appId);
  });
}

async function forget(tx: Tx, appId: Uuid): Promise<void> {
  await deleteOpenProgress(tx, appId);
  await deleteAllOpenCredits(tx, appId);
}

interface Classing {
  readonly tx: Tx;
  readonly appId: Uuid;
  readonly windowMs: number;
  readonly settledOf: (name: AttributedName) => Progress;
}

/**
 * Runs one step, during which nothing of the app is settled. Returns true when there may be more.
 */
async function classSome(tx: Tx, appId: Uuid, nowMs: number): Promise<boolean> {
  // The statements find rows by ids. With statistics from before the app existed, the planner would
  // scan whole tables.
  await planWithoutValues(tx);
  const settled = await lockProgressOfApp(tx, appId);
  const firstSettledMs = Math.min(...[...settled.values()].map(({ settledAt }) => settledAt.getTime()));
  // When nothing is settled yet, the unsettled events may go back for years.
  if (settled.size < attributedNames.length || firstSettledMs === 0) return false;
  const [firstReceived = ''] = [...settled.values()].map((one) => one.receivedTo).sort();
  const windowHours = await getAttributionWindowHours(tx, appId);
  let known = await findOpenProgress(tx, appId);
  // Events that occur now would count as classed, because the clock was set back since.
  const isAhead = known !== undefined && known.classedTo.getTime() > nowMs;
  if (known === undefined || known.windowHours !== windowHours || isAhead) {
    await forget(tx, appId);
    known = { windowHours, classedTo: new Date(firstSettledMs), receivedTo: firstReceived };
  } else if (known.classedTo.getTime() < firstSettledMs && known.receivedTo <= firstReceived) {
    // After a rest, the events that were settled meanwhile are skipped.
    known = { ...known, classedTo: new Date(firstSettledMs) };
  }
  const settledOf = (name: AttributedName): Progress => settled.get(name) ?? nothingSettled;
  const classing: Classing = { tx, appId, windowMs: windowHours * hourMs, settledOf };
  if (await applyChanges(classing, known)) return true;
  const floor = uuidFloorOf(new Date(nowMs - commitMsMax));
  const receivedTo = floor > known.receivedTo ? floor : known.receivedTo;
  if (receivedTo > known.receivedTo) await classLate(classing, known, receivedTo);
  const open = { ...known, receivedTo };
  const dueMs = nowMs - ageMsMin;
  // An app that has rested is not scanned quarter by quarter. An event that arrives later in the
  // skipped time is a late event.
  const nextMs = await findNextEventMs(tx, appId, { fromMs: open.classedTo.getTime(), toMs: dueMs });
  const fromMs = nextMs ?? Math.max(dueMs, open.classedTo.getTime());
  const toMs = Math.min(dueMs, fromMs + quarterMs);
  if (toMs > fromMs) await classRange(classing, open, { fromMs, toMs });
  await upsertOpenProgress(tx, appId, { ...open, classedTo: new Date(Math.max(fromMs, toMs)) });
  return toMs < dueMs;
}

/** Classes the events of changed people again. Returns false when nobody has changed. */
async function applyChanges(classing: Classing, open: OpenProgress): Promise<boolean> {
  const { tx, appId, settledOf } = classing;
  const changes = await listPeopleChanges(tx, appId, changesAtOnce);
  if (changes.length === 0) return false;
  const subjectIds = await findSubjects(tx, appId, [...new Set(changes.flatMap(({ ids }) => ids))]);
  await deleteOpenCreditsOf(tx, appId, subjectIds);
  for (const name of attributedNames) {
    const asked = { appId, name, range: everything, subjectIds, settled: settledOf(name), open };
    for await (const events of readOpenOf(tx, asked)) await store(classing, name, events);
  }
  await deletePeopleChanges(
    tx,
    appId,
    changes.map(({ id }) => id),
  );
  return true;
}

async function classLate(classing: Classing, open: OpenProgress, receivedTo: Uuid): Promise<void> {
  const { tx, appId, settledOf } = classing;
  for (const name of attributedNames) {
    for await (const events of readLate(tx, { appId, name, receivedTo, open })) {
      await store(
        classing,
        name,
        events.filter((event) => !isSettled(settledOf(name), event)),
      );
    }
  }
}

async function classRange(classing: Classing, { receivedTo }: OpenProgress, range: Range): Promise<void> {
  const { tx, appId, settledOf } = classing;
  for (const name of attributedNames) {
    for (let after: EventPosition | null = null; ; ) {
      const asked = { appId, name, range, after, receivedTo, limit: chunkEvents };
      const events: AttributableEvent[] = await listEvents(tx, asked);
      await store(
        classing,
        name,
        events.filter((event) => !isSettled(settledOf(name), event)),
      );
      const last = events.at(-1);
      if (last === undefined || events.length < chunkEvents) break;
      after = last;
    }
  }
}

async function store(
  { tx, appId, windowMs }: Classing,
  name: AttributedName,
  events: readonly AttributableEvent[],
): Promise<void> {
  const { credits } = await classifyEvents(tx, { appId, windowMs }, events);
  const credited = events.flatMap(({ id: eventId, subjectId, at, currency, amount }, i) => {
    const credit = credits[i];
    if (credit === undefined || credit.class === 'unattributed') return [];
    return [{ eventId, subjectId, at, currency, amount, ...credit }];
  });
  if (credited.length > 0) await insertOpenCredits(tx, appId, name, credited);
}
