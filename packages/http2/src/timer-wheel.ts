// A timer wheel for thousands of deadlines: setting or clearing one moves a few pointers, and one
// timer serves them all. A deadline is never early, and late by a tick or two. A deadline never
// runs before an answer that has arrived. After a stop of the process, timers would run before the
// sockets are read.

const tickMs = 16;
const slotsCount = 1_024;
/**
 * Milliseconds of delay from which on the process was stopped, so that its sockets hold unread
 * input.
 */
const stoodStillMs = 100;

/** A link in the list of its slot. Only the wheel writes its fields. */
export abstract class Deadline {
  dueTick = 0;
  next: Deadline | undefined = undefined;
  previous: Deadline | undefined = undefined;

  abstract onDue(): void;
}

/** The beginning of a slot's list. */
class Head extends Deadline {
  override onDue(): void {}
}

export class TimerWheel {
  readonly #slots: readonly Head[] = Array.from({ length: slotsCount }, () => new Head());
  readonly #startedAt = performance.now();
  /** All ticks up to this one are done. */
  #tick = 0;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Sets a deadline that is not set. `now` is the present by `performance.now()`. */
  add(deadline: Deadline, timeoutMs: number, now = performance.now()): void {
    const elapsedMs = now - this.#startedAt;
    if (this.#timer === undefined) {
      this.#tick = Math.floor(elapsedMs / tickMs);
      this.#sleep();
    }
    deadline.dueTick = Math.max(Math.ceil((elapsedMs + timeoutMs) / tickMs), this.#tick + 1);
    const head = this.#slots[deadline.dueTick % slotsCount];
    if (head === undefined) return;
    deadline.previous = head;
    deadline.next = head.next;
    if (head.next !== undefined) head.next.previous = deadline;
    head.next = deadline;
    this.#count += 1;
  }

  /** Clears a deadline; does nothing when it is over or was never set. */
  remove(deadline: Deadline): void {
    const { previous, next } = deadline;
    if (previous === undefined) return;
    previous.next = next;
    if (next !== undefined) next.previous = previous;
    deadline.previous = undefined;
    deadline.next = undefined;
    this.#count -= 1;
  }

  #sleep(): void {
    const sleptAt = performance.now();
    this.#timer = setTimeout(() => {
      // Waits one turn of the event loop, which reads the sockets.
      if (performance.now() - sleptAt > tickMs + stoodStillMs) setImmediate(() => this.#advance());
      else this.#advance();
    }, tickMs);
  }

  #advance(): void {
    const now = Math.floor((performance.now() - this.#startedAt) / tickMs);
    // After a long stop of the process every slot is visited once.
    const from = Math.max(this.#tick + 1, now - slotsCount + 1);
    this.#tick = now;
    for (let tick = from; tick <= now; tick += 1) this.#endDue(tick, now);
    // Without deadlines there is no timer, so that nothing keeps the process alive.
    this.#timer = undefined;
    if (this.#count > 0) this.#sleep();
  }

  /**
   * Ends a slot's deadlines, except those of later rounds. They are collected first, because one
   * may clear others.
   */
  #endDue(tick: number, now: number): void {
    const due: Deadline[] = [];
    for (let each = this.#slots[tick % slotsCount]?.next; each !== undefined; each = each.next) {
      if (each.dueTick <= now) due.push(each);
    }
    for (const deadline of due) {
      if (deadline.previous === undefined) continue;
      this.remove(deadline);
      deadline.onDue();
    }
  }
}
