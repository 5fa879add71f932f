// Settles purchases, installs and sessions: stores their credits after their window has closed.
// Works in chunks whose transactions store the progress, so that any number of processes may settle
// and each event is settled once. A late event is found by its id, which contains the time of its
// receipt.
import { listAttributionWindows } from '../apps/queries.ts';
import type { Clock } from '../database/clock.ts';
import { type Sql, type Tx, transaction } from '../database/db.ts';
import { runAlone } from '../database/run-alone.ts';
import { writeDecimal } from '../ground/decimal.ts';
import { mintUuid, type Uuid, uuidFloorOf } from '../ground/ids.ts';
import { type AttributedName, attributedNames, type Credit } from './attribution.ts';
import {
  type AttributableEvent,
  addCreditedTotals,
  findProgress,
  insertAttributions,
  insertProgress,
  listEvents,
  listLateEvents,
  lockProgress,
  type Progress,
  updateProgress,
} from './attribution-queries.ts';
import { chunkEvents, nextChunk } from './chunk.ts';
import { classAhead } from './class-ahead.ts';
import { type Classified, classifyEvents } from './classify-events.ts';
import { type DueApp, listAppsToSettle, noteChecked } from './due-apps-queries.ts';
import { deleteOpenCredits } from './open-queries.ts';
import { quarterMs } from './periods.ts';
import { commitMsMax, nothingSettled } from './settled.ts';
import { createTally, type Tallied } from './tally.ts';

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
  for (const { id, windowHours } of apps ?? (await listAttributionWindows(sql))) {
    for (const name of names) {
      const what = { nowMs, appId: id, name, windowHours };
      for (let limit: number | undefined = chunkEvents; limit !== undefined; ) {
        const most: number = limit;
        limit = await transaction(sql, (tx) => settleLate({ ...what, tx }, most));
      }
      await settleInOrder(sql, what);
    }
  }
}

interface Settling {
  readonly nowMs: number;
  readonly appId: Uuid;
  readonly name: AttributedName;
  readonly windowHours: number;
}

interface SettleContext extends Settling {
  readonly tx: Tx;
}

/**
 * Settles up to `limit` late events, which were received after the events of their time were
 * settled. Returns the next limit; undefined when there are no more.
 */
async function settleLate(context: SettleContext, limit: number): Promise<number | undefined> {
  const { tx, nowMs, appId, name, windowHours } = context;
  const received = uuidFloorOf(new Date(nowMs - commitMsMax));
  const progress = await takeProgress(context, received);
  if (progress.receivedTo >= received) return undefined;
  const upTo = { at: progress.settledAt, id: progress.settledId };
  const asked = { appId, name, upTo, afterId: progress.receivedTo, receivedTo: received, limit };
  const late = await listLateEvents(tx, asked);
  const { credits, deliveries } = await classifyEvents(tx, { appId, windowMs: windowHours * hourMs }, late);
  await storeSettled(context, late, credits);
  const last = late.length < limit ? undefined : late.at(-1);
  await updateProgress(tx, appId, name, { ...progress, receivedTo: last?.id ?? received });
  return last === undefined ? undefined : nextChunk(limit, deliveries, settledAtOnceMax);
}

/**
 * Settles due events in their order. Nothing is locked while chunks are classed, which takes the
 * most time: two chunks are classed while the two before them are stored. When another process has
 * advanced the progress, the rest is read again.
 */
async function settleInOrder(sql: Sql, what: Settling): Promise<void> {
  const readNext = async (limit: number): Promise<Due | undefined> =>
    readDue(sql, what, await findProgress(sql, what.appId, what.name), limit);
  let reading = readNext(chunkEvents);
  for (;;) {
    const due = await reading;
    if (due === undefined) return;
    const following = due.isLast ? undefined : readDue(sql, what, due.to, due.nextLimit);
    // The promise is awaited later. Without this handler its rejection would count as unhandled if
    // storing fails first.
    following?.catch(() => undefined);
    const isStored = await transaction(sql, (tx) => storeDue({ ...what, tx }, due));
    if (isStored && following === undefined) return;
    reading = isStored && following ? following : readNext(due.nextLimit);
  }
}

const chunksAtOnce = 2;

/**
 * Events in a chunk that is stored, at most. Storing one holds the lock on the app's progress for
 * some tenths of a second.
 */
export const settledAtOnceMax = 4_000;

interface Chunk extends Classified {
  readonly events: readonly AttributableEvent[];
}

interface Due {
  readonly chunks: readonly Chunk[];
  /** The progress before these chunks and after them. */
  readonly from: Progress;
  readonly to: Progress;
  /** True when nothing is due after them. */
  readonly isLast: boolean;
  /** The number of events in each of the next chunks. */
  readonly nextLimit: number;
}

