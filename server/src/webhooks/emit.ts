// Puts events in the outbox of whoever subscribed, in the transaction that records what they tell of: no outcome without its
// event, and no event without its outcome. Subscription is read when the event happens.
import type { Clock } from '../platform/clock.ts';
import { type Sql, type Tx, transaction } from '../platform/db.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import type { EventDetails } from './event-body.ts';
import { insertEvents, listSubscribers } from './queries.ts';
import { type EventKind, kindNumber } from './webhook.ts';

export interface Happening {
  readonly kind: EventKind;
  readonly messageId: Uuid;
  readonly deviceId: Uuid;
  /** As deliveries store it. */
  readonly channel: number;
  readonly atMs: number;
  readonly errorCode: string | null;
  readonly details: EventDetails | null;
}

/** `happenings` are made only where somebody listens: most apps have no webhook. */
export async function emit(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  happenings: () => readonly Happening[] | Promise<readonly Happening[]>,
): Promise<void> {
  const subscribers = await listSubscribers(tx, appId);
  if (subscribers.length === 0) return;
  const happened = await happenings();
  const nowMs = clock.nowMs();
  const events = subscribers.flatMap(({ id: webhookId, events: kinds }) =>
    happened
      .filter(({ kind }) => kinds.length === 0 || kinds.includes(kind))
      .map(({ kind, ...rest }) => ({ ...rest, webhookId, id: mintUuid(nowMs), kind: kindNumber(kind) })),
  );
  if (events.length > 0) await insertEvents(tx, clock, appId, events);
}

/**
 * Puts what happened before in the outbox of one webhook once more, marked as a replay, and says how many it took: none where the
 * webhook is gone or disabled by now. Which kinds it is subscribed to is the caller's to know.
 */
export async function emitAgain(
  { sql, clock }: { sql: Sql; clock: Clock },
  webhook: { readonly appId: Uuid; readonly id: Uuid },
  happenings: readonly Happening[],
): Promise<number> {
  if (happenings.length === 0) return 0;
  const nowMs = clock.nowMs();
  const events = happenings.map(({ kind, ...rest }) => {
    return { ...rest, webhookId: webhook.id, id: mintUuid(nowMs), kind: kindNumber(kind) };
  });
  return transaction(sql, (tx) => insertEvents(tx, clock, webhook.appId, events, true));
}
