// Classes events some minutes after they occurred, so that a report need not do so: the class of
// most unsettled events never changes. A change is recorded where it happens, and the event is
// classed again here. Until then a report classes the event itself. Settles nothing.

import { planWithoutValues, type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { type Uuid, uuidFloorOf } from '../../ground/values/ids.ts';
import { deletePeopleChanges, listPeopleChanges } from '../../people/devices/link-queries.ts';
import { getAttributionWindowHours, listAttributionWindows } from '../../teams/apps/queries.ts';
import { attributedNames } from './attribution.ts';
import { findNextEventMs, findSettled } from './attribution-queries.ts';
import { chunkEvents } from './chunk.ts';
import { classBetween, notWithin } from './class-between.ts';
import type { DueApp } from './due-apps-queries.ts';
import { type Between, commitMsMax, type Marks, noEvent, placeAt } from './marks.ts';
import { findSubjects } from './open-events.ts';
import {
  deleteOpen,
  deleteOpenCreditsOf,
  findOpenProgress,
  insertOpenCredits,
  upsertOpenProgress,
} from './open-queries.ts';
import { quarterMs } from './periods.ts';

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
    await findSettled(tx, appId, true);
    await deleteOpen(tx, appId);
  });
}

/**
 * Runs one step, during which nothing of the app is settled. Returns true when there may be more.
 */
async function classSome(tx: Tx, appId: Uuid, nowMs: number): Promise<boolean> {
  // The statements find rows by ids. With statistics from before the app existed, the planner would
  // scan whole tables.
  await planWithoutValues(tx);
  const settled = await findSettled(tx, appId, true);
  const firstSettledMs = Math.min(...[...settled.values()].map(({ at }) => at.getTime()));
  // When nothing is settled yet, the unsettled events may go back for years.
  if (settled.size < attributedNames.length || firstSettledMs === 0) return false;
  const [firstReceived = ''] = [...settled.values()].map((one) => one.receivedTo).sort();
  const windowHours = await getAttributionWindowHours(tx, appId);
  let open = await findOpenProgress(tx, appId);
  // Events that occur now would count as classed, because the clock was set back since.
  const isAhead = open !== undefined && open.at.getTime() > nowMs;
  if (open === undefined || open.windowHours !== windowHours || isAhead) {
    await deleteOpen(tx, appId);
    open = { windowHours, ...placeAt(firstSettledMs), receivedTo: firstReceived };
  } else if (open.at.getTime() < firstSettledMs && open.receivedTo <= firstReceived) {
    // After a rest, the events that were settled meanwhile are skipped.
    open = { ...open, at: new Date(firstSettledMs) };
  }
  /** Classes the events of all names, except settled ones. */
  const classAll = async (betweenOf: (ofSettled: Marks) => Between): Promise<void> => {
    for (const name of attributedNames) {
      const ofSettled = settled.get(name) ?? noEvent;
      const asked = { ...betweenOf(ofSettled), select: notWithin(ofSettled), atOnce: chunkEvents };
      for await (const { classed } of classBetween(tx, { ...asked, appId, name, windowMs: windowHours * hourMs })) {
        await insertOpenCredits(tx, appId, name, classed);
      }
    }
  };
  const changes = await listPeopleChanges(tx, appId, changesAtOnce);
  if (changes.length > 0) {
    const to = open;
    const subjectIds = await findSubjects(tx, appId, [...new Set(changes.flatMap(({ ids }) => ids))]);
    await deleteOpenCreditsOf(tx, appId, subjectIds);
    await classAll((from) => ({ from, to, subjectIds }));
    await deletePeopleChanges(
      tx,
      appId,
      changes.map(({ id }) => id),
    );
    return true;
  }
  const received = uuidFloorOf(new Date(nowMs - commitMsMax));
  const dueMs = nowMs - ageMsMin;
  // An app that has rested is not scanned quarter by quarter. An event that arrives later in the
  // skipped time is a late event.
  const nextMs = await findNextEventMs(tx, appId, { fromMs: open.at.getTime(), toMs: dueMs });
  const toMs = Math.max(open.at.getTime(), Math.min(dueMs, (nextMs ?? dueMs) + quarterMs));
  const to = { ...open, ...placeAt(toMs), receivedTo: received > open.receivedTo ? received : open.receivedTo };
  const from = open;
  await classAll(() => ({ from, to }));
  await upsertOpenProgress(tx, appId, to);
  return toMs < dueMs;
}
