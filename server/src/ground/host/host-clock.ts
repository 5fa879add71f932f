// The two clocks of the host, and the watch over them. People and time servers set the wall clock.
// Nobody sets the steady clock, but it stands still while the host sleeps. If the two clocks moved
// by different amounts, the host slept or its wall clock was set. Every reading makes this
// comparison, so no decision is made with a time from before the step.

export interface HostClock {
  /** Milliseconds since the epoch, as the host's wall clock shows them. */
  wallMs(): number;
  /** Milliseconds since an arbitrary moment. */
  steadyMs(): number;
}

export const hostClock: HostClock = { wallMs: () => Date.now(), steadyMs: () => performance.now() };

/**
 * A difference up to this many milliseconds comes from slewing or a slow reading, and is no step
 * (R-100).
 */
export const stepMsLeast = 500;
/**
 * Milliseconds. A process that read no clock for this long was stopped, because four ticks come in
 * this time.
 */
const stoodStillMs = 2000;
/** Milliseconds. Both clocks are read within this time; otherwise they are read again. */
const togetherMs = 50;
const readingsMax = 10;

export class HostWatch {
  readonly #host: HostClock;
  readonly #onStep: () => void;
  #apartMs: number;
  #readAtMs: number;
  #agedMs = 0;
  #gapMs = 0;
  /** The number of steps of the wall clock. */
  steps = 0;
  /** The number of times when this process did not run for seconds. */
  standstills = 0;

  constructor(host: HostClock, onStep: () => void) {
    this.#host = host;
    this.#onStep = onStep;
    this.#readAtMs = host.steadyMs();
    this.#apartMs = this.#readApartMs();
  }

  /** The host's steady clock. Calls `onStep` before it returns, if the wall clock has stepped. */
  steadyMs(): number {
    const steadyMs = this.#host.steadyMs();
    if (steadyMs - this.#readAtMs > stoodStillMs) this.standstills++;
    this.#readAtMs = steadyMs;
    const byMs = this.#host.wallMs() - steadyMs - this.#apartMs;
    if (byMs > stepMsLeast || byMs < -stepMsLeast) this.#look();
    return steadyMs;
  }

  /**
   * The steady clock plus all time that the host may have slept. A wall clock that was set forward
   * looks like sleep, so this clock may overstate an age and never understates it.
   */
  agedMs(): number {
    return this.steadyMs() + this.#agedMs;
  }

  /** Takes the present difference of both clocks as the usual one, if it is no step. */
  follow(): void {
    this.steadyMs();
    const apartMs = this.#readApartMs();
    if (Math.abs(apartMs - this.#apartMs) <= stepMsLeast) this.#apartMs = apartMs;
  }

  /** By how much the wall clock has stepped since `forgetGap`, in milliseconds. */
  get gapMs(): number {
    return this.#gapMs;
  }

  forgetGap(): void {
    this.#gapMs = 0;
  }

  #look(): void {
    const apartMs = this.#readApartMs();
    const byMs = apartMs - this.#apartMs;
    if (Math.abs(byMs) <= stepMsLeast) return;
    this.#apartMs = apartMs;
    this.#gapMs += byMs;
    this.#agedMs += Math.max(0, byMs);
    this.steps++;
    this.#onStep();
  }

  /** A busy host may stop the process between two readings, so they are made close together. */
  #readApartMs(): number {
    for (let reading = 1; ; reading++) {
      const beforeMs = this.#host.steadyMs();
      const apartMs = this.#host.wallMs() - beforeMs;
      if (this.#host.steadyMs() - beforeMs <= togetherMs || reading === readingsMax) return apartMs;
    }
  }
}
