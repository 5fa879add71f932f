// Puts events in the outboxes of subscribed webhooks, in the transaction that records the outcome.
// So there is no outcome without its event and no event without its outcome. Subscriptions
// are read when the event happens.

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import type { EventDetails } from './event-body.ts';
import { insertEvents, listSubscribers, type NewEvent } from './queries.ts';
import { type EventKind, kindNumber } from './webhook.ts';

export interface Happening {
  readonly kind: EventKind;
  readonly messageId: Uuid;
  readonly deviceId: Uuid;
  /** The channel's number, as in deliveries. */
  readonly channel: number;
  readonly atMs: number;
  readonly errorCode: string | null;
  readonly details: EventDetails | null;
}

/**
 * Stores events for every subscribed webhook. `happenings` is called only when the app has a
 * webhook, because most have none. Returns the webhooks with new events. The caller passes them to
 * `tell-outbox` after the commit.
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

/** The event in the form of the outbox, for one webhook. */
export function outboxEventOf({ kind, ...rest }: Happening, webhookId: Uuid, id: Uuid): NewEvent {
  return { ...rest, webhookId, id, kind: kindNumber(kind) };
}
