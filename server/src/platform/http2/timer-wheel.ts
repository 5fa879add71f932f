// Deadlines by the thousand: setting and clearing one costs a set operation, and one timer serves them all. A deadline is
// never early, and late by a tick or two.

const tickMs = 16;
const slotsCount = 1_024;

export interface Deadline {
  /** Where the wheel keeps it. Only the wheel writes it. */
  dueTick: number;
  onDue(): void;
}

export class TimerWheel {
  readonly #slots: Set<Deadline>[] = Array.from({ length: slotsCount }, () => new Set());
  readonly #startedAt = performance.now();
  /** All ticks up to here are done. */
  #tick = 0;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  add(deadline: Deadline, timeoutMs: number): void {
    const elapsedMs = performance.now() - this.#startedAt;
    if (this.#timer === undefined) {
      this.#tick = Math.floor(elapsedMs / tickMs);
      this.#timer = setTimeout(() => this.#advance(), tickMs);
    }
    deadline.dueTick = Math.max(Math.ceil((elapsedMs + timeoutMs) / tickMs), this.#tick + 1);
    this.#slotOf(deadline.dueTick).add(deadline);
    this.#count += 1;
  }

  /** Does nothing when it is over or was never set. */
  remove(deadline: Deadline): void {
    if (this.#slotOf(deadline.dueTick).delete(deadline)) this.#count -= 1;
  }

  #slotOf(tick: number): Set<Deadline> {
    return this.#slots[tick % slotsCount] ?? new Set();
  }

  #advance(): void {
    const now = Math.floor((performance.now() - this.#startedAt) / tickMs);
    // After a long pause every slot is looked at once.
    const from = Math.max(this.#tick + 1, now - slotsCount + 1);
    this.#tick = now;
    for (let tick = from; tick <= now; tick += 1) {
      const slot = this.#slotOf(tick);
      for (const deadline of slot) {
        // A later round's.
        if (deadline.dueTick > now) continue;
        slot.delete(deadline);
        this.#count -= 1;
        deadline.onDue();
      }
    }
    // Nothing to wait for: nothing keeps the process.
    this.#timer = this.#count > 0 ? setTimeout(() => this.#advance(), tickMs) : undefined;
  }
}
