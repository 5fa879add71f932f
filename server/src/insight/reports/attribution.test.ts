import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../../rig/src/random.ts';
import { mintUuid } from '../../ground/values/ids.ts';
import { classify, type SentDelivery, unattributed } from './attribution.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const at = (text: string): number => Date.parse(`2026-11-${text}Z`);
const messageA = '0192f3a4-7b6c-7d5e-8f90-1a2b3c4d5e6f';
const messageB = '0192f3a4-7b6c-7d5e-8f90-1a2b3c4d5e70';

const sent = (messageId: string, sentAtMs: number, clickedAtMs: number | null = null): SentDelivery => ({
  messageId,
  sentAtMs,
  clickedAtMs,
});

describe('classify', () => {
  it("gives the contract's worked example", () => {
    const deliveries = [sent(messageA, at('01T10:00:00'), at('01T10:05:00')), sent(messageB, at('01T12:00:00'))];
    const credits = ['01T12:30:00.000', '02T10:05:00.000', '02T11:00:00.000', '02T12:00:00.001'].map((time) =>
      classify(at(time), deliveries, dayMs),
    );
    expect(credits).toEqual([
      { class: 'direct', messageId: messageA },
      { class: 'direct', messageId: messageA },
      { class: 'influenced', messageId: messageB },
      unattributed,
    ]);
  });

  it('includes both ends of the window, and nothing beyond them', () => {
    const clicked = [sent(messageA, 0, 1_000)];
    expect([999, 1_000, 1_000 + hourMs, 1_001 + hourMs].map((ms) => classify(ms, clicked, hourMs).class)).toEqual([
      'influenced',
      'direct',
      'direct',
      'unattributed',
    ]);
    const open = [sent(messageA, 1_000)];
    expect([999, 1_000, 1_000 + hourMs, 1_001 + hourMs].map((ms) => classify(ms, open, hourMs).class)).toEqual([
      'unattributed',
      'influenced',
      'influenced',
      'unattributed',
    ]);
  });

  it('a click after the purchase leaves the delivery unclicked for it', () => {
    expect(classify(2_000, [sent(messageA, 1_000, 2_001)], hourMs)).toEqual({
      class: 'influenced',
      messageId: messageA,
    });
  });

  it('a click too long ago does not become an influence', () => {
    const longAgo = sent(messageA, 10 * hourMs, 10 * hourMs + 1);
    expect(classify(11 * hourMs + 2, [longAgo], hourMs)).toEqual(unattributed);
  });

  it('a click on an old delivery counts from the click on', () => {
    expect(classify(60 * dayMs, [sent(messageA, 0, 60 * dayMs - 1)], hourMs).class).toBe('direct');
  });

  it('of equal instants the greater message id counts, whatever the order', () => {
    const clicks = [sent(messageA, 0, 10), sent(messageB, 5, 10)];
    const sends = [sent(messageA, 10), sent(messageB, 10)];
    for (const deliveries of [clicks, clicks.toReversed(), sends, sends.toReversed()]) {
      expect(classify(20, deliveries, hourMs).messageId).toBe(messageB);
    }
  });

  it('agrees with sorting all that counts, on random deliveries', () => {
    const seen = { direct: 0, influenced: 0, unattributed: 0 };
    for (let seed = 1; seed <= 3_000; seed++) {
      const { below: next } = createRandom(seed);
      const windowMs = 1 + next(12);
      const ids = Array.from({ length: 1 + next(3) }, () => mintUuid(next(2)));
      const deliveries = Array.from({ length: next(6) }, () => {
        const sentAtMs = next(30);
        return sent(ids[next(ids.length)] ?? '', sentAtMs, next(2) === 0 ? null : sentAtMs + next(20));
      });
      const purchaseMs = next(40);
      const credit = classify(purchaseMs, deliveries, windowMs);
      expect([seed, credit]).toEqual([seed, bySorting(purchaseMs, deliveries, windowMs)]);
      seen[credit.class]++;
    }
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(300);
  });
});

/** The same rule in the words of the contract: list the candidates, sort them, take the last. */
function bySorting(p: number, deliveries: readonly SentDelivery[], w: number): unknown {
  const isWithin = (then: number): boolean => 0 <= p - then && p - then <= w;
  const lastOf = (candidates: { messageId: string; time: number }[]): string | undefined =>
    candidates
      .map(({ messageId, time }) => `${String(time).padStart(20, '0')} ${messageId.replaceAll('-', '')} ${messageId}`)
      .sort()
      .at(-1)
      ?.split(' ')[2];
  const direct = lastOf(
    deliveries.flatMap(({ messageId, clickedAtMs: c }) => (c !== null && isWithin(c) ? [{ messageId, time: c }] : [])),
  );
  if (direct !== undefined) return { class: 'direct', messageId: direct };
  const influenced = lastOf(
    deliveries
      .filter(({ clickedAtMs: c }) => !(c !== null && c <= p))
      .filter(({ sentAtMs }) => isWithin(sentAtMs))
      .map(({ messageId, sentAtMs }) => ({ messageId, time: sentAtMs })),
  );
  return influenced === undefined
    ? { class: 'unattributed', messageId: null }
    : { class: 'influenced', messageId: influenced };
}
