// Stores what purchases, installs and sessions are owed to, once their window has closed: in chunks, each in a transaction that
// says how far it came, so that any number of processes may settle and every event is settled once. What came too late for that
// is found by its id, which tells when it was received.
import { listAttributionWindows } from '../apps/queries.ts';
import type { Clock } from '../platform/clock.ts';
import { type Sql, type Tx, transaction } from '../platform/db.ts';
import { mintUuid, type Uuid, uuidFloorOf } from '../platform/ids.ts';
import { runAlone } from '../platform/run-alone.ts';
import { type AttributedName, attributedNames, type Credit } from './attribution.ts';
import {
  type AttributableEvent,
  addCreditedTotals,
  insertAttributions,
  insertProgress,
  listEvents,
  listLateEvents,
  lockProgress,
  type Progress,
  updateProgress,
} from './attribution-queries.ts';
import { chunkEvents, classifyEvents } from './classify-events.ts';
import { writeDecimal } from './decimal.ts';
import { quarterMs } from './periods.ts';
import { createTally } from './tally.ts';

export interface SettleDeps {
  readonly sql: Sql;
  readonly clock: Clock;
}

const hourMs = 3_600_000;

/** A request that stores events has committed them, or never will, so long after it minted their ids. */
const commitMsMax = 60_000;

/** What occurred within a minute of what was just received is left for the next time: the two limits never cross. */
const marginMs = 120_000;

/** Before any event that the API takes. */
export const nothingSettled: Progress = {
  settledAt: new Date(0),
  settledId: '00000000-0000-0000-0000-000000000000',
  receivedTo: '00000000-0000-0000-0000-000000000000',
};

/** Any number that nothing else in this database locks. */
const settleLock = 4_271_960_141;

/** Settles all that is due, unless another process is at it. */
export async function settleAlone(deps: SettleDeps): Promise<boolean> {
  return runAlone(deps.sql, settleLock, () => settleDue(deps));
}

/** Settles all that is due, of every app; afterwards no delivery older than twice an app's window is needed for it. */
export async function settleDue(
  { sql, clock }: SettleDeps,
  names: readonly AttributedName[] = attributedNames,
): Promise<void> {
  // One present for all of it: else it would never be done.
  const nowMs = clock.nowMs();
  for (const { id, windowHours } of await listAttributionWindows(sql)) {
    for (const name of names) {
      while (await transaction(sql, (tx) => settleSome({ tx, nowMs, appId: id, name, windowHours })));
    }
  }
}

interface SettleContext {
  readonly tx: Tx;
  readonly nowMs: number;
  readonly appId: Uuid;
  readonly name: AttributedName;
  readonly windowHours: number;
}

/** Settles up to a chunk of events. True: there may be more. */
async function settleSome(context: SettleContext): Promise<boolean> {
  const { tx, nowMs, appId, name, windowHours } = context;
  const received = uuidFloorOf(new Date(nowMs - commitMsMax));
  const dueMs = nowMs - windowHours * hourMs - marginMs;
  const progress = await takeProgress(context, received);
  const place = { at: progress.settledAt, id: progress.settledId };
  const asked = { appId, name, limit: chunkEvents };
  if (progress.receivedTo < received) {
    const late = await listLateEvents(tx, {
      ...asked,
      upTo: place,
      afterId: progress.receivedTo,
      receivedTo: received,
    });
    await store(context, late);
    const last = late.length < chunkEvents ? undefined : late.at(-1);
    await updateProgress(tx, appId, name, { ...progress, receivedTo: last?.id ?? received });
    return true;
  }
  const range = { fromMs: progress.settledAt.getTime(), toMs: dueMs };
  if (range.toMs <= range.fromMs) return false;
  const due = await listEvents(tx, { ...asked, range, after: place, receivedTo: progress.receivedTo });
  await store(context, due);
  const last = due.length < chunkEvents ? undefined : due.at(-1);
  await updateProgress(tx, appId, name, {
    settledAt: last?.at ?? new Date(dueMs),
    settledId: last?.id ?? nothingSettled.settledId,
    receivedTo: progress.receivedTo,
  });
  return last !== undefined;
}

// Where nothing is settled, nothing can have come too late for it.
async function takeProgress({ tx, appId, name }: SettleContext, received: Uuid): Promise<Progress> {
  const known = await lockProgress(tx, appId, name);
  if (known) return known;
  await insertProgress(tx, appId, name, { ...nothingSettled, receivedTo: received });
  const made = await lockProgress(tx, appId, name);
  if (!made) throw new Error('the progress that was just stored is gone');
  return made;
}

async function store(context: SettleContext, events: readonly AttributableEvent[]): Promise<void> {
  const { tx, appId, windowHours } = context;
  const credits = await classifyEvents(tx, { appId, windowMs: windowHours * hourMs }, events);
  await storeSettled(context, events, credits);
}

/** Stores events with their credits; of purchases each by itself, and of all the sums. */
export async function storeSettled(
  { tx, appId, name, windowHours }: Omit<SettleContext, 'nowMs'>,
  events: readonly AttributableEvent[],
  credits: readonly Credit[],
): Promise<void> {
  const tally = createTally();
  const purchases = events.flatMap((event, i) => {
    const credit = credits[i];
    if (credit === undefined) return [];
    tally.add(Math.floor(event.at.getTime() / quarterMs), name, event, credit);
    const { id: eventId, at, currency, amount } = event;
    const subjectId = event.externalId === null ? mintUuid() : event.subjectId;
    return [{ subjectId, eventId, at, currency, amount, ...credit }];
  });
  if (name === 'purchase' && purchases.length > 0) await insertAttributions(tx, appId, windowHours, purchases);
  const totals = tally.rows().flatMap((row) =>
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
