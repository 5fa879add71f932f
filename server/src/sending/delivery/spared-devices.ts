// The devices that a suspect credential would have cost: its refusals call them invalid or another
// key's, and none of them is retired (contract 7.6, footnote 1). Read from the latest deliveries.

import type { Sql } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { ChannelId } from '../channels/channel.ts';
import { codeOfNumber } from './delivery.ts';
import { batchesMax, listFailedBatches, listFailedMessages, listRefusedBy, messagesMax } from './spared-queries.ts';

/** A credential becomes suspect by the refusals of the hour before. */
const hourMs = 3_600_000;

export interface SparedDevice {
  readonly deviceId: Uuid;
  readonly messageId: Uuid;
  readonly code: ReturnType<typeof codeOfNumber>;
  readonly at: Date;
}

/**
 * Lists devices once each, the latest refusals first. `hasMore`: there are others, or there may be
 * others because not every batch was read.
 */
export async function listSparedDevices(
  sql: Sql,
  appId: Uuid,
  credential: { readonly id: number; readonly channel: ChannelId; readonly suspectSince: Date },
  limit: number,
): Promise<{ devices: readonly SparedDevice[]; hasMore: boolean }> {
  const since = new Date(credential.suspectSince.getTime() - hourMs);
  const messages = await listFailedMessages(sql, appId, credential.channel, since);
  const batches = messages.length === 0 ? [] : await listFailedBatches(sql, appId, messages);
  const messageOf = new Map(batches.map(({ id, messageId }) => [id, messageId]));
  const rows = batches.length === 0 ? [] : await listRefusedBy(sql, [...messageOf.keys()], credential.id, since);
  const devices = new Map<Uuid, SparedDevice>();
  for (const { deviceId, batchId, errorCode, doneAt: at } of rows) {
    const messageId = messageOf.get(batchId);
    if (messageId === undefined || devices.has(deviceId)) continue;
    devices.set(deviceId, { deviceId, messageId, code: codeOfNumber(errorCode), at });
  }
  const mayHaveOthers = messages.length === messagesMax || batches.length === batchesMax;
  return { devices: [...devices.values()].slice(0, limit), hasMore: mayHaveOthers || devices.size > limit };
}
