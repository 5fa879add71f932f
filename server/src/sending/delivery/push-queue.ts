// Begins the pushes of one channel of a batch, one after the other, with many under way. Each push
// waits first for a token of its provider's pace and then of its message's, and holds nothing that
// other pushes need. Last it waits for a slot. After every wait the queue decides again whether the
// push is made.

import { failpoint } from '../../ground/host/failpoint.ts';
import type { FairSlots } from '../../ground/pacing/fair-slots.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Outcome } from '../channels/channel.ts';
import type { Attempt } from './delivery.ts';
import type { MessageWatch } from './message-watch.ts';
import { type Pace, restUntil, untilToken } from './pace.ts';
import { type BatchContext, type PlannedPush, planPush, type Target, type Unpushed } from './plan-push.ts';
import {
  type Late,
  type OutcomeHearer,
  type PushDeps,
  type PushPace,
  type PushResult,
  PushUnderWay,
} from './push-under-way.ts';
import { waitsUntilMs } from './retry.ts';

export interface QueueDeps extends PushDeps {
  /** The right to have a push under way in this process, shared fairly between apps. */
  readonly slots: FairSlots;
  readonly hasSpareTime: () => boolean;
}

export interface Queue {
  readonly context: BatchContext;
  readonly watch: MessageWatch;
  readonly isStopping: () => boolean;
  /**
   * Calls back when the batch's lease ends. A push that waits is then decided again, and not made.
   */
  readonly onOver: (hear: () => void) => void;
  /** The attempts already made for a device, oldest first. */
  readonly attemptsOf: (deviceId: Uuid) => readonly Attempt[];
  /** Takes the result of a delivery. Returns undefined when the caller need not wait. */
  readonly settle: (target: Target, attempts: readonly Attempt[], result: PushResult) => Promise<void> | undefined;
  /**
   * While a commit is late, outcomes have no room, or the lease allows no push: resolves when that
   * may have changed. Undefined otherwise.
   */
  readonly untilSafe: () => Promise<void> | undefined;
  /** The pace of a message with a rate: each push takes a token first. Null without a rate. */
  readonly pace: Pace | null;
  /**
   * With a rate, no push takes a token after this time, by `steadyMs`. The batch is then handed
   * back.
   */
  readonly turnEndsAtMs: number;
  /** The batch is due again at this time. */
  readonly lookAgainAt: (atMs: number) => void;
}

/** A batch that would wait longer for its message's next token is handed back. */
const patienceMs = 250;

/**
 * Resolves when every push that began has ended, or rejects if one failed in our own code. Before
 * every push it asks whether to stop. At a stop the requests under way end, and the other
 * deliveries stay for later.
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
    for (let begun = 0; ; ) {
      const late = underWay.late.shift();
      const target = late ?? targets[begun++];
      if (!target) {
        if (underWay.isNone) break;
        await underWay.change();
        continue;
      }
      const attempts = queue.attemptsOf(target.deviceId);
      door.turnTo(target, attempts, late !== undefined);
      let next = door.next();
      while (next.kind === 'wait') {
        await waited(next.until);
        next = door.next();
      }
      if (next.kind === 'planned')
        underWay.begin(new PushUnderWay(deps, queue.context, target, next, attempts, underWay, door.pace()));
    }
  } finally {
    await underWay.end();
  }
  if (underWay.failures.length > 0) throw underWay.failures[0];
}

/**
 * The pushes that began. They are counted, because a list of promises would live as long as the
 * batch.
 */
class PushesUnderWay implements OutcomeHearer {
  readonly failures: unknown[] = [];
  /** Deliveries that come next, because their push was not made: its token had become too old. */
  readonly late: Target[] = [];
  readonly #deps: QueueDeps;
  readonly #queue: Queue;
  #count = 0;
  #onChange: (() => void) | undefined;

  constructor(deps: QueueDeps, queue: Queue) {
    this.#deps = deps;
    this.#queue = queue;
  }

