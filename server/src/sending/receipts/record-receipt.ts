// Records receipts: displayed, clicked, dismissed. Each mark of a delivery is set once, however
// often it is reported. A receipt that comes before its outcome is kept, and the flush applies it
// (contract 14).

import { type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { markReached } from '../../people/devices/reach-queries.ts';
import { emitClick } from '../delivery/click-event.ts';
import type { Mark } from '../delivery/delivery.ts';
import type { MessageLedger } from '../delivery/message-ledger.ts';
import { type EarlyReceipt, insertEarlyReceipt, markDelivery } from '../delivery/outcome-queries.ts';
import { addBatchMarks, lockBatchForReceipt } from '../delivery/queries.ts';
import type { ReceiptSubject } from '../delivery/receipt-token.ts';
import type { OutboxTeller } from '../webhooks/tell-outbox.ts';

/**
 * Records one receipt. True: this call set the mark. False: it was already set. Undefined: the
 * delivery no longer exists.
 */
export async function recordReceipt(
  { sql, clock, ledger, outbox }: { sql: Sql; clock: Clock; ledger: MessageLedger; outbox: OutboxTeller },
  subject: ReceiptSubject,
  mark: Mark,
  action: string | null,
): Promise<boolean | undefined> {
  const { batchId } = subject;
  let told: { readonly appId: Uuid; readonly webhookIds: readonly Uuid[] } | undefined;
  const recorded = await transaction(sql, async (tx: Tx) => {
    const batch = await lockBatchForReceipt(tx, subject);
    if (!batch || batch.deviceId === null) return undefined;
    const { deviceId } = batch;
    const receipt: EarlyReceipt = { deviceId, mark, at: clock.date(), action };
    const { appId, messageId } = batch;
    const marked = await markDelivery(tx, batchId, receipt);
    // The delivery has no row and will get none, because it is no longer kept.
    if (!marked && !batch.awaitsDevice) return undefined;
    // A device that reports a receipt is reachable, whatever the push service said (contract 8).
    if (!marked?.wasSent) await markReached(tx, appId, [deviceId]);
    if (!marked) return insertEarlyReceipt(tx, batchId, receipt);
    if (marked.isNew) await addBatchMarks(tx, batchId, { displayed: 0, clicked: 0, dismissed: 0, [mark]: 1 });
    if (marked.isNew && mark === 'clicked') {
      const click = { appId, messageId, batchId, deviceId, at: receipt.at, action };
      told = { appId, webhookIds: await emitClick({ tx, clock, ledger }, click) };
    }
    return marked.isNew;
  });
  if (told) outbox.note(told.appId, told.webhookIds);
  return recorded;
}
