// Many events at once, for filling an app: stored as tracking stores them, with the same counts and sums.
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { upsertEventProperties } from './catalog-queries.ts';
import { createKnownProperties, samplesMax } from './known-properties.ts';
import { addToDays, insertDeltas, insertEvents } from './queries.ts';
import { dayCountsOf, deltasOf, type StoredEvent } from './totals.ts';

export interface EventToAdd extends StoredEvent {
  /** What `propertiesText` says. */
  readonly properties: Readonly<Record<string, unknown>>;
}

/** Nobody repeats these: they have no ids of a caller's. */
export async function insertManyEvents(tx: Tx, appId: Uuid, events: readonly EventToAdd[]): Promise<void> {
  if (events.length === 0) return;
  await insertEvents(tx, appId, events);
  await insertDeltas(tx, appId, deltasOf(events));
  await addToDays(tx, appId, dayCountsOf(events));
  await upsertEventProperties(tx, appId, createKnownProperties().findNew(appId, events), samplesMax);
}
