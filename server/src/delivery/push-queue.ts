// Begins the pushes of one channel of a batch, one after the other, with many under way. Each waits first for its provider's pace,
// then for its message's, holding nothing that others need, and last for a slot; after every wait it is asked anew whether it is
// to be made at all.

import type { FairSlots } from '../platform/fair-slots.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Attempt } from './delivery.ts';
import type { MessagePace } from './message-pace.ts';
import type { MessageWatch } from './message-watch.ts';
import { type BatchContext, type PlannedPush, planPush, type Target, type Unpushed } from './plan-push.ts';
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
  /** Calls back when the batch's lease is over: whoever waits then is asked again, and left. */
  readonly onOver: (hear: () => void) => void;
  /** The attempts already made for a device, oldest first. */
  readonly attemptsOf: (deviceId: Uuid) => readonly Attempt[];
  /** Takes what a delivery came to; undefined where nothing is to be waited for. */
  readonly settle: (target: Target, attempts: readonly Attempt[], result: PushResult) => Promise<void> | undefined;
  /**
   * While what was pushed is not safe, or what is pushed now would not be: ends when that may have changed, or when there is nothing
   * left to save.
   */
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
  const underWay = new PushesUnderWay(deps, queue);
  const door = new Door(deps, queue);
  let stopWaiting: () => void = () => undefined;
  queue.onOver(() => stopWaiting());
  const waited = (until: Promise<unknown>): Promise<void> =>
    new Promise((resolve, reject) => {
      stopWaiting = resolve;
      until.then(() => resolve(), reject);
    });
  try {
    for (const target of targets) {
      const attempts = queue.attemptsOf(target.deviceId);
      door.turnTo(target, attempts);
      let next = door.next();
      while (next.kind === 'wait') {
        await waited(next.until);
        next = door.next();
      }
      if (next.kind === 'planned') void underWay.push(target, next, attempts);
    }
  } finally {
    await underWay.none();
  }
  if (underWay.failures.length > 0) throw underWay.failures[0];
}

/** The pushes that were begun: counted, since a list of their promises would live as long as the batch. */
class PushesUnderWay {
  readonly failures: unknown[] = [];
  readonly #deps: QueueDeps;
  readonly #queue: Queue;
  #count = 0;
  #onNone: (() => void) | undefined;

  constructor(deps: QueueDeps, queue: Queue) {
    this.#deps = deps;
    this.#queue = queue;
  }

