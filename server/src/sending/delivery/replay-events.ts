// Tells a webhook the events of a time again, rebuilt from the deliveries that are kept. Each batch
// has a transaction of its own, so that a million events hold neither memory nor locks. One replay
// never tells an event twice, even if it is interrupted: the next run of the same replay continues
// after the last batch in the outbox.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { mintedAtMs, type Uuid, uuidFloorOf } from '../../ground/values/ids.ts';
import type { Audited } from '../../teams/audit/record-audit.ts';
import { toldReason } from '../channels/told-reason.ts';
import { beginReplay, type ReplayStop } from '../webhooks/begin-replay.ts';
import type { Happening } from '../webhooks/emit.ts';
import { type EventKind, subscribedKinds } from '../webhooks/webhook.ts';
import { type ClickedMessage, clickedUrl, prepareClicks } from './click-event.ts';
import { type Attempt, codeOfNumber, statusOfNumber } from './delivery.ts';
import type { MessageLedger } from './message-ledger.ts';
import {
  findOldestBatch,
  listToldBatches,
  listToldDeliveries,
  type TimeRange,
  type ToldBatch,
  type ToldDelivery,
} from './replay-queries.ts';
import { listExternalIds } from './timeline-queries.ts';

export interface ReplayDeps extends Audited {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly ledger: Pick<MessageLedger, 'find'>;
}

export interface ReplayedWebhook {
  readonly appId: Uuid;
  readonly id: Uuid;
  /** The kinds of events that the webhook is subscribed to; empty for all. */
  readonly events: readonly string[];
}

export interface ReplayRequest extends TimeRange {
  /** Empty for every kind that the webhook is subscribed to. */
  readonly kinds: readonly EventKind[];
  /** Called with the number of events queued so far. */
  readonly onProgress?: ((queued: number) => void) | undefined;
}

export interface Replayed {
  /** The events that this run put in the outbox. */
  readonly queued: number;
  /** The events that interrupted runs of the same replay had put there. */
  readonly queuedBefore: number;
  /** The reason why the rest was not queued; undefined when everything was. */
  readonly stop: ReplayStop | undefined;
}

/**
 * Batches are read in slices of time. With many apps in a database, one statement reads one slice.
 */
const sliceMs = 6 * 3_600_000;
const batchesAtOnce = 500;
/** The clocks of two processes may differ by at most this much. */
const clocksApartMs = 60_000;

/**
 * Queues the events whose `created_at` lies in the range, of subscribed kinds only (contract 13.4).
 * After an interrupted replay of the same range and kinds, queues the rest.
 */
export async function replayEvents(
  deps: ReplayDeps,
  webhook: ReplayedWebhook,
  { kinds, onProgress, ...range }: ReplayRequest,
): Promise<Replayed> {
  const wanted = new Set<EventKind>(
    subscribedKinds(webhook.events).filter((kind) => kinds.length === 0 || kinds.includes(kind)),
  );
  const replay = await beginReplay(deps, webhook, { ...range, kinds: wanted });
  if (!replay) return { queued: 0, queuedBefore: 0, stop: 'refused' };
  const { queuedBefore, afterBatchId } = replay;
  const messages = rememberLast((messageId: Uuid) => findClicked(deps, webhook.appId, messageId));
  let queued = 0;
  for await (const batch of walkBatches(deps, webhook.appId, range, afterBatchId)) {
    const deliveries = await listToldDeliveries(deps.sql, batch.id, range);
    const externalIds = await externalIdsOf(deps.sql, webhook.appId, deliveries);
    const hasClick = wanted.has('message.clicked') && deliveries.some(({ clickedAt }) => isWithin(clickedAt, range));
    const message = hasClick ? await messages(batch.messageId) : undefined;
    const happened = deliveries
      .flatMap((delivery) => toldOf(delivery, { batch, message, externalIds, range }))
      .filter(({ kind }) => wanted.has(kind));
    if (happened.length === 0) continue;
    const stop = await replay.queue(batch.id, happened);
    if (stop) return { queued, queuedBefore, stop };
    queued += happened.length;
    onProgress?.(queued);
  }
  return { queued, queuedBefore, stop: await replay.end() };
}

