// The target of a click: a url stored with the delivery, or one of the message's own. Nothing in
// the request is ever a target.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';
import { compileContent, type TargetUrls, targetUrl } from '../content/compile-content.ts';
import { channelOfNumber } from '../delivery/delivery.ts';
import type { MessageLedger } from '../delivery/message-ledger.ts';
import { findBatchOfReceipt } from '../delivery/queries.ts';
import type { ReceiptSubject } from '../delivery/receipt-token.ts';
import { findDeliveryUrls } from '../delivery/timeline-queries.ts';

/**
 * A click can come before the flush that stores its url. It waits at most `waitMsMax`, in steps of
 * `waitMs`.
 */
const waitMsMax = 2000;
const waitMs = 100;

/**
 * The url to open. Undefined: there is no url, the action is unknown, or no such delivery exists.
 */
export async function findTarget(
  { sql, ledger }: { sql: Sql; ledger: MessageLedger },
  subject: ReceiptSubject,
  action: string | null,
): Promise<string | undefined> {
  const { batchId } = subject;
  for (let waitedMs = 0; ; waitedMs += waitMs) {
    // The batch is read first. Otherwise a delivery that becomes final between the two reads would
    // be missed.
    const batch = await findBatchOfReceipt(sql, subject);
    if (!batch || batch.deviceId === null) return undefined;
    const delivery = await findDeliveryUrls(sql, batchId, batch.deviceId);
    const message = await ledger.find(sql, batch.appId, batch.messageId);
    if (!message || (!delivery && !batch.awaitsDevice)) return undefined;
    const literal = compileContent(message.content).literalUrls(
      delivery ? channelOfNumber(delivery.channel) : 'webpush',
    );
    const urls: TargetUrls | null = delivery?.urls ?? literal;
    if (urls) return targetUrl(urls, action) ?? (action === null ? (message.defaultUrl ?? undefined) : undefined);
    // A url that is personalized is not stored yet.
    if (delivery || waitedMs >= waitMsMax) return undefined;
    await sleep(waitMs);
  }
}
