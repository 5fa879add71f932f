// Settles purchases, installs and sessions: stores their credits after their window has closed.
// Works in chunks whose transactions store the progress, so that any number of processes may settle
// and each event is settled once. A late event is found by its id, which contains the time of its
// receipt.

import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { runAlone } from '../../ground/database/run-alone.ts';
import { mintUuid, type Uuid, uuidFloorOf } from '../../ground/values/ids.ts';
import { listAttributionWindows } from '../../teams/apps/queries.ts';
import { type AttributedName, attributedNames } from './attribution.ts';
import { addCreditedTotals, advanceSettled, findSettled, insertAttributions } from './attribution-queries.ts';
import { classAhead } from './class-ahead.ts';
import { type Classed, classBetween } from './class-between.ts';
import { type DueApp, listAppsToSettle, noteChecked } from './due-apps-queries.ts';
import { commitMsMax, noEvent, placeAt } from './marks.ts';
import { deleteOpenCredits } from './open-queries.ts';
import { quarterMs } from './periods.ts';
import { createTally } from './tally.ts';

export interface SettleDeps {
  readonly sql: Sql;
  readonly clock: Clock;
}

const hourMs = 3_600_000;

/**
 * Milliseconds. Events this close to the limit are settled at the next run, so that the limits of
 * time and receipt never cross.
 */
const marginMs = 120_000;

/**
 * Events in a chunk that is stored, at most. Storing one holds the lock on the app's progress for
 * some tenths of a second.
 */
export const settledAtOnceMax = 4_000;

/**
 * Settles all due events and classes other events ahead. Returns false when another process is
 * already doing so.
 */
export async function settleAlone(deps: SettleDeps): Promise<boolean> {
  return runAlone(deps.sql, 'settling', async () => {
    const { apps, at } = await listAppsToSettle(deps.sql, deps.clock);
    if (apps.length === 0) return;
    await settleDue(deps, apps);
    await classAhead(deps, apps);
    await noteChecked(deps.sql, apps, at);
  });
}

/**
 * Settles all due events of every app, or of `apps`. Afterwards no settling needs a delivery that
 * is older than twice an app's window.
 */
export async function settleDue(
  { sql, clock }: SettleDeps,
  apps?: readonly DueApp[],
  names: readonly AttributedName[] = attributedNames,
): Promise<void> {
  // One present instant for the whole run; with a moving one the run would never end.
  const nowMs = clock.nowMs();
  for (const { id: appId, windowHours } of apps ?? (await listAttributionWindows(sql))) {
    for (const name of names) {
      // When another process has settled some of them, the rest is read again.
      while (!(await settleName(sql, { appId, name, windowHours }, nowMs)));
    }
  }
}

interface Settling {
  readonly appId: Uuid;
  readonly name: AttributedName;
  readonly windowHours: number;
}

/**
 * Settles the due events of a name. Returns false when another process has settled some meanwhile:
 * nothing is locked while a chunk is classed, which takes the most time.
 */
async function settleName(sql: Sql, what: Settling, nowMs: number): Promise<boolean> {
  const { appId, name, windowHours } = what;
  const windowMs = windowHours * hourMs;
  let settled = (await findSettled(sql, appId)).get(name) ?? noEvent;
  const due = placeAt(nowMs - windowMs - marginMs);
  const received = uuidFloorOf(new Date(nowMs - commitMsMax));
  const to = {
    ...(due.at > settled.at ? due : { at: settled.at, id: settled.id }),
    receivedTo: received > settled.receivedTo ? received : settled.receivedTo,
  };
  if (to.at === settled.at && to.receivedTo === settled.receivedTo) return true;
  const chunks = classBetween(sql, { appId, name, windowMs, from: settled, to, atOnce: settledAtOnceMax });
  for await (const { classed, done } of prefetch(chunks)) {
    const isStored = await transaction(sql, async (tx) => {
      if (!(await advanceSettled(tx, appId, name, settled, done))) return false;
      await storeSettled(tx, what, classed);
      return true;
    });
    if (!isStored) return false;
    settled = done;
  }
  return true;
}

/** Prepares each item while the one before it is used. */
async function* prefetch<Item>(items: AsyncGenerator<Item, void>): AsyncGenerator<Item> {
  for (let next = items.next(); ; ) {
    const item = await next;
    if (item.done) return;
    next = items.next();
    // The promise is awaited later. Without this handler its rejection would count as unhandled if
    // the use of the item fails first.
    next.catch(() => undefined);
    yield item.value;
  }
}

/**
 * Stores settled events with their credits, which replace credits ahead: each purchase as a row,
 * and sums for all names.
 */
export async function storeSettled(
  tx: Tx,
  { appId, name, windowHours }: Settling,
  classed: readonly Classed[],
): Promise<void> {
  if (classed.length === 0) return;
  const tally = createTally();
  for (const { event, credit } of classed) {
    if (credit.messageId !== null) tally.add(quarterOf(event), name, event, credit);
  }
  await addCreditedTotals(tx, appId, name, tally.rows());
  if (name === 'purchase') {
    const purchases = classed.map(({ event: { id: eventId, at, currency, amount, externalId, subjectId }, credit }) => {
      return { subjectId: externalId === null ? mintUuid() : subjectId, eventId, at, currency, amount, ...credit };
    });
    await insertAttributions(tx, appId, windowHours, purchases);
  }
  await deleteOpenCredits(
    tx,
    appId,
    name,
    classed.map(({ event }) => event.id),
  );
}

/** The number of the quarter of an hour in which an event occurred. */
export function quarterOf({ at }: { readonly at: Date }): number {
  return Math.floor(at.getTime() / quarterMs);
}
