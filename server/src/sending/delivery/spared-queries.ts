// SQL: the latest refusals of one credential. Each statement reads a bounded number of batches,
// because deliveries have no index by credential.

import { listValues, type Sql } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { ChannelId } from '../channels/channel.ts';
import { numbersOfCode, statusNumber } from './delivery.ts';

/**
 * The newest messages that are looked at, and the batches of these: a batch has at most a thousand
 * devices.
 */
export const messagesMax = 20;
export const batchesMax = 20;

/** The newest messages with a failure on a channel that were under way since an instant. */
export async function listFailedMessages(sql: Sql, appId: Uuid, channel: ChannelId, since: Date): Promise<Uuid[]> {
  return listValues(sql`
    SELECT id FROM messages
    WHERE app_id = ${appId} AND started_at >= ${since}::timestamptz - interval '1 day'
      AND (finished_at IS NULL OR finished_at >= ${since}) AND ${sql(`${channel}_failed`)} > 0
    ORDER BY started_at DESC, id DESC LIMIT ${messagesMax}`);
}

/** The newest batches of these messages with a failure. */
export async function listFailedBatches(
  sql: Sql,
  appId: Uuid,
  messageIds: readonly Uuid[],
): Promise<{ id: Uuid; messageId: Uuid }[]> {
  return sql`
    SELECT id, message_id FROM batches
    WHERE app_id = ${appId} AND message_id = ANY(${messageIds}::uuid[]) AND failed > 0
    ORDER BY id DESC LIMIT ${batchesMax}`;
}

const suspicious = ['invalid_token', 'credential_mismatch'].flatMap(numbersOfCode);

/**
 * The deliveries of these batches that a credential's refusals ended, as if the devices were wrong.
 */
export async function listRefusedBy(
  sql: Sql,
  batchIds: readonly Uuid[],
  credentialId: number,
  since: Date,
): Promise<{ batchId: Uuid; deviceId: Uuid; errorCode: number; doneAt: Date }[]> {
  return sql`
    SELECT batch_id, device_id, error_code, done_at FROM deliveries
    WHERE batch_id = ANY(${batchIds}::uuid[]) AND credential_id = ${credentialId}
      AND status = ${statusNumber('failed')} AND error_code = ANY(${suspicious}::smallint[]) AND done_at >= ${since}
    ORDER BY done_at DESC, device_id`;
}
