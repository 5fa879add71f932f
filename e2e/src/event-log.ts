// The log of what a stand-in saw, in order, with waiters. It keeps every entry, so that a wait also
// finds what happened before it began. It never drops or reorders an entry.

interface Waiter<E> {
  from: number;
  accepts: (entry: E) => boolean;
  resolve: (entry: E) => void;
}

export interface WaitOptions {
  /** Only entries after this mark count. Take the mark before the act that causes them. */
  after?: number;
  timeoutMs?: number;
}

export class EventLog<E extends { type: string }> {
  readonly #name: string;
  readonly #entries: E[] = [];
  readonly #waiters = new Set<Waiter<E>>();

  constructor(name: string) {
    this.#name = name;
  }

  add(entry: E): void {
    const index = this.#entries.push(entry) - 1;
    for (const waiter of this.#waiters) {
      if (index < waiter.from || !waiter.accepts(entry)) continue;
      this.#waiters.delete(waiter);
      waiter.resolve(entry);
    }
  }

  /** A position in the log; all later entries are after it. */
  mark(): number {
    return this.#entries.length;
  }

  /** The entries of one type after a mark, for counting what must not have happened. */
  list<K extends E['type']>(type: K, after = 0): Extract<E, { type: K }>[] {
    return this.#entries.slice(after).filter((entry): entry is Extract<E, { type: K }> => entry.type === type);
  }

  /**
   * The first matching entry of this type, past or future. Rejects with the end of the log when
   * none came in time.
   */
  async waitFor<K extends E['type']>(
    type: K,
    matches: (entry: Extract<E, { type: K }>) => boolean = () => true,
    { after = 0, timeoutMs = 20_000 }: WaitOptions = {},
  ): Promise<Extract<E, { type: K }>> {
    const accepts = (entry: E): entry is Extract<E, { type: K }> =>
      entry.type === type && matches(entry as Extract<E, { type: K }>);
    const past = this.#entries.slice(after).find(accepts);
    if (past !== undefined) return past;
    return await new Promise((resolve, reject) => {
      const waiter: Waiter<E> = {
        from: after,
        accepts,
        resolve: (entry) => {
          clearTimeout(timer);
          resolve(entry as Extract<E, { type: K }>);
        },
      };
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter);
        const seen = this.#entries.slice(-12).map((entry) => `\n  ${JSON.stringify(entry)}`);
        reject(
          new Error(`${this.#name}: no "${type}" that matches within ${timeoutMs} ms. Last seen:${seen.join('')}`),
        );
      }, timeoutMs);
      this.#waiters.add(waiter);
    });
  }

  /** The whole log as lines of JSON, for the artifacts of a failed test. */
  toText(): string {
    return this.#entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
  }
}
