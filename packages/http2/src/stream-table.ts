// The open streams, by their numbers, in a ring of fixed size. A Map that is filled and emptied a
// hundred thousand times a second leaves tables behind that keep its former values alive. Most of
// the time would go into garbage collection.
import type { Exchange } from './exchange.ts';
import { streamIdMax } from './frames.ts';

export class StreamTable {
  readonly #ring: (Exchange | undefined)[];
  readonly #mask: number;
  #nextId = 1;
  size = 0;

  /** `streamsMax`: the number of streams that are open at once, at most. */
  constructor(streamsMax: number) {
    const slots = 2 ** Math.ceil(Math.log2(2 * Math.max(1, streamsMax)));
    this.#ring = new Array(slots).fill(undefined);
    this.#mask = slots - 1;
  }

  /**
   * The number of the next stream. A number whose place is still taken is skipped, which closes it
   * (RFC 9113 5.1.1).
   */
  get nextId(): number {
    while (this.#ring[(this.#nextId >> 1) & this.#mask] !== undefined) this.#nextId += 2;
    return this.#nextId;
  }

  /** True when no number is left, because numbers are never reused. */
  get isExhausted(): boolean {
    return this.#nextId > streamIdMax - 2 * this.#ring.length;
  }

  /** Returns whether a stream of this number was ever opened or skipped. */
  hasOpened(id: number): boolean {
    return id % 2 === 1 && id < this.#nextId;
  }

  get(id: number): Exchange | undefined {
    const exchange = this.#ring[(id >> 1) & this.#mask];
    return exchange?.id === id ? exchange : undefined;
  }

  /** Adds a request with the number that `nextId` returned. */
  add(exchange: Exchange): void {
    this.#ring[(exchange.id >> 1) & this.#mask] = exchange;
    this.#nextId = exchange.id + 2;
    this.size += 1;
  }

  delete(exchange: Exchange): void {
    this.#ring[(exchange.id >> 1) & this.#mask] = undefined;
    this.size -= 1;
  }

  /** A copy of all open streams, which may be iterated while they end. */
  list(): Exchange[] {
    return this.#ring.filter((each) => each !== undefined);
  }
}
