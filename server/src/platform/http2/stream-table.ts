// The streams under way, by their number. A ring of fixed size and not a Map: a Map that is filled and emptied a hundred
// thousand times a second leaves tables behind that keep what they held alive, and most of the time goes into collecting it.
import type { Exchange } from './exchange.ts';
import { streamIdMax } from './frames.ts';

export class StreamTable {
  readonly #ring: (Exchange | undefined)[];
  readonly #mask: number;
  #nextId = 1;
  size = 0;

  /** For at most so many at once. */
  constructor(streamsMax: number) {
    const slots = 2 ** Math.ceil(Math.log2(2 * Math.max(1, streamsMax)));
    this.#ring = new Array(slots).fill(undefined);
    this.#mask = slots - 1;
  }

  /** The number of the next stream. Numbers whose place is still taken are passed over, which closes them (RFC 9113 5.1.1). */
  get nextId(): number {
    while (this.#ring[(this.#nextId >> 1) & this.#mask] !== undefined) this.#nextId += 2;
    return this.#nextId;
  }

  /** No number is left: they are never used twice. */
  get isExhausted(): boolean {
    return this.#nextId > streamIdMax - 2 * this.#ring.length;
  }

  /** Whether a stream of this number was ever opened, or passed over. */
  hasOpened(id: number): boolean {
    return id % 2 === 1 && id < this.#nextId;
  }

  get(id: number): Exchange | undefined {
    const exchange = this.#ring[(id >> 1) & this.#mask];
    return exchange?.id === id ? exchange : undefined;
  }

  /** With the number that `nextId` gave. */
  add(exchange: Exchange): void {
    this.#ring[(exchange.id >> 1) & this.#mask] = exchange;
    this.#nextId = exchange.id + 2;
    this.size += 1;
  }

  delete(exchange: Exchange): void {
    this.#ring[(exchange.id >> 1) & this.#mask] = undefined;
    this.size -= 1;
  }

  /** All that are open now: a copy, which may be walked while they end. */
  list(): Exchange[] {
    return this.#ring.filter((each) => each !== undefined);
  }
}
