// Shared by all pools to one host: whether the host is reachable. After a failed connection only
// one try runs at a time, in any pool, and none before `nextAt`, until one succeeds. Otherwise
// every pool would try an unreachable host once a second. A reachable host delays nobody, and a
// broken open connection does not affect other pools.
import type { Unreachable } from './result.ts';

/**
 * Called once for each wait: another connection may be tried, or one has failed with this error.
 */
export type OnDecided = (error: Unreachable | undefined) => void;

export class ConnectGate {
  #isClosed = false;
  /** A connection is being tried that may open the gate. */
  #isTried = false;
  /** The time of the next try, by `performance.now()`. */
  #nextAt = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #waiting = new Set<OnDecided>();

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Returns true when a connection may be tried now; its result must be reported. Returns false
   * when `onDecided` will be called instead, only once even after several questions.
   */
  enter(onDecided: OnDecided): boolean {
    if (!this.#isClosed) return true;
    const waitMs = this.#nextAt - performance.now();
    if (!this.#isTried && waitMs <= 0) {
      this.#isTried = true;
      return true;
    }
    this.#waiting.add(onDecided);
    if (!this.#isTried) this.#timer ??= setTimeout(() => this.#decide(undefined), waitMs);
    return false;
  }

  succeed(): void {
    this.#isClosed = false;
    this.#isTried = false;
    this.#decide(undefined);
  }

  /** Closes the gate until `nextAt`, by `performance.now()`. */
  fail(error: Unreachable, nextAt: number): void {
    this.#isClosed = true;
    this.#isTried = false;
    this.#nextAt = nextAt;
    this.#decide(error);
  }

  #decide(error: Unreachable | undefined): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const onDecided of waiting) onDecided(error);
  }
}
