// Where a click leads: a url stored with the delivery, or one of the message's own. Nothing in the request is ever a target
//
import { compileContent, type TargetUrls, targetUrl } from '../content/compile-content.ts';
import { channelOfNumber } from '../delivery/delivery.ts';
import type { MessageLedger } from '../delivery/message-ledger.ts';
import { findDeliveryUrls, findOpenBatch } from '../delivery/queries.ts';
import type { ReceiptSubject } from '../delivery/receipt-token.ts';
import type { Sql } from '../platform/db.ts';

/** Undefined: no url, an unknown action, or no such delivery. */
export async function findTarget(
  { sql, ledger }: { sql: Sql; ledger: MessageLedger },
  subject: ReceiptSubject,
  action: string | null,
): Promise<string | undefined> {
  const batch = await findOpenBatch(sql, subject.batchId, subject.deviceId);
  if (!batch) return undefined;
  const delivery = await findDeliveryUrls(sql, subject.batchId, subject.deviceId);
  const message = await ledger.find(sql, batch.appId, batch.messageId);
  if (!message || (!delivery && !batch.awaitsDevice)) return undefined;
  const literal = compileContent(message.content).literalUrls(delivery ? channelOfNumber(delivery.channel) : 'webpush');
  const urls: TargetUrls | null = delivery?.urls ?? literal;
  const target = urls && targetUrl(urls, action);
  if (target) return target;
  return action === null ? (message.defaultUrl ?? undefined) : undefined;
}
