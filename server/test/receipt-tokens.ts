// Makes receipt tokens for tests: a token travels inside the encrypted push, so a test mints it
// again with the instance's key.
import { createHmac } from 'node:crypto';
import { decodeId, type Uuid, uuidToBytes } from '../src/ground/values/ids.ts';
import { receiptTokensOf } from '../src/sending/delivery/receipt-token.ts';
import type { Bundle } from './setup.ts';

/** The token of one message's push to one device, by their public ids. */
export async function receiptTokenOf(
  { sql, receiptKey }: Pick<Bundle, 'sql' | 'receiptKey'>,
  messageId: string,
  deviceId: string,
): Promise<string> {
  const device = decodeId('dev', deviceId) ?? '';
  const [found] = await sql<{ id: Uuid; place: number }[]>`
    SELECT id, array_position(device_ids, ${device}::uuid) - 1 AS place FROM batches
    WHERE message_id = ${decodeId('msg', messageId) ?? ''} AND ${device}::uuid = ANY(device_ids)`;
  if (!found) throw new Error(`${messageId} has no delivery to ${deviceId}`);
  return receiptTokensOf(receiptKey, found.id)(found.place);
}

/** The token of the newest message's push to a device, for a push whose answer is missing. */
export async function newestReceiptTokenOf(
  { sql, receiptKey }: Pick<Bundle, 'sql' | 'receiptKey'>,
  deviceId: string,
): Promise<string> {
  const device = decodeId('dev', deviceId) ?? '';
  const [found] = await sql<{ id: Uuid; place: number }[]>`
    SELECT id, array_position(device_ids, ${device}::uuid) - 1 AS place FROM batches
    WHERE ${device}::uuid = ANY(device_ids) ORDER BY id DESC LIMIT 1`;
  if (!found) throw new Error(`no message has a delivery to ${deviceId}`);
  return receiptTokensOf(receiptKey, found.id)(found.place);
}

/**
 * A token of version 1, as earlier releases made it. It is written from the contract without the
 * service's code.
 */
export function formerReceiptToken(
  key: Buffer,
  { messageId, deviceId, batchId }: { readonly messageId: Uuid; readonly deviceId: Uuid; readonly batchId: Uuid },
): string {
  const signed = Buffer.concat([Buffer.from([1]), ...[messageId, deviceId, batchId].map((id) => uuidToBytes(id))]);
  const mac = createHmac('sha256', key).update('carillon-receipt').update(signed).digest().subarray(0, 16);
  return Buffer.concat([signed, mac]).toString('base64url');
}
