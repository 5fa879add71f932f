// The screen of each simulated person: a notification is shown, then clicked, dismissed or replaced
// by one with the same tag. With an address for receipts, it reports to the sender as a service
// worker does.
//
//   delivered ──> shown ──> clicked | dismissed | replaced
//   not delivered: unseen
import { EventEmitter } from 'node:events';
import type { PushLog, PushRecord } from './push-log.ts';
import type { Receipt, ReceiptEvent, ReceiptSender } from './receipts.ts';

export type InboxState = 'unseen' | 'shown' | 'clicked' | 'dismissed' | 'replaced';

export interface InboxEntry {
  readonly record: PushRecord;
  state: InboxState;
  /** Receipts that were sent or are being sent, in order. */
  readonly receipts: Receipt[];
}

export class Inbox {
  readonly #entriesMax: number;
  readonly #receipts: ReceiptSender | null;
  readonly #entries = new Map<number, InboxEntry>();
  /** The entry that is shown for each browser and tag. */
  readonly #shownByTag = new Map<string, InboxEntry>();
  readonly #emitter = new EventEmitter<{ change: [InboxEntry] }>().setMaxListeners(0);

  constructor(log: PushLog, entriesMax: number, receipts: ReceiptSender | null) {
    this.#entriesMax = entriesMax;
    this.#receipts = receipts;
    log.subscribe(
      (record) => this.#arrive(record),
      () => {
        this.#entries.clear();
        this.#shownByTag.clear();
      },
    );
  }

  find(id: number): InboxEntry | undefined {
    return this.#entries.get(id);
  }

  /** The newest entries first, with ids below `before`. */
  list(limit: number, before = Number.POSITIVE_INFINITY): InboxEntry[] {
    const all = [...this.#entries.values()].reverse();
    return all.filter((entry) => entry.record.id < before).slice(0, limit);
  }

  onChange(listener: (entry: InboxEntry) => void): () => void {
    this.#emitter.on('change', listener);
    return () => this.#emitter.off('change', listener);
  }

  /**
   * Applies a person's action to a notification. Resolves when its receipt, if any, was answered or
   * given up. An entry that nobody saw stays unchanged; an unknown id gives undefined.
   */
  async act(id: number, event: ReceiptEvent, action: string | null = null): Promise<InboxEntry | undefined> {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.state === 'unseen') return entry;
    if (event !== 'displayed') {
      entry.state = event;
      this.#forgetTag(entry);
      this.#emitter.emit('change', entry);
    }
    await this.#report(entry, event, action);
    return entry;
  }

  #arrive(record: PushRecord): void {
    const isShown = record.isDelivered && record.notification !== null;
    const entry: InboxEntry = { record, state: isShown ? 'shown' : 'unseen', receipts: [] };
    this.#entries.set(record.id, entry);
    if (this.#entries.size > this.#entriesMax) this.#dropOldest();
    if (!isShown) return;
    const tag = record.notification?.tag ?? null;
    if (tag !== null) {
      const key = `${record.token} ${tag}`;
      const former = this.#shownByTag.get(key);
      this.#shownByTag.set(key, entry);
      if (former !== undefined) {
        former.state = 'replaced';
        this.#emitter.emit('change', former);
      }
    }
    void this.#report(entry, 'displayed', null);
  }

  async #report(entry: InboxEntry, event: ReceiptEvent, action: string | null): Promise<void> {
    const receipt = (await this.#receipts?.send(entry.record, event, action)) ?? null;
    if (receipt === null) return;
    entry.receipts.push(receipt);
    this.#emitter.emit('change', entry);
  }

  #dropOldest(): void {
    const [oldest] = this.#entries.values();
    if (oldest === undefined) return;
    this.#entries.delete(oldest.record.id);
    this.#forgetTag(oldest);
  }

  #forgetTag(entry: InboxEntry): void {
    const key = `${entry.record.token} ${entry.record.notification?.tag ?? ''}`;
    if (this.#shownByTag.get(key) === entry) this.#shownByTag.delete(key);
  }
}
