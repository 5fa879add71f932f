// The way of the log's lines to their destination. It never throws and never waits, whatever the
// destination does: full, closed, stopped, or a pipe that nobody reads. Lines that find no
// room wait in memory up to a bound. Further ones are dropped and counted.
import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { DestinationStream } from 'pino';

/** Writes a part of `bytes` from `offset` on. Returns how many it took, or throws. */
export type WriteSome = (bytes: Uint8Array, offset: number) => number;

/** Characters that wait for room: about 4,000 lines (a guess). */
const waitingMax = 1 << 20;
/**
 * Bytes of one write, unless one line is longer. Several processes share a pipe, and a write of up to
 * this size does not mix with theirs (PIPE_BUF, pipe(7)).
 */
const writtenAtOnce = 4096;
/** Milliseconds. A slow reader is tried again soon. Any other refusal is likely to last. */
const retryMs = { slow: 20, refused: 1000 };
/** Milliseconds. A process that ends waits this long for a slow reader of its last lines. */
const lastWordsMs = 200;

let dropped = 0;

/** The number of lines that this process has dropped. */
export const linesDropped = (): number => dropped;

export class LogLines implements DestinationStream {
  readonly #write: WriteSome;
  #lines: string[] = [];
  /** The characters of `#lines`. */
  #waiting = 0;
  /** Lines whose write has begun; the bytes from `#offset` on are left. */
  #bytes: Uint8Array = new Uint8Array();
  #offset = 0;
  /** Undefined: no flush is planned. */
  #cancel: (() => void) | undefined;
  #isSlow = false;
  #droppedSince = 0;
  /** Called when there is room again, with the number of lines that were dropped meanwhile. */
  onRoom: (lines: number) => void = () => undefined;

  constructor(write: WriteSome) {
    this.#write = write;
  }

  /** Takes a line. The lines of one turn of the event loop are written in few pieces. */
  write(line: string): void {
    if (this.#waiting + this.#bytes.length - this.#offset + line.length > waitingMax) {
      dropped++;
      this.#droppedSince++;
      return;
    }
    this.#lines.push(line);
    this.#waiting += line.length;
    if (this.#cancel) return;
    const soon = setImmediate(() => this.flushSync());
    this.#cancel = () => clearImmediate(soon);
  }

  /** Writes what the destination takes now; the rest waits. */
  flushSync(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#isSlow = false;
    try {
      while (this.#offset < this.#bytes.length || this.#lines.length > 0) this.#writeSome();
    } catch (error) {
      this.#isSlow = (error as { code?: unknown } | null)?.code === 'EAGAIN';
      const later = setTimeout(() => this.flushSync(), this.#isSlow ? retryMs.slow : retryMs.refused).unref();
      this.#cancel = () => clearTimeout(later);
      return;
    }
    if (this.#droppedSince === 0) return;
    const lines = this.#droppedSince;
    this.#droppedSince = 0;
    this.onRoom(lines);
  }

  /** Writes the last lines of a process. Waits a moment for a reader that is slow. */
  flushAtExit(): void {
    const untilMs = performance.now() + lastWordsMs;
    const clock = new Int32Array(new SharedArrayBuffer(4));
    this.flushSync();
    while (this.#isSlow && performance.now() < untilMs) {
      Atomics.wait(clock, 0, 0, 5);
      this.flushSync();
    }
  }

  #writeSome(): void {
    if (this.#offset === this.#bytes.length) this.#takeLines();
    const taken = this.#write(this.#bytes, this.#offset);
    if (taken === 0) throw new Error('the destination took nothing');
    this.#offset += taken;
  }

  #takeLines(): void {
    let [count, size] = [0, 0];
    for (const line of this.#lines) {
      size += Buffer.byteLength(line);
      if (count > 0 && size > writtenAtOnce) break;
      count++;
    }
    const text = this.#lines.splice(0, count).join('');
    this.#bytes = Buffer.from(text);
    this.#offset = 0;
    this.#waiting -= text.length;
  }
}

/** Passes on each line of a process's output, and also a last line without a line break. */
export function readLines(output: Readable, take: (line: string) => void): void {
  let rest = '';
  output.setEncoding('utf8');
  output.on('data', (piece: string) => {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(`${line}\n`);
  });
  output.on('end', () => {
    if (rest !== '') take(`${rest}\n`);
  });
}

let toStandardError: LogLines | undefined;

/** The lines of this process to standard error. */
export function standardErrorLines(): LogLines {
  if (toStandardError) return toStandardError;
  const descriptor = openStandardError();
  const lines = new LogLines((bytes, offset) => writeSync(descriptor, bytes, offset));
  process.on('exit', () => lines.flushAtExit());
  toStandardError = lines;
  return lines;
}

/**
 * A descriptor that does not block. A process that inherits standard error makes it blocking for
 * all that share it, so a pipe or a terminal is opened a second time. A socket cannot be opened
 * again. Node.js makes it non-blocking once `process.stderr` exists, and no process of the service
 * inherits it (process/supervisor.ts).
 */
function openStandardError(): number {
  if (!process.stderr.isTTY && !fstatSync(2).isFIFO()) return 2;
  try {
    return openSync('/dev/stderr', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // The terminal belongs to another user, for example after `su`.
    return 2;
  }
}