  /** The push has its slot, and gives it back. A push that fails in our own code ends neither the others nor the process. */
  async push(target: Target, planned: PlannedPush, attempts: readonly Attempt[]): Promise<void> {
    const { context, pace, settle } = this.#queue;
    this.#count++;
    let went: 'well' | 'badly' | undefined;
    try {
      const result = await pushOne(this.#deps, context, target, planned, attempts, pace?.again);
      went = wentOf(this.#deps, result);
      const settled = settle(target, attempts, result);
      if (settled) await settled;
    } catch (error) {
      this.failures.push(error);
    }
    this.#count--;
    if (this.#count === 0) this.#onNone?.();
    this.#deps.slots.give(context.batch.appId, went);
  }

  /** Resolves when none is left. */
  async none(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      this.#onNone = resolve;
    });
  }
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

/** What is next for the delivery at the door. `planned` holds a slot; after `over` it is settled, or left for later. */
type Next = PlannedPush | { readonly kind: 'over' } | { readonly kind: 'wait'; readonly until: Promise<unknown> };

const over = { kind: 'over' } as const;

/** A slot that was asked for; one whose turn is still to come when nobody waits for it any more is given back then. */
interface Slot {
  isHeld: boolean;
  isLeft: boolean;
}

/** Where one delivery after the other waits until its push may be made. */
class Door {
  readonly #deps: QueueDeps;
  readonly #queue: Queue;
  #target: Target | undefined;
  #attempts: readonly Attempt[] = [];
  #isInRow = false;
  #placeMs: number | undefined;
  /** There was no place to be had. */
  #isWithoutPlace = false;
  #slot: Slot | undefined;

  constructor(deps: QueueDeps, queue: Queue) {
    this.#deps = deps;
    this.#queue = queue;
  }

  turnTo(target: Target, attempts: readonly Attempt[]): void {
    this.#target = target;
    this.#attempts = attempts;
    this.#isInRow = false;
    this.#placeMs = undefined;
    this.#isWithoutPlace = false;
    this.#slot = undefined;
  }

  /** To be asked again after each wait. Nearly every push waits for nothing, or for a slot: a promise is made only where one does. */
  next(): Next {
    const { slots } = this.#deps;
    const { pace, untilSafe, isStopping, context } = this.#queue;
    const { appId } = context.batch;
    const decided = this.#decide();
    const isLate = pace !== null && (this.#placeMs === undefined || pace.isLate(this.#placeMs));
    const safe = untilSafe();
    if (decided.kind !== 'planned' || isLate || safe) this.#leaveSlot();
    if (decided.kind !== 'planned') return decided;
    if (safe) return { kind: 'wait', until: safe };
    if (!this.#isInRow) {
      this.#isInRow = true;
      const { sender, credential } = decided.route;
      const waitMs = sender.waitMs(credential);
      if (typeof waitMs !== 'number')
        return { kind: 'wait', until: waitMs.then((askedMs) => rest(askedMs, isStopping)) };
      if (waitMs > 0) return { kind: 'wait', until: rest(waitMs, isStopping) };
    }
    if (isLate) return this.#takePlace(pace);
    if (!this.#slot) {
      const turn = slots.take(appId);
      const slot = { isHeld: turn === undefined, isLeft: false };
      this.#slot = slot;
      if (turn) return { kind: 'wait', until: turn.then(() => this.#takeTurn(slot)) };
    }
    return decided;
  }

  #takeTurn(slot: Slot): void {
    if (slot.isLeft) this.#deps.slots.give(this.#queue.context.batch.appId);
    else slot.isHeld = true;
  }

  #leaveSlot(): void {
    const slot = this.#slot;
    this.#slot = undefined;
    if (slot?.isHeld) this.#deps.slots.give(this.#queue.context.batch.appId);
    else if (slot) slot.isLeft = true;
  }

  /** Is this push to be made, as things stand? If not, sees to what becomes of the delivery. */
  #decide(): Next {
    const { context, watch, isStopping, lookAgainAt } = this.#queue;
    const target = this.#target;
    const attempts = this.#attempts;
    if (!target || this.#isWithoutPlace) return over;
    if (isStopping()) {
      lookAgainAt(this.#deps.clock.nowMs());
      return over;
    }
    if (watch.isCanceled()) return this.#settle(target, { kind: 'skipped', reason: 'canceled' });
    const retryAt = attempts.at(-1)?.retry_at;
    if (retryAt && Date.parse(retryAt) > this.#deps.clock.nowMs()) {
      lookAgainAt(Date.parse(retryAt));
      return over;
    }
    const planned = planPush(this.#deps, context, target, attempts);
    return planned.kind === 'planned' ? planned : this.#settle(target, planned);
  }

  #settle(target: Target, result: Unpushed): Next {
    this.#target = undefined;
    const settled = this.#queue.settle(target, this.#attempts, result);
    return settled ? { kind: 'wait', until: settled } : over;
  }

  #takePlace(pace: MessagePace): Next {
    const taken = pace.take().then((placeMs) => {
      this.#placeMs = placeMs;
      if (placeMs !== undefined) return;
      this.#isWithoutPlace = true;
      this.#queue.lookAgainAt(pace.nextAtMs);
    });
    return { kind: 'wait', until: taken };
  }
}

async function rest(ms: number, isStopping: () => boolean): Promise<void> {
  const until = performance.now() + ms;
  for (let leftMs = ms; leftMs > 0 && !isStopping(); leftMs = until - performance.now()) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(leftMs, restMsMax)));
  }
}
