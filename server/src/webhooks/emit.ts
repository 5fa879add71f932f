// Puts events in the outbox of whoever subscribed, in the transaction that records what they tell of: no outcome without its
// event, and no event without its outcome. Subscription is read when the event happens.
import type { Clock } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import { mintUuid, type Uuid } from '../platform/ids.ts';
import type { EventDetails } from './event-body.ts';
import { insertEvents, listSubscribers, type NewEvent } from './queries.ts';
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

/**
 * `happenings` are made only where somebody listens: most apps have no webhook. Answers the webhooks that have something to tell, which
 * the caller passes on after the commit (`tell-outbox`).
 */
export async function emit(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  happenings: () => readonly Happening[] | Promise<readonly Happening[]>,
): Promise<readonly Uuid[]> {
  const subscribers = await listSubscribers(tx, appId);
  if (subscribers.length === 0) return [];
  const happened = await happenings();
  const nowMs = clock.nowMs();
  const events = subscribers.flatMap(({ id: webhookId, events: kinds }) =>
    happened
      .filter(({ kind }) => kinds.length === 0 || kinds.includes(kind))
      .map((happening) => outboxEventOf(happening, webhookId, mintUuid(nowMs))),
  );
  if (events.length > 0) await insertEvents(tx, clock, appId, events);
  return [...new Set(events.map(({ webhookId }) => webhookId))];
}

/** As the outbox has it, for one webhook. */
export function outboxEventOf({ kind, ...rest }: Happening, webhookId: Uuid, id: Uuid): NewEvent {
  return { ...rest, webhookId, id, kind: kindNumber(kind) };
}