  /**
   * Makes a push that has its slot, and gives the slot back at its end. A push that fails in our own
   * code ends neither the other pushes nor the process.
   */
  begin(push: PushUnderWay): void {
    this.#count++;
    try {
      const held = failpoint('push.before_write');
      if (held) held.then(() => this.#send(push)).catch(this.#fail);
      else this.#send(push);
    } catch (error) {
      this.#fail(error);
    }
  }

  #send(push: PushUnderWay): void {
    const result = push.begin();
    if (result) this.#settle(push, result);
  }

  hear(push: PushUnderWay, outcome: Outcome): void {
    try {
      const result = push.resultOf(outcome);
      const held = result.kind === 'attempted' ? failpoint('push.after_reply') : undefined;
      if (held) held.then(() => this.#settle(push, result)).catch(this.#fail);
      else this.#settle(push, result);
    } catch (error) {
      this.#fail(error);
    }
  }

  #settle(push: PushUnderWay, result: PushResult | Late): void {
    const went = wentOf(this.#deps, result);
    if (result.kind === 'late') {
      this.late.push(push.target);
      this.#onChange?.();
      this.#end(went);
      return;
    }
    const settled = this.#queue.settle(push.target, push.before, result);
    if (settled) settled.then(() => this.#end(went), this.#fail);
    else this.#end(went);
  }

  readonly #fail = (error: unknown): void => {
    this.failures.push(error);
    this.#end(undefined);
  };

  #end(went: 'well' | 'badly' | undefined): void {
    this.#count--;
    if (this.#count === 0) this.#onChange?.();
    this.#deps.slots.give(this.#queue.context.batch.appId, went);
  }

  /** No push is under way, and none waits for another token. */
  get isNone(): boolean {
    return this.#count === 0 && this.late.length === 0;
  }

  /** Resolves when no push is under way. */
  async end(): Promise<void> {
    while (this.#count > 0) await this.change();
  }

  /** Resolves when the last push under way has ended, or one has come back late. */
  async change(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => {
      this.#onChange = resolve;
    });
  }
}

/**
 * A retryable refusal means that the provider is saturated. Any other answer means that it keeps
 * up, unless our own event loop is busy: then more pushes at once would only cost memory.
 */
function wentOf({ hasSpareTime }: QueueDeps, result: PushResult | Late): 'well' | 'badly' | undefined {
  if (result.kind !== 'attempted') return undefined;
  if (result.outcome.kind === 'refused' && result.outcome.retryable) return 'badly';
  return hasSpareTime() ? 'well' : undefined;
}

/**
 * The next step of the delivery that is at the door. `planned`: it holds a slot. `over`: it is
 * settled, or waits for another turn of the batch.
 */
type Next = PlannedPush | { readonly kind: 'over' } | { readonly kind: 'wait'; readonly until: Promise<unknown> };

const over = { kind: 'over' } as const;

/**
 * A slot that was asked for. With `isLeft` no push waits for it any more, so it is given back when
 * it comes.
 */
interface Slot {
  isHeld: boolean;
  isLeft: boolean;
}

/** The door of the queue: one delivery after the other waits here until its push may be made. */
class Door {
  readonly #deps: QueueDeps;
  readonly #queue: Queue;
  #target: Target | undefined;
  #attempts: readonly Attempt[] = [];
  #isAgain = false;
  /** When the provider's token is due, and the message's. */
  #providerDueMs: number | undefined;
  #dueMs: number | undefined;
  #slot: Slot | undefined;

  constructor(deps: QueueDeps, queue: Queue) {
    this.#deps = deps;
    this.#queue = queue;
  }

  /**
   * `isAgain`: the delivery was late before. It has its provider's token, and does not count as
   * late again.
   */
  turnTo(target: Target, attempts: readonly Attempt[], isAgain: boolean): void {
    this.#target = target;
    this.#attempts = attempts;
    this.#isAgain = isAgain;
    this.#providerDueMs = undefined;
    this.#dueMs = undefined;
    this.#slot = undefined;
  }

