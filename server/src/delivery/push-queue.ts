// Begins the pushes of one channel of a batch, one after the other, with many under way. Each waits first for its provider's pace,
// then for its
// message's, holding nothing that others need, and last for a slot; after every wait it is asked anew whether it is to be made at all.

import type { FairSlots } from '../platform/fair-slots.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Attempt } from './delivery.ts';
import type { MessagePace } from './message-pace.ts';
import type { MessageWatch } from './message-watch.ts';
import { type BatchContext, type PlannedPush, planPush, type Target } from './plan-push.ts';
import { type PushDeps, type PushResult, pushOne } from './push-one.ts';

export interface QueueDeps extends PushDeps {
  /** How many pushes this process has under way at once, shared fairly between apps. */
  readonly slots: FairSlots;
  readonly hasSpareTime: () => boolean;
}

export interface Queue {
  readonly context: BatchContext;
  readonly watch: MessageWatch;
  readonly isStopping: () => boolean;
  /** The attempts already made for a device, oldest first. */
  readonly attemptsOf: (deviceId: Uuid) => readonly Attempt[];
  /** Takes what a delivery came to. */
  readonly settle: (target: Target, attempts: readonly Attempt[], result: PushResult) => Promise<void>;
  /** While what was pushed is not safe: ends when it is, or when there is nothing left to save. */
  readonly untilSafe: () => Promise<void> | undefined;
  /** Where the message has so many requests a second: each push takes a place first. */
  readonly pace: MessagePace | null;
  /** The batch has to be looked at again then. */
  readonly lookAgainAt: (atMs: number) => void;
}

/** A stop waits no longer than this for one who waits for the pace. */
const restMsMax = 100;

/**
 * Resolves when every push that was begun has ended; rejects then if one of them failed in our own code. Asks before every push
 * whether to stop: what is on the wire ends, and the rest is left.
 */
export async function pushQueue(deps: QueueDeps, queue: Queue, targets: readonly Target[]): Promise<void> {
  const { pace } = queue;
  const { appId } = queue.context.batch;
  const failures: unknown[] = [];
  const underWay: Promise<void>[] = [];
  try {
    for (const target of targets) {
      const attempts = queue.attemptsOf(target.deviceId);
      const planned = await prepare(deps, queue, target, attempts);
      if (!planned) continue;
      let went: 'well' | 'badly' | undefined;
      underWay.push(
        pushOne(deps, queue.context, target, planned, attempts, pace?.again)
          .then((result) => {
            went = wentOf(deps, result);
            return queue.settle(target, attempts, result);
          })
          // A push that fails in our own code ends neither the others nor the process; the batch is claimed again for it.
          .catch((error: unknown) => void failures.push(error))
          .finally(() => deps.slots.give(appId, went)),
      );
    }
  } finally {
    await Promise.all(underWay);
  }
  if (failures.length > 0) throw failures[0];
}

/**
 * What is refused for a reason that may pass says that the provider has enough to do; every other answer, that it keeps up. Where this
 * process does not, more at once would only cost memory.
 */
function wentOf({ hasSpareTime }: QueueDeps, result: PushResult): 'well' | 'badly' | undefined {
  if (result.kind !== 'attempted') return undefined;
  if (result.outcome.kind === 'refused' && result.outcome.retryable) return 'badly';
  return hasSpareTime() ? 'well' : undefined;
}

/** Waits until this push may be made; what it returns holds a slot. Undefined: it is settled, or left for later. */
async function prepare(
  deps: QueueDeps,
  queue: Queue,
  target: Target,
  attempts: readonly Attempt[],
): Promise<PlannedPush | undefined> {
  const { pace } = queue;
  const { appId } = queue.context.batch;
  let isInRow = false;
  let placeMs: number | undefined;
  let hasSlot = false;
  for (;;) {
    const planned = await decide(deps, queue, target, attempts);
    const isLate = pace !== null && (placeMs === undefined || pace.isLate(placeMs));
    const safe = queue.untilSafe();
    if (hasSlot && (!planned || isLate || safe)) {
      hasSlot = false;
      deps.slots.give(appId);
    }
    if (!planned) return undefined;
    if (safe) {
      await safe;
      continue;
    }
    if (!isInRow) {
      isInRow = true;
      const waitMs = planned.sender.waitMs(planned.credential);
      if (waitMs > 0) {
        await rest(waitMs, queue.isStopping);
        continue;
      }
    }
    if (isLate) {
      placeMs = await pace.take();
      if (placeMs !== undefined) continue;
      queue.lookAgainAt(pace.nextAtMs);
      return undefined;
    }
    if (!hasSlot) {
      const turn = deps.slots.take(appId);
      hasSlot = true;
      if (turn) {
        await turn;
        continue;
      }
    }
    return planned;
  }
}

/** Is this push to be made, as things stand? If not, sees to what becomes of the delivery. */
async function decide(
  deps: QueueDeps,
  { context, watch, isStopping, settle, lookAgainAt }: Queue,
  target: Target,
  attempts: readonly Attempt[],
): Promise<PlannedPush | undefined> {
  if (isStopping()) {
    lookAgainAt(deps.clock.nowMs());
    return undefined;
  }
  if (watch.isCanceled()) {
    await settle(target, attempts, { kind: 'skipped', reason: 'canceled' });
    return undefined;
  }
  const retryAt = attempts.at(-1)?.retry_at;
  if (retryAt && Date.parse(retryAt) > deps.clock.nowMs()) {
    lookAgainAt(Date.parse(retryAt));
    return undefined;
  }
  const planned = planPush(deps, context, target, attempts);
  if (planned.kind === 'planned') return planned;
  await settle(target, attempts, planned);
  return undefined;
}

async function rest(ms: number, isStopping: () => boolean): Promise<void> {
  const until = performance.now() + ms;
  for (let leftMs = ms; leftMs > 0 && !isStopping(); leftMs = until - performance.now()) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(leftMs, restMsMax)));
  }
}
