// The deliveries of a batch without a final outcome, and the attempts of each. A batch may be
// claimed many times, and a device with a final outcome gets no further push.
import type { Sql } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { ClaimedBatch } from './batch.ts';
import { type Attempt, statusOfNumber } from './delivery.ts';
import { listRecorded } from './outcome-queries.ts';

export interface OpenDeliveries {
  readonly deviceIds: readonly Uuid[];
  /** The attempts already made, oldest first. */
  attemptsOf(deviceId: Uuid): readonly Attempt[];
}

const none: readonly Attempt[] = [];

export async function loadOpenDeliveries(sql: Sql, batch: ClaimedBatch): Promise<OpenDeliveries> {
  const final = new Set<Uuid>();
  const attempts = new Map<Uuid, readonly Attempt[]>();
  for (const row of await listRecorded(sql, batch.id)) {
    if (statusOfNumber(row.status) === 'retrying') attempts.set(row.deviceId, row.timeline ?? []);
    else final.add(row.deviceId);
  }
  return {
    deviceIds: batch.deviceIds.filter((deviceId) => !final.has(deviceId)),
    attemptsOf: (deviceId) => attempts.get(deviceId) ?? none,
  };
}