  /**
   * Call this again after each wait. Nearly every push waits for nothing or only for a slot, so a
   * promise is made only for a wait.
   */
  next(): Next {
    const decided = this.#decide();
    const unready = decided.kind === 'planned' ? this.#untilReady(decided) : decided;
    if (unready) {
      this.#leaveSlot();
      return unready;
    }
    if (!this.#slot) {
      const turn = this.#deps.slots.take(this.#queue.context.batch.appId);
      const slot = { isHeld: turn === undefined, isLeft: false };
      this.#slot = slot;
      if (turn) return { kind: 'wait', until: turn.then(() => this.#takeTurn(slot)) };
    }
    return decided;
  }

  /** The rate for the push that has just got its token; undefined without one. */
  pace(): PushPace | undefined {
    const { pace, isStopping } = this.#queue;
    const dueMs = this.#dueMs;
    if (pace === null || dueMs === undefined) return undefined;
    // A push counts as late only once. Otherwise a slow machine, where every push is late, would
    // encrypt each push many times and send none.
    const isAgain = this.#isAgain;
    return {
      again: () => untilToken(this.#deps.clock, pace, isStopping),
      isLate: () => !isAgain && pace.isLate(dueMs),
    };
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

  /**
   * Whether this push is to be made now. If not, this settles the delivery or leaves it for later.
   */
  #decide(): Next {
    const { context, watch, isStopping, lookAgainAt } = this.#queue;
    const target = this.#target;
    const attempts = this.#attempts;
    if (!target) return over;
    if (isStopping()) {
      lookAgainAt(this.#deps.clock.nowMs());
      return over;
    }
    if (watch.isCanceled()) return this.#settle(target, { kind: 'skipped', reason: 'canceled' });
    const retryAtMs = waitsUntilMs(attempts.at(-1), this.#deps.clock.nowMs());
    if (retryAtMs !== undefined) {
      lookAgainAt(retryAtMs);
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

  /** Takes the tokens that the push needs. Undefined: it may be made, but for a slot. */
  #untilReady({ route: { credential } }: PlannedPush): Next | undefined {
    const { clock } = this.#deps;
    const { pace, turnEndsAtMs, untilSafe } = this.#queue;
    const safe = untilSafe();
    if (safe) return { kind: 'wait', until: safe };
    const ofProvider = this.#isAgain ? undefined : credential?.pace;
    if (ofProvider) {
      this.#providerDueMs ??= ofProvider.take();
      if (this.#providerDueMs === undefined)
        return { kind: 'wait', until: ofProvider.ask().then((atMs) => this.#restUntil(atMs)) };
      if (this.#providerDueMs > clock.steadyMs()) return { kind: 'wait', until: this.#restUntil(this.#providerDueMs) };
    }
    if (pace === null) return undefined;
    if (this.#dueMs === undefined || pace.isLate(this.#dueMs)) {
      if (clock.steadyMs() >= turnEndsAtMs) return this.#leave(0);
      this.#dueMs = pace.take();
      if (this.#dueMs === undefined) return { kind: 'wait', until: this.#ask(pace) };
    }
    return this.#dueMs > clock.steadyMs() ? { kind: 'wait', until: this.#restUntil(this.#dueMs) } : undefined;
  }

  async #ask(pace: Pace): Promise<void> {
    const atMs = await pace.ask();
    const waitMs = atMs - this.#deps.clock.steadyMs();
    if (waitMs > patienceMs) this.#leave(waitMs);
    else await this.#restUntil(atMs);
  }

  #restUntil(atMs: number): Promise<void> {
    return restUntil(this.#deps.clock, atMs, this.#queue.isStopping);
  }

  /** Leaves the delivery for another turn of the batch, which is due after the wait. */
  #leave(waitMs: number): Next {
    this.#target = undefined;
    this.#queue.lookAgainAt(this.#deps.clock.nowMs() + waitMs);
    return over;
  }
}
