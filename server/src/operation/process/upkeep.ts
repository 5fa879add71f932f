// The hourly upkeep of a service, in one process at a time: makes partitions ahead, corrects sums
// and deletes old rows. A step that fails is logged and stops no other step.

import { runAlone } from '../../ground/database/run-alone.ts';
import type { PeriodicTask } from '../../ground/pacing/in-turn.ts';
import { mintedAtMs } from '../../ground/values/ids.ts';
import { foldTotals } from '../../insight/events/fold-totals.ts';
import { ensureEventPartitions } from '../../insight/events/partitions.ts';
import { dropOldEvents } from '../../insight/events/retention.ts';
import { listAppsToSettle } from '../../insight/reports/due-apps-queries.ts';
import { settleDue } from '../../insight/reports/settle.ts';
import { deleteChunksBefore } from '../../insight/requests/queries.ts';
import { keptDays } from '../../insight/requests/request-entry.ts';
import { deleteFormerLinksBefore, listAppsWithFormerLinksBefore } from '../../people/devices/link-queries.ts';
import { forgetOldOutcomes } from '../../sending/delivery/fold-totals.ts';
import { deletePastPaces } from '../../sending/delivery/pace-queries.ts';
import { ensureDeliveryPartitions, listPartitions } from '../../sending/delivery/partitions.ts';
import { forgetReceiptKeys } from '../../sending/delivery/receipt-keys.ts';
import { type DropDeps, dropOldDeliveries, keepDaysOf } from '../../sending/delivery/retention.ts';
import { removeOldMessages } from '../../sending/messages/retention.ts';
import { deleteOldSteps } from '../../teams/accounts/step-queries.ts';
import { deleteOldRefusals } from '../../teams/apps/credential-queries.ts';
import { findLargestAttributionWindowHours } from '../../teams/apps/queries.ts';
import { deleteFullBuckets } from '../../teams/quotas/queries.ts';

export interface UpkeepDeps extends DropDeps {
  readonly retentionDays: number;
  /** Null: events are kept for ever. */
  readonly eventRetentionDays: number | null;
  /**
   * While the service is paused nothing is deleted, because an operator may have restored a backup
   * to look for what it holds.
   */
  readonly isPaused: () => boolean;
}

export interface Upkeep {
  /** Does everything that is due. Resolves with false where another process does it. */
  runOnce(): Promise<boolean>;
  /** Does everything once an hour except what `dropping` does. */
  readonly task: PeriodicTask;
  /**
   * Drops old deliveries once an hour. It waits for every transaction that may see them, without a
   * limit, so no other task may wait behind it.
   */
  readonly dropping: PeriodicTask;
}

const everyMs = 3_600_000;
/** Milliseconds. The first upkeep waits, because a start has other work. */
const firstAfterMs = 60_000;

export function createUpkeep(deps: UpkeepDeps): Upkeep {
  const { sql, clock, log } = deps;

  /** Runs one step. Resolves with false where the step failed. */
  const step = async (name: string, work: () => Promise<unknown>): Promise<boolean> => {
    try {
      await work();
      return true;
    } catch (error) {
      log.error({ err: error, step: name }, 'upkeep failed');
      return false;
    }
  };
  const findKeepDays = async (): Promise<number> =>
    keepDaysOf(deps.retentionDays, await findLargestAttributionWindowHours(sql));
  // Two processes may do it at the same time: the server lets one of them detach.
  const drop = async (): Promise<void> => {
    if (deps.isPaused() || !(await step('fold sums', () => foldTotals(deps)))) return;
    // Purchases are settled first, because the deliveries that they are credited to are about to be
    // deleted. Where settling fails, no delivery is deleted.
    await step('drop deliveries', async () => {
      await settleDue(deps, (await listAppsToSettle(sql, clock)).apps);
      await dropOldDeliveries(deps, await findKeepDays());
    });
  };
  const remove = async (): Promise<void> => {
    const keepDays = await findKeepDays();
    await step('forget keys of receipts', () => forgetReceiptKeys(sql));
    await step('forget former links', () => forgetFormerLinks(deps));
    await step('remove messages', () => removeOldMessages(deps, keepDays));
    await step('remove old requests', () => {
      return deleteChunksBefore(sql, new Date(clock.nowMs() - keptDays * dayMs));
    });
    await step('remove old sums of deliveries', () => forgetOldOutcomes({ sql, clock }));
    await step('remove counts of refusals', () => deleteOldRefusals(sql, clock));
  };
  // Steps with a lock of their own stand before and after `runAlone`: inside it, each lock would
  // hold one more connection.
  const keepUp = async (dropsDeliveries: boolean): Promise<boolean> => {
    const isDone = await runAlone(sql, 'upkeep', async () => {
      await step('make partitions', () => ensureDeliveryPartitions(sql, clock.nowMs()));
      if (dropsDeliveries) await drop();
      await step('make partitions of events', () => ensureEventPartitions(sql, { nowMs: clock.nowMs(), log }));
      await step('forget full buckets', () => deleteFullBuckets(sql, clock));
      await step('forget paces that nobody used', () => deletePastPaces(sql, clock));
      await step('forget sign-ins that were not finished', () => deleteOldSteps(sql));
      if (!deps.isPaused()) await step('remove what is old', () => remove());
    });
    const { eventRetentionDays } = deps;
    if (isDone && eventRetentionDays !== null && !deps.isPaused())
      await step('drop events', () => dropOldEvents(deps, eventRetentionDays));
    return isDone;
  };

  return {
    runOnce: () => keepUp(true),
    task: { what: 'upkeep', everyMs, firstAfterMs, run: () => keepUp(false) },
    dropping: { what: 'drop old deliveries', everyMs, firstAfterMs, run: drop },
  };
}

const linksAtOnce = 5_000;
const dayMs = 86_400_000;

/**
 * Deletes former links of devices to users. A former link is needed as long as deliveries of its
 * time may exist. One day more allows for differing clocks and slow commits.
 */
async function forgetFormerLinks({ sql }: UpkeepDeps): Promise<void> {
  const [oldest] = await listPartitions(sql);
  if (!oldest) return;
  const before = new Date(mintedAtMs(oldest.from) - dayMs);
  for (const appId of await listAppsWithFormerLinksBefore(sql, before)) {
    while ((await deleteFormerLinksBefore(sql, appId, before, linksAtOnce)) === linksAtOnce);
  }
}
