// PINGs under way (RFC 9113 6.7). The eight bytes of each contain its number, which the answer
// repeats. Each has a deadline.
import { writePing } from './control-frames.ts';
import type { Outbox } from './outbox.ts';
import { Deadline, type TimerWheel } from './timer-wheel.ts';

class PingDeadline extends Deadline {
  readonly #onDue: () => void;

  constructor(onDue: () => void) {
    super();
    this.#onDue = onDue;
  }

  override onDue(): void {
    this.#onDue();
  }
}

export class Pings {
  readonly #out: Outbox;
  readonly #wheel: TimerWheel;
  readonly #waiting = new Map<bigint, (isAlive: boolean) => void>();
  #asked = 0n;

  constructor(out: Outbox, wheel: TimerWheel) {
    this.#out = out;
    this.#wheel = wheel;
  }

  /** Resolves with whether the answer arrives in time. */
  ask(timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      this.#asked += 1n;
      const number = this.#asked;
      const settle = (isAlive: boolean) => {
        this.#waiting.delete(number);
        this.#wheel.remove(deadline);
        resolve(isAlive);
      };
      const deadline = new PingDeadline(() => settle(false));
      this.#waiting.set(number, settle);
      this.#wheel.add(deadline, timeoutMs);
      const bytes = Buffer.alloc(8);
      bytes.writeBigUInt64BE(number);
      writePing(this.#out, 0, bytes, 0);
      this.#out.schedule();
    });
  }

  /** An answer without a question is ignored. */
  answer(bytes: Buffer, start: number): void {
    this.#waiting.get(bytes.readBigUInt64BE(start))?.(true);
  }

  close(): void {
    for (const settle of this.#waiting.values()) settle(false);
  }
}
