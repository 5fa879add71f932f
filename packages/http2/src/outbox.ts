// Collects bytes to write: all bytes of one turn of the event loop are sent in one write, for any
// number of requests. A system call and a TLS record for each request would cost more than
// everything else.
import type { Duplex } from 'node:stream';
import { ByteWriter } from './byte-writer.ts';

/** Bytes up to which a buffer is reused; a larger one comes from an unusually large turn. */
const keptBytesMax = 262_144;

/**
 * Milliseconds. Whether a request may be made is decided in the turn of the event loop that writes
 * it. A process that is stopped in that turn for longer may have lost the right.
 */
const turnMsMax = 5_000;

export class Outbox extends ByteWriter {
  readonly #socket: Duplex;
  readonly #onFlush: () => void;
  /** A buffer whose bytes were sent. */
  #spare: Buffer | undefined;
  #isScheduled = false;

  constructor(socket: Duplex, onFlush: () => void) {
    super();
    this.#socket = socket;
    this.#onFlush = onFlush;
  }

  /**
   * Schedules a write after the event loop has delivered its input, and after all promises that
   * this turn resolves. If the process is stopped meanwhile, nothing is written and the connection
   * ends, because its headers cannot be taken back one by one.
   */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const steadyMs = performance.now();
    const wallMs = Date.now();
    setImmediate(() => {
      this.#isScheduled = false;
      // The steady clock stands still while the host sleeps.
      const tookMs = Math.max(performance.now() - steadyMs, Date.now() - wallMs);
      if (tookMs > turnMsMax) this.#socket.destroy(new Error('The process was stopped before it wrote.'));
      else this.flush();
    });
  }

  /** Drops all bytes that have not been written. */
  discard(): void {
    this.length = 0;
  }

  flush(): void {
    if (this.length === 0) return;
    // The connection is closed, so the bytes here count as not sent.
    if (!this.#socket.writable) {
      this.discard();
      return;
    }
    this.#onFlush();
    const { bytes, length } = this;
    this.bytes = this.#spare ?? Buffer.allocUnsafeSlow(bytes.length);
    this.#spare = undefined;
    this.length = 0;
    this.#socket.write(bytes.subarray(0, length), () => {
      if (bytes.length <= keptBytesMax) this.#spare = bytes;
    });
  }
}
