// Many tampered receipt tokens. `npm run fuzz` sends as many requests to a service of its own.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openReceiptToken, receiptTokensOf } from '../../src/sending/delivery/receipt-token.ts';
import { setup } from '../setup.ts';

const t = await setup();
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const device = await t.registerDevice();
const { body: message } = await t.server.post('/v1/messages', {
  audience: { device_ids: [device] },
  content: { title: 'Sale', url: 'https://shop.example/sale' },
});
const [batch] = await t.sql<{ id: string }[]>`SELECT id FROM batches`;
const tokenAt = receiptTokensOf(t.receiptKey, batch?.id ?? '');
const token = tokenAt(0);
const other = tokenAt(1);

/**
 * Every other character at every place. The last place has spellings that decode to the same bytes.
 */
const singles = [...token].flatMap((is, at) =>
  [...alphabet].filter((character) => character !== is).map((it) => token.slice(0, at) + it + token.slice(at + 1)),
);

const tampered = fc.oneof(
  fc
    .array(fc.tuple(fc.nat(token.length - 1), fc.constantFrom(...alphabet)), { minLength: 2, maxLength: 12 })
    .map((changes) => changes.reduce((text, [at, it]) => text.slice(0, at) + it + text.slice(at + 1), token)),
  fc.nat(token.length - 1).map((length) => token.slice(0, length)),
  fc.nat(token.length - 1).map((at) => token.slice(at + 1) + token.slice(0, at + 1)),
  fc
    .tuple(fc.nat(token.length), fc.constantFrom(...alphabet))
    .map(([at, it]) => token.slice(0, at) + it + token.slice(at)),
  fc.nat(token.length - 1).map((at) => token.slice(0, at) + other.slice(at)),
  fc.nat(token.length - 1).map((at) => other.slice(0, at) + token.slice(at)),
  fc.constantFrom(
    token.toLowerCase(),
    token.toUpperCase(),
    `${token}=`,
    token.replaceAll('-', '+').replaceAll('_', '/'),
  ),
  fc.string({ unit: 'binary', maxLength: 100 }),
);

describe('R-48 a receipt token that was altered', () => {
  it('is invalid in each of 10,000 alterations', () => {
    expect(openReceiptToken([t.receiptKey], token)).toBeDefined();
    const others = fc.sample(tampered, { seed: 48, numRuns: 10_000 });
    const altered = [...singles, ...others].filter((text) => text !== token && text !== other).slice(0, 10_000);
    expect(altered).toHaveLength(10_000);
    expect(altered.filter((text) => openReceiptToken([t.receiptKey], text) !== undefined)).toEqual([]);
    expect(openReceiptToken([randomBytes(32)], token)).toBeUndefined();
  });

  it('is 404 on both routes, and leaves no mark', async () => {
    // A caller that is refused too often gets another answer, so the clock stands still except for
    // the test's own steps.
    t.clock.hold(t.clock.date());
    const some = [...singles.filter((_text, i) => i % 40 === 0), ...fc.sample(tampered, { seed: 84, numRuns: 100 })];
    for (const text of some.filter((each) => each !== token && each.isWellFormed() && !each.includes('\0'))) {
      t.clock.advance(50);
      const told = await t.request('POST', '/v1/receipts', { body: { token: text, event: 'clicked' } });
      expect({ text, status: told.status, error: told.body.error }).toEqual({ text, status: 404, error: 'not_found' });
      const led = await t.request('GET', `/v1/r/${encodeURIComponent(text)}`);
      expect({ text, status: led.status, location: led.headers.get('location') }).toEqual({
        text,
        status: 404,
        location: null,
      });
    }
    const [delivery] = (await t.server.get(`/v1/messages/${message.id}/deliveries`)).body.data;
    expect(delivery).toMatchObject({ status: 'sent', displayed_at: null, clicked_at: null, dismissed_at: null });
    expect(await t.sql`SELECT 1 FROM early_receipts`).toHaveLength(0);
    expect((await t.request('GET', `/v1/r/${token}`)).headers.get('location')).toBe('https://shop.example/sale');
  });
});
