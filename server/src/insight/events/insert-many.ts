// SQL: many events at once, for filling an app. Stores them by COPY, with the same counts and sums
// as tracking. Never adds to the counts of a subject that has events already.
import { copyRows, type Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import { upsertEventProperties } from './catalog-queries.ts';
import { type KnownProperties, type NewEventProperty, samplesMax } from './known-properties.ts';
import { dayCountsOf, dayMs, deltasOf, type StoredEvent } from './totals.ts';

export interface EventToAdd extends StoredEvent {
  /** The object that `propertiesText` represents. */
  readonly properties: Readonly<Record<string, unknown>>;
}

/**
 * Adds events of users and devices that are new in this transaction; throws for a subject that has
 * daily counts already. The events have no ids of a caller's, because nobody repeats them. Returns
 * the properties that it added to the catalog; the caller notes them in `known` after the commit.
 */
export async function insertManyEvents(
  tx: Tx,
  appId: Uuid,
  events: readonly EventToAdd[],
  known: KnownProperties,
): Promise<readonly NewEventProperty[]> {
  if (events.length === 0) return [];
  await copyRows(
    tx`COPY events (app_id, subject_id, id, name, at, device_id, external_id, properties, amount, currency) FROM STDIN`,
    events.map(({ subjectId, id, name, atMs, deviceId, externalId, propertiesText, purchase }) => {
      const [amount, currency] = [purchase?.amount ?? null, purchase?.currency ?? null];
      return [appId, subjectId, id, name, new Date(atMs), deviceId, externalId, propertiesText, amount, currency];
    }),
  );
  await copyRows(
    tx`COPY rollup_deltas (app_id, name, bucket, currency, count, amount, last_at) FROM STDIN`,
    deltasOf(events).map(({ name, bucketMs, currency, count, amount, lastMs }) => {
      return [appId, name, new Date(bucketMs), currency, count, amount, new Date(lastMs)];
    }),
  );
  await copyRows(
    tx`COPY subject_events (app_id, name, subject_id, day, count, last_at) FROM STDIN`,
    dayCountsOf(events).map(({ name, subjectId, day, count, lastMs }) => {
      return [appId, name, subjectId, new Date(day * dayMs), count, new Date(lastMs)];
    }),
  );
  const found = known.findNew(
    appId,
    events.map((event) => ({ ...event, byClient: false })),
  );
  if (found.length > 0) await upsertEventProperties(tx, appId, found, samplesMax);
  return found;
}
