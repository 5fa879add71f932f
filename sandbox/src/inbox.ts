// What each simulated person's screen holds: a notification is shown, then clicked, dismissed or replaced by one with
// the same tag. Reports to the sender as a service worker does, where an address for receipts is known.
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
  /** Sent, or being sent, in order. */
  readonly receipts: Receipt[];
}

export class Inbox {
  readonly #entriesMax: number;
  readonly #receipts: ReceiptSender | null;
  readonly #entries = new Map<number, InboxEntry>();
  /** Browser and tag → the entry that shows it. */
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

  /** The newest first, from below `before` on. */
  list(limit: number, before = Number.POSITIVE_INFINITY): InboxEntry[] {
    const all = [...this.#entries.values()].reverse();
    return all.filter((entry) => entry.record.id < before).slice(0, limit);
  }

  onChange(listener: (entry: InboxEntry) => void): () => void {
    this.#emitter.on('change', listener);
    return () => this.#emitter.off('change', listener);
  }

  /**
   * A person does something to a notification. Resolves when the receipt, if there is one to send, was answered or
   * given up. An entry that nobody saw, or that does not exist, stays as it is.
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
