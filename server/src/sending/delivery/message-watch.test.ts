import type { Sql } from '@carillon/postgres';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { mintUuid } from '../../ground/values/ids.ts';
import { createMessageWatches } from './message-watch.ts';

const appId = mintUuid();
const messageId = mintUuid();
const batch = { appId, messageId };

/** Watches over a ledger that answers when the test tells it to. */
function openWatches() {
  const looks: { answer(isSending: boolean): void; fail(): void }[] = [];
  const warn = vi.fn();
  const watches = createMessageWatches({
    sql: undefined as unknown as Sql,
    ledger: {
      isSending: () =>
        new Promise((resolve, reject) => {
          looks.push({ answer: resolve, fail: () => reject(new Error('away')) });
        }),
    },
    log: { warn },
  });
  return { watches, looks, warn };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }));
afterEach(() => void vi.useRealTimers());

describe('the watch of a message', () => {
  it('is shared by all of its batches: twenty that start together make one look, and each second makes one', async () => {
    const { watches, looks } = openWatches();
    const all = Array.from({ length: 20 }, () => watches.watch(batch));
    const started = Promise.all(all.map((watch) => watch.look()));
    expect(looks).toHaveLength(1);
    looks[0]?.answer(true);
    await started;
    // Batches that start within the second cause no further look.
    await watches.watch(batch).look();
    for (let second = 2; second <= 4; second++) {
      await vi.advanceTimersByTimeAsync(1000);
      expect(looks).toHaveLength(second);
      looks.at(-1)?.answer(true);
      await vi.advanceTimersByTimeAsync(0);
    }
    expect(all.some((watch) => watch.isCanceled())).toBe(false);
  });

  it('never has two unanswered looks, however long one takes and however often a cancel is heard', async () => {
    const { watches, looks } = openWatches();
    const watch = watches.watch(batch);
    void watch.look();
    await vi.advanceTimersByTimeAsync(7000);
    for (let i = 0; i < 5; i++) watches.notify(messageId);
    watches.notify('');
    const waiting = watches.watch(batch).look();
    expect(looks).toHaveLength(1);
    // The question was asked before the cancel was known, so the message is read once more.
    looks[0]?.answer(true);
    await waiting;
    expect(looks).toHaveLength(2);
    expect(watch.isCanceled()).toBe(false);
    looks[1]?.answer(false);
    await vi.advanceTimersByTimeAsync(0);
    expect(watch.isCanceled()).toBe(true);
    await vi.advanceTimersByTimeAsync(5000);
    expect(looks).toHaveLength(2);
  });

  it('ends with the last batch', async () => {
    const { watches, looks } = openWatches();
    const both = [watches.watch(batch), watches.watch(batch)];
    both[0]?.stop();
    await vi.advanceTimersByTimeAsync(1000);
    expect(looks).toHaveLength(1);
    looks[0]?.answer(true);
    both[1]?.stop();
    await vi.advanceTimersByTimeAsync(3000);
    watches.notify('');
    expect(looks).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('rejects the batches that wait for a failed look, and looks again a second later', async () => {
    const { watches, looks, warn } = openWatches();
    const watch = watches.watch(batch);
    const failed = watch.look().catch((error: unknown) => error);
    looks[0]?.fail();
    expect(await failed).toBeInstanceOf(Error);
    await vi.advanceTimersByTimeAsync(1000);
    expect(looks).toHaveLength(2);
    looks[1]?.fail();
    await vi.advanceTimersByTimeAsync(0);
    expect(warn).toHaveBeenCalledOnce();
    expect(watch.isCanceled()).toBe(false);
  });
});