async function readDue(sql: Sql, what: Settling, from: Progress | undefined, limit: number): Promise<Due | undefined> {
  const { nowMs, appId, name, windowHours } = what;
  const dueMs = nowMs - windowHours * hourMs - marginMs;
  if (from === undefined || dueMs <= from.settledAt.getTime()) return undefined;
  const { receivedTo } = from;
  const range = { fromMs: from.settledAt.getTime(), toMs: dueMs };
  const classing: Promise<Chunk>[] = [];
  let to: Progress = from;
  let isLast = false;
  while (!isLast && classing.length < chunksAtOnce) {
    const after = { at: to.settledAt, id: to.settledId };
    const events = await listEvents(sql, { appId, name, range, after, receivedTo, limit });
    const classified = classifyEvents(sql, { appId, windowMs: windowHours * hourMs }, events);
    const chunk = classified.then((found) => ({ events, ...found }));
    // The promise is awaited below. Without this handler its rejection would count as unhandled if
    // reading the next chunk fails first.
    chunk.catch(() => undefined);
    classing.push(chunk);
    const last = events.at(-1);
    isLast = last === undefined || events.length < limit;
    const { settledId } = nothingSettled;
    to =
      last === undefined || isLast
        ? { settledAt: new Date(dueMs), settledId, receivedTo }
        : { settledAt: last.at, settledId: last.id, receivedTo };
  }
  const chunks = await Promise.all(classing);
  const nextLimit = nextChunk(limit, Math.max(...chunks.map(({ deliveries }) => deliveries)), settledAtOnceMax);
  return { chunks, from, to, isLast, nextLimit };
}

/**
 * Stores chunks. Returns false and stores nothing when another process has advanced the progress.
 */
async function storeDue(context: SettleContext, { chunks, from, to }: Due): Promise<boolean> {
  const { tx, appId, name } = context;
  const progress = await lockProgress(tx, appId, name);
  const isSame =
    progress?.settledAt.getTime() === from.settledAt.getTime() &&
    progress.settledId === from.settledId &&
    progress.receivedTo === from.receivedTo;
  if (!isSame) return false;
  for (const { events, credits } of chunks) await storeSettled(context, events, credits);
  await updateProgress(tx, appId, name, to);
  return true;
}

// When nothing is settled yet, no event can be late.
async function takeProgress({ tx, appId, name }: SettleContext, received: Uuid): Promise<Progress> {
  const known = await lockProgress(tx, appId, name);
  if (known) return known;
  await insertProgress(tx, appId, name, { ...nothingSettled, receivedTo: received });
  const made = await lockProgress(tx, appId, name);
  if (!made) throw new Error('the progress that was just stored is gone');
  return made;
}

/**
 * Stores events with their credits, which replace credits ahead: each purchase as a row, and sums
 * for all names.
 */
export async function storeSettled(
  { tx, appId, name, windowHours }: Omit<SettleContext, 'nowMs'>,
  events: readonly AttributableEvent[],
  credits: readonly Credit[],
): Promise<void> {
  const tally = createTally();
  const purchases = events.flatMap((event, i) => {
    const credit = credits[i];
    if (credit === undefined) return [];
    // Unattributed events are in no sum.
    if (credit.messageId !== null) tally.add(Math.floor(event.at.getTime() / quarterMs), name, event, credit);
    const { id: eventId, at, currency, amount } = event;
    const subjectId = event.externalId === null ? mintUuid() : event.subjectId;
    return [{ subjectId, eventId, at, currency, amount, ...credit }];
  });
  if (name === 'purchase' && purchases.length > 0) await insertAttributions(tx, appId, windowHours, purchases);
  await storeCredits(tx, appId, name, tally.rows());
  if (events.length > 0) {
    await deleteOpenCredits(
      tx,
      appId,
      name,
      events.map(({ id }) => id),
    );
  }
}

/** Adds credits, counted by quarters of an hour, to the sums. */
export async function storeCredits(tx: Tx, appId: Uuid, name: AttributedName, rows: readonly Tallied[]): Promise<void> {
  const totals = rows.flatMap((row) =>
    row.class === 'unattributed' || row.messageId === null
      ? []
      : [
          {
            bucketMs: row.period * quarterMs,
            currency: row.currency,
            class: row.class,
            messageId: row.messageId,
            count: row.count,
            amount: writeDecimal(row.amount),
          },
        ],
  );
  if (totals.length > 0) await addCreditedTotals(tx, appId, name, totals);
}