// Batches in the order of their ids, which is nearly the order of time. A batch queued after this
// began lies beyond the range.
async function* walkBatches(
  { sql, clock }: ReplayDeps,
  appId: Uuid,
  range: TimeRange,
  afterId: Uuid | null,
): AsyncGenerator<ToldBatch> {
  const first = afterId ?? (await findOldestBatch(sql));
  if (first === undefined) return;
  // Events of the future were not told yet.
  const toMs = Math.min(range.to.getTime(), clock.nowMs() + clocksApartMs);
  // The end of a batch has the database's time, but an outcome has the process's time.
  const endedFrom = new Date(range.from.getTime() - clocksApartMs);
  let after = afterId ?? uuidFloorOf(new Date(mintedAtMs(first)));
  for (let sliceAtMs = mintedAtMs(first); sliceAtMs < toMs; sliceAtMs += sliceMs) {
    // A batch's id is minted when its message runs and the batch is queued. So a batch with a later
    // id was queued after the end of this slice.
    const before = uuidFloorOf(new Date(sliceAtMs + sliceMs));
    for (;;) {
      const ids = { after, before, limit: batchesAtOnce };
      const batches = await listToldBatches(sql, appId, ids, { ...range, from: endedFrom });
      yield* batches;
      const last = batches.at(-1);
      if (!last || batches.length < batchesAtOnce) break;
      after = last.id;
    }
    // No id equals this bound, because an id also contains its version.
    after = before;
  }
}

interface Told {
  readonly batch: ToldBatch;
  readonly message: ClickedMessage | undefined;
  readonly externalIds: ReadonlyMap<Uuid, string>;
  readonly range: TimeRange;
}

/** The events of a delivery within the range: its end and its click. */
function toldOf(delivery: ToldDelivery, { batch, message, externalIds, range }: Told): Happening[] {
  const { deviceId, userId, channel, doneAt, clickedAt, action } = delivery;
  const about = { messageId: batch.messageId, deviceId, channel };
  const externalId = userId === null ? null : (externalIds.get(userId) ?? null);
  const status = statusOfNumber(delivery.status);
  const happened: Happening[] = [];
  if (isWithin(doneAt, range) && status === 'sent') {
    happened.push({ ...about, kind: 'message.sent', atMs: doneAt.getTime(), errorCode: null, details: null });
  }
  if (isWithin(doneAt, range) && status === 'failed') {
    const details = {
      external_id: externalId,
      provider_status: delivery.providerStatus,
      provider_reason: reasonOf(delivery.lastAttempt),
      attempts: delivery.attempts,
    };
    const errorCode = codeOfNumber(delivery.errorCode);
    happened.push({ ...about, kind: 'message.failed', atMs: doneAt.getTime(), errorCode, details });
  }
  if (clickedAt && isWithin(clickedAt, range)) {
    const details = { external_id: externalId, url: clickedUrl(message, delivery, action), action };
    happened.push({ ...about, kind: 'message.clicked', atMs: clickedAt.getTime(), errorCode: null, details });
  }
  return happened;
}

// The provider's reason of a failure. Null when the delivery ended without a further attempt, such
// as at the end of its window: its event had no reason either.
function reasonOf(attempt: Attempt | null): string | null {
  if (attempt?.outcome !== 'failed' || attempt.provider === null) return null;
  const { name, http_status: httpStatus, headers, body, truncated } = attempt.provider;
  return toldReason({ name, httpStatus, headers, body, truncated, transportError: null });
}

function isWithin(at: Date | null, { from, to }: TimeRange): boolean {
  return at !== null && at >= from && at < to;
}

async function externalIdsOf(sql: Sql, appId: Uuid, deliveries: readonly ToldDelivery[]): Promise<Map<Uuid, string>> {
  const named = deliveries.filter(({ status, clickedAt }) => statusOfNumber(status) === 'failed' || clickedAt !== null);
  return listExternalIds(sql, appId, [...new Set(named.flatMap(({ userId }) => (userId === null ? [] : [userId])))]);
}

async function findClicked({ sql, ledger }: ReplayDeps, appId: Uuid, id: Uuid): Promise<ClickedMessage | undefined> {
  const message = await ledger.find(sql, appId, id);
  return message && prepareClicks(message);
}

// Remembers the last message, because batches of one message follow each other.
function rememberLast<Value>(find: (id: Uuid) => Promise<Value>): (id: Uuid) => Promise<Value> {
  let last: { readonly id: Uuid; readonly value: Value } | undefined;
  return async (id) => {
    if (last?.id !== id) last = { id, value: await find(id) };
    return last.value;
  };
}
