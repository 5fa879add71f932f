// What a service does to itself once an hour, in one process at a time: partitions made ahead, what is old removed. A step that
// fails is logged and keeps none of the others.
import { deleteOldCredentialMinutes, findLargestAttributionWindowHours } from './apps/queries.ts';
import { deletePastPaces } from './delivery/pace-queries.ts';
import { ensureDeliveryPartitions, listPartitions } from './delivery/partitions.ts';
import { forgetReceiptKeys } from './delivery/receipt-keys.ts';
import { dropOldDeliveries, keepDaysOf, type RetentionDeps } from './delivery/retention.ts';
import { deleteFormerLinksBefore, listAppsWithFormerLinksBefore } from './devices/link-queries.ts';
import { foldTotals } from './events/fold-totals.ts';
import { ensureEventPartitions } from './events/partitions.ts';
import { dropOldEvents } from './events/retention.ts';
import { removeOldMessages } from './messages/retention.ts';
import { mintedAtMs } from './platform/ids.ts';
import type { PeriodicTask } from './platform/in-turn.ts';
import { runAlone } from './platform/run-alone.ts';
import { deleteFullBuckets } from './quotas/queries.ts';
import { listAppsToSettle } from './reports/due-apps-queries.ts';
import { settleDue } from './reports/settle.ts';

export interface UpkeepDeps extends RetentionDeps {
  readonly retentionDays: number;
  /** Null: events are kept. */
  readonly eventRetentionDays: number | null;
  /** Paused, nothing is removed: somebody may have restored a backup to look for what it holds. */
  readonly isPaused: () => boolean;
}

export interface Upkeep {
  /** Does everything that is due. False: another process does. */
  runOnce(): Promise<boolean>;
  /** The same, once an hour. */
  readonly task: PeriodicTask;
}

/** Any number that nothing else in this database locks. */
const upkeepLock = 4_271_960_132;

const everyMs = 3_600_000;
/** A start has other things to do. */
const firstAfterMs = 60_000;

export function createUpkeep(deps: UpkeepDeps): Upkeep {
  const { sql, clock, log } = deps;

  /** False: it failed. */
  const step = async (name: string, work: () => Promise<unknown>): Promise<boolean> => {
    try {
      await work();
      return true;
    } catch (error) {
      log.error({ err: error, step: name }, 'upkeep failed');
      return false;
    }
  };
  const remove = async (areSumsFolded: boolean): Promise<void> => {
    const keepDays = keepDaysOf(deps.retentionDays, await findLargestAttributionWindowHours(sql));
    // First whom purchases are owed to: what that rests on is about to go. Where it cannot be stored, nothing goes.
    if (areSumsFolded) {
      await step('drop deliveries', async () => {
        await settleDue(deps, (await listAppsToSettle(sql, clock)).apps);
        await dropOldDeliveries(deps, keepDays);
      });
    }
    await step('forget keys of receipts', () => forgetReceiptKeys(sql));
    await step('forget former links', () => forgetFormerLinks(deps));
    await step('remove messages', () => removeOldMessages(deps, keepDays));
    await step('remove counts of refusals', () => deleteOldCredentialMinutes(sql, clock));
  };
  // What has a lock of its own stands before and after the rest: taken inside, a lock holds one more connection.
  const runOnce = async (): Promise<boolean> => {
    const areSumsFolded = await step('fold sums', () => foldTotals(deps));
    const isDone = await runAlone(sql, upkeepLock, async () => {
      await step('make partitions', () => ensureDeliveryPartitions(sql, clock.nowMs()));
      await step('make partitions of events', () => ensureEventPartitions(sql, { nowMs: clock.nowMs(), log }));
      await step('forget full buckets', () => deleteFullBuckets(sql, clock));
      await step('forget places that have passed', () => deletePastPaces(sql, clock));
      if (!deps.isPaused()) await step('remove what is old', () => remove(areSumsFolded));
    });
    const { eventRetentionDays } = deps;
    if (isDone && eventRetentionDays !== null && !deps.isPaused())
      await step('drop events', () => dropOldEvents(deps, eventRetentionDays));
    return isDone;
  };

  return { runOnce, task: { what: 'upkeep', everyMs, firstAfterMs, run: runOnce } };
}

const linksAtOnce = 5_000;
const dayMs = 86_400_000;

/** Whose a device was is asked for as long as a delivery of that time may be there; a day makes up for clocks and slow commits. */
async function forgetFormerLinks({ sql }: UpkeepDeps): Promise<void> {
  const [oldest] = await listPartitions(sql);
  if (!oldest) return;
  const before = new Date(mintedAtMs(oldest.from) - dayMs);
  for (const appId of await listAppsWithFormerLinksBefore(sql, before)) {
    while ((await deleteFormerLinksBefore(sql, appId, before, linksAtOnce)) === linksAtOnce);
  }
}
