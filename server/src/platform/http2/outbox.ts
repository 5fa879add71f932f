// What waits to be written: everything of one turn of the event loop leaves in one write, however many requests it holds.
// A system call and a TLS record for each request would cost more than all the rest.
import type { Duplex } from 'node:stream';
import { ByteWriter } from './byte-writer.ts';

/** A buffer that one large turn has blown up is not kept. */
const keptBytesMax = 262_144;

export class Outbox extends ByteWriter {
  readonly #socket: Duplex;
  readonly #onFlush: () => void;
  /** A buffer whose bytes have left. */
  #spare: Buffer | undefined;
  #isScheduled = false;

  constructor(socket: Duplex, onFlush: () => void) {
    super();
    this.#socket = socket;
    this.#onFlush = onFlush;
  }

  /** Has it written when the event loop has handed out what came in: after all promises that this turn resolves. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }

  /** Forgets what has not been written. */
  discard(): void {
    this.length = 0;
  }

  flush(): void {
    if (this.length === 0) return;
    // The connection is gone, and with it what waited here: it counts as not sent.
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
