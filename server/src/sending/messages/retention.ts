// Deletes messages without deliveries, with their batches and idempotency keys, row by row. A
// message is kept until it has ended, and for the days that its key is promised for (contract 16).

import { type Uuid, uuidFloorOf } from '../../ground/values/ids.ts';
import { listPartitions } from '../delivery/partitions.ts';
import { dayMs, type RetentionDeps, removeBatches } from '../delivery/retention.ts';
import { deleteMessage, listAppsWithMessagesBefore, listRemovable, type RemovalRange } from './retention-queries.ts';

const messagesAtOnce = 200;
const firstId: Uuid = '00000000-0000-0000-0000-000000000000';

/**
 * Deletes what is old enough. A message that cannot be deleted is tried again the next time and
 * stops no other.
 */
export async function removeOldMessages(deps: RetentionDeps, keepDays: number): Promise<void> {
  const { sql, clock } = deps;
  const weeks = await listPartitions(sql);
  const beforeId = uuidFloorOf(new Date(clock.nowMs() - keepDays * dayMs));
  for (const appId of await listAppsWithMessagesBefore(sql, beforeId))
    await removeOfApp(deps, { appId, beforeId, weeks, keepDays });
}

async function removeOfApp(
  { sql, clock, log }: RetentionDeps,
  range: Pick<RemovalRange, 'appId' | 'beforeId' | 'weeks' | 'keepDays'>,
): Promise<void> {
  const { appId } = range;
  let removed = 0;
  for (let afterId = firstId; ; ) {
    const ids = await listRemovable(sql, clock, { ...range, afterId, limit: messagesAtOnce });
    for (const id of ids) {
      try {
        await removeBatches(sql, id);
        if (await deleteMessage(sql, appId, id)) removed++;
      } catch (error) {
        log.error({ err: error, app_id: appId, message_id: id }, 'an old message is not removed');
      }
    }
    afterId = ids.at(-1) ?? afterId;
    if (ids.length < messagesAtOnce) break;
  }
  if (removed > 0) log.info({ app_id: appId, messages: removed }, 'old messages removed');
}
