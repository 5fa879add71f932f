// The webhook event of a click (contract 13.2). It is told once for each message and device, with
// the address that the click opened, as rendered for that device.

import type { Sql, Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { type CompiledContent, compileContent, type TargetUrls, targetUrl } from '../content/compile-content.ts';
import { emit } from '../webhooks/emit.ts';
import { channelOfNumber } from './delivery.ts';
import type { MessageLedger, MessageToSend } from './message-ledger.ts';
import { findDeliveryUrls, listExternalIds } from './timeline-queries.ts';

/** A message prepared for its click events: compiled once, however many clicks there are. */
export interface ClickedMessage {
  readonly content: CompiledContent;
  readonly defaultUrl: string | null;
}

export function prepareClicks({ content, defaultUrl }: MessageToSend): ClickedMessage {
  return { content: compileContent(content), defaultUrl };
}

/** The address that a click opened. Null when there was no url, or the message is gone. */
export function clickedUrl(
  message: ClickedMessage | undefined,
  delivery: { readonly urls: TargetUrls | null; readonly channel: number },
  action: string | null,
): string | null {
  const urls = delivery.urls ?? message?.content.literalUrls(channelOfNumber(delivery.channel)) ?? null;
  return (urls && targetUrl(urls, action)) ?? (action === null ? message?.defaultUrl : null) ?? null;
}

export interface Click {
  readonly appId: Uuid;
  readonly messageId: Uuid;
  readonly batchId: Uuid;
  readonly deviceId: Uuid;
  readonly at: Date;
  /** The button's action; null for the notification itself. */
  readonly action: string | null;
}

/**
 * Stores the event of a click. Call it in the transaction that sets the mark, and only for a mark
 * that was not set before. Answers the webhooks to be told.
 */
export async function emitClick(
  { tx, clock, ledger }: { tx: Tx; clock: Clock; ledger: MessageLedger },
  { appId, messageId, batchId, deviceId, at, action }: Click,
): Promise<readonly Uuid[]> {
  return emit(tx, clock, appId, async () => {
    const delivery = await findDeliveryUrls(tx, batchId, deviceId);
    if (!delivery) return [];
    const message = await ledger.find(tx as Sql, appId, messageId);
    const url = clickedUrl(message && prepareClicks(message), delivery, action);
    const { userId } = delivery;
    const externalIds = await listExternalIds(tx as Sql, appId, userId === null ? [] : [userId]);
    const externalId = userId === null ? null : (externalIds.get(userId) ?? null);
    const details = { external_id: externalId, url, action };
    const { channel } = delivery;
    return [{ kind: 'message.clicked', messageId, deviceId, channel, atMs: at.getTime(), errorCode: null, details }];
  });
}
