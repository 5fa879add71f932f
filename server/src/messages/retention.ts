// Removes messages that have no deliveries left, with their batches and idempotency keys, row by row. Never one that is
// unfinished, and never before the days have passed for which a key is promised (contract 16).
import { listPartitions, type Partition } from '../delivery/partitions.ts';
import { dayMs, type RetentionDeps, removeBatches } from '../delivery/retention.ts';
import { type Uuid, uuidFloorOf } from '../platform/ids.ts';
import { deleteMessage, listRemovable } from './retention-queries.ts';

const messagesAtOnce = 200;
const firstId: Uuid = '00000000-0000-0000-0000-000000000000';

/** One that cannot be removed stays for the next time; the others go. */
export async function removeOldMessages(deps: RetentionDeps, appIds: readonly Uuid[], keepDays: number): Promise<void> {
  const weeks = await listPartitions(deps.sql);
  for (const appId of appIds) await removeOfApp(deps, appId, weeks, keepDays);
}

async function removeOfApp(
  { sql, clock, log }: RetentionDeps,
  appId: Uuid,
  weeks: readonly Partition[],
  keepDays: number,
): Promise<void> {
  const beforeId = uuidFloorOf(new Date(clock.nowMs() - keepDays * dayMs));
  let removed = 0;
  for (let afterId = firstId; ; ) {
    const ids = await listRemovable(sql, clock, { appId, afterId, beforeId, weeks, keepDays, limit: messagesAtOnce });
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
