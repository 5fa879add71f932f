// Serves concurrent items of one key together: an item that arrives while others are served waits
// for the next turn and shares it. A single item waits for nobody, and one item's refusal never
// affects another.

/** The outcome of each item, in the order of the items. */
export type Outcomes<Result> = readonly PromiseSettledResult<Result>[];

export interface TogetherOptions {
  /** Concurrent turns of one key. */
  readonly turnsMax: number;
  /** Items of a turn, at most. */
  readonly itemsMax: number;
  /**
   * Milliseconds that an item waits for a turn before it is refused, with a code that means that
   * the database is busy.
   */
  readonly waitMs: number;
}

export interface Together<Item, Result> {
  /** Resolves or rejects with the outcome of the item. */
  run(key: string, item: Item): Promise<Result>;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly sinceMs: number;
  resolve(result: Result): void;
  reject(reason: unknown): void;
}

/** `work` serves the items of a turn. When it throws, each item gets that error. */
export function createTogether<Item, Result>(
  work: (key: string, items: readonly Item[]) => Promise<Outcomes<Result>>,
  options: TogetherOptions,
): Together<Item, Result> {
  const lines = new Map<string, Line<Item, Result>>();
  return {
    run: (key, item) =>
      new Promise((resolve, reject) => {
        const line = lines.get(key) ?? new Line((items) => work(key, items), options);
        if (!lines.has(key)) {
          lines.set(key, line);
          line.onDone = () => lines.delete(key);
        }
        line.add({ item, sinceMs: performance.now(), resolve, reject });
      }),
  };
}

class Line<Item, Result> {
  readonly #work: (items: readonly Item[]) => Promise<Outcomes<Result>>;
  readonly #options: TogetherOptions;
  /** Called when no item waits or is served any more; the line then accepts no item. */
  onDone: () => void = () => undefined;
  #waiting: Waiting<Item, Result>[] = [];
  #turns = 0;
  #isBeginning = false;
  #deadline: NodeJS.Timeout | undefined;

  constructor(work: (items: readonly Item[]) => Promise<Outcomes<Result>>, options: TogetherOptions) {
    this.#work = work;
    this.#options = options;
  }

  add(waiting: Waiting<Item, Result>): void {
    this.#waiting.push(waiting);
    this.#begin();
    this.#deadline ??= setTimeout(() => this.#refuseLate(), this.#options.waitMs).unref();
  }

  // A turn begins only after all items of this turn of the event loop have arrived.
  #begin(): void {
    if (this.#isBeginning || this.#turns >= this.#options.turnsMax) return;
    this.#isBeginning = true;
    setImmediate(() => {
      this.#isBeginning = false;
      while (this.#waiting.length > 0 && this.#turns < this.#options.turnsMax) void this.#serve();
      this.#leaveWhenDone();
    });
  }

  async #serve(): Promise<void> {
    const group = this.#waiting.splice(0, this.#options.itemsMax);
    this.#turns++;
    try {
      const outcomes = await this.#work(group.map(({ item }) => item));
      for (const [i, { resolve, reject }] of group.entries()) {
        const outcome = outcomes[i];
        if (outcome?.status === 'fulfilled') resolve(outcome.value);
        else reject(outcome?.reason ?? new Error('the work returned no outcome for this item'));
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
    this.#turns--;
    if (this.#waiting.length > 0) this.#begin();
    else this.#leaveWhenDone();
  }

  #leaveWhenDone(): void {
    if (this.#turns > 0 || this.#isBeginning || this.#waiting.length > 0) return;
    clearTimeout(this.#deadline);
    this.onDone();
  }

  #refuseLate(): void {
    const { waitMs } = this.#options;
    // In the order of arrival.
    const nowMs = performance.now();
    const firstInTime = this.#waiting.findIndex(({ sinceMs }) => nowMs - sinceMs < waitMs);
    for (const { reject } of this.#waiting.splice(0, firstInTime < 0 ? this.#waiting.length : firstInTime)) {
      reject(Object.assign(new Error(`no turn within ${waitMs} ms`), { code: 'CONNECTION_BUSY' }));
    }
    const leftMs = waitMs - (nowMs - (this.#waiting[0]?.sinceMs ?? nowMs));
    this.#deadline = setTimeout(() => this.#refuseLate(), Math.max(1, Math.ceil(leftMs))).unref();
    this.#leaveWhenDone();
  }
}
