// What all pools to one host know together of whether it is in reach. After an attempt that came to nothing there is one attempt at a
// time, whoever makes it, and none before its time, until one succeeds: else every app would knock once a second at a door that is
// shut. Holds nobody back from a host that is in reach, and what breaks an open connection is no business of others' (R-62).
import type { Unreachable } from '../outbound-socket.ts';

/** Called once for each time that it waits: it is worth asking again, or somebody's attempt has failed with this. */
export type OnDecided = (error: Unreachable | undefined) => void;

export class ConnectGate {
  #isClosed = false;
  /** Somebody tries whether it may be opened. */
  #isTried = false;
  /** By `performance.now()`. */
  #nextAt = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #waiting = new Set<OnDecided>();

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True: an attempt may be made now, and its end is to be told. False: `onDecided` waits, once however often it asks. */
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

  /** The next attempt may be made at `nextAt`, by `performance.now()`. */
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
