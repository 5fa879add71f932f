// The limits of callers without a key. Each test uses addresses of its own, through a proxy that
// the service trusts.
import { describe, expect, it } from 'vitest';
import { createAddressLimits } from '../../src/teams/quotas/address-limit.ts';
import { receiptTokenOf } from '../receipt-tokens.ts';
import { type RequestOptions, type Response, setup } from '../setup.ts';

const t = await setup({
  workers: false,
  environment: { TRUSTED_PROXIES: '127.0.0.1', NEW_DEVICES_PER_MINUTE: '3' },
});
t.clock.hold(new Date('2026-11-21T10:15:30.000Z'));

let hosts = 0;
const newAddress = (): string => `203.0.113.${++hosts}`;
const from = (address: string, method: string, path: string, options: RequestOptions = {}): Promise<Response> =>
  t.request(method, path, { ...options, headers: { 'x-forwarded-for': address, ...options.headers } });
const says = ({ status, body }: Response): string => `${status} ${body?.error ?? ''}`.trim();
async function count(times: number, once: () => Promise<Response>): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const answer of await Promise.all(Array.from({ length: times }, once))) {
    counts[says(answer)] = (counts[says(answer)] ?? 0) + 1;
  }
  return counts;
}

const forged = 'A'.repeat(47);
const receipt = (address: string, token: string) =>
  from(address, 'POST', '/v1/receipts', { body: { token, event: 'displayed' } });
const click = (address: string, token: string) => from(address, 'GET', `/v1/r/${token}`);

async function sentToken(): Promise<string> {
  const device = await t.registerDevice();
  const content = { title: 'Sale', url: 'https://shop.example/sale' };
  const { body } = await t.server.post('/v1/messages', { audience: { device_ids: [device] }, content });
  return receiptTokenOf(t, body.id, device);
}

/** Checks the form of a 429. */
function expectLimited(answer: Response, waitMs: number): void {
  expect(answer).toMatchObject({ status: 429, body: { error: 'rate_limited', retry_after_ms: waitMs } });
  expect(Object.keys(answer.body)).toEqual(['error', 'message', 'retry_after_ms', 'request_id']);
  expect(answer.headers.get('retry-after')).toBe(String(Math.ceil(waitMs / 1000)));
  // These headers describe the limits of a key.
  expect(answer.headers.get('ratelimit')).toBeNull();
}

describe('GET /v1/channels', () => {
  it('answers an address 100 times a second, HEAD included, and again after the wait', async () => {
    const address = newAddress();
    expect(await count(60, () => from(address, 'GET', '/v1/channels'))).toEqual({ 200: 60 });
    t.clock.advance(400);
    expect(await count(40, () => from(address, 'HEAD', '/v1/channels'))).toEqual({ 200: 40 });
    const refused = await from(address, 'GET', '/v1/channels');
    expectLimited(refused, 600);
    expect(refused.headers.get('access-control-allow-origin')).toBe('*');
    expect((await from(address, 'HEAD', '/v1/channels')).status).toBe(429);
    expect((await from(newAddress(), 'GET', '/v1/channels')).status).toBe(200);
    t.clock.advance(600);
    expect(await count(61, () => from(address, 'GET', '/v1/channels'))).toEqual({ 200: 60, '429 rate_limited': 1 });
  });

  it('counts IPv6 by its /64, because one subscriber has a whole /64', async () => {
    let i = 0;
    const once = () => from(`2001:db8:5:6::${(++i).toString(16)}`, 'GET', '/v1/channels');
    expect(await count(110, once)).toEqual({ 200: 100, '429 rate_limited': 10 });
    expect((await from('2001:db8:5:7::1', 'GET', '/v1/channels')).status).toBe(200);
  });

  it('checks the limit before the query', async () => {
    const address = newAddress();
    await count(100, () => from(address, 'GET', '/v1/channels'));
    expect(says(await from(address, 'GET', '/v1/channels?unknown=1'))).toBe('429 rate_limited');
  });

  it('R-66 counts a stranger by its own address, whatever X-Forwarded-For it sends', async () => {
    const address = newAddress();
    let i = 0;
    const spoofed = () => from(`198.51.100.${++i % 250}, ${address}`, 'GET', '/v1/channels');
    expect(await count(110, spoofed)).toEqual({ 200: 100, '429 rate_limited': 10 });
  });
});

describe('receipts and redirects', () => {
  it('with an invalid token are answered 100 times a second per address', async () => {
    const address = newAddress();
    expect(await count(50, () => receipt(address, forged))).toEqual({ '404 not_found': 50 });
    expect(await count(50, () => click(address, forged))).toEqual({ '404 not_found': 50 });
    expectLimited(await receipt(address, forged), 1000);
    expectLimited(await click(address, forged), 1000);
    // A valid token is not held back by forged ones.
    expect(says(await receipt(address, await sentToken()))).toBe('200');
    expect(says(await receipt(newAddress(), forged))).toBe('404 not_found');
    t.clock.advance(1000);
    expect(says(await click(address, forged))).toBe('404 not_found');
  });

  it('for one token are accepted 10 times a second, from all addresses together', async () => {
    const [token, another] = [await sentToken(), await sentToken()];
    expect(await count(15, () => receipt(newAddress(), token))).toEqual({ 200: 10, '429 rate_limited': 5 });
    expectLimited(await receipt(newAddress(), token), 1000);
    expectLimited(await click(newAddress(), token), 1000);
    expect((await click(newAddress(), another)).status).toBe(302);
    t.clock.advance(1000);
    expect((await click(newAddress(), token)).status).toBe(302);
  });
});

describe('R-66 answers with 401', () => {
  it('are always 401, and a valid key from the same address still works', async () => {
    const address = newAddress();
    const unknown = () => from(address, 'GET', '/v1/messages', { key: 'nonsense' });
    expect(await count(300, unknown)).toEqual({ '401 invalid_key': 300 });
    const order: string[] = [];
    const slow = unknown().then((answer) => order.push(says(answer)));
    const valid = await from(address, 'GET', '/v1/messages', { key: t.app.serverKey });
    order.push(says(valid));
    await slow;
    expect(order).toEqual(['200', '401 invalid_key']);
  });

  const clock = t.clock;
  function held() {
    const waits: { ms: number; end: () => void }[] = [];
    const limits = createAddressLimits({
      clock,
      newDevicesPerMinute: null,
      wait: (ms) => new Promise((resolve) => waits.push({ ms, end: resolve })),
    });
    const refuse = (address: string, times: number) =>
      Array.from({ length: times }, () => limits.delayUnauthorized(address));
    return { waits, refuse };
  }

  it('are delayed by a second above 300 a minute per address, and not after a quiet minute', async () => {
    const { waits, refuse } = held();
    await Promise.all(refuse('192.0.2.1', 300));
    expect(waits).toHaveLength(0);
    const slow = refuse('192.0.2.1', 2);
    await Promise.all(refuse('192.0.2.2', 300));
    expect(waits.map(({ ms }) => ms)).toEqual([1000, 1000]);
    for (const { end } of waits) end();
    await Promise.all(slow);
    clock.advance(60_000);
    await Promise.all(refuse('192.0.2.1', 300));
    expect(waits).toHaveLength(2);
  });

  it('are delayed a thousand at a time at most: further ones are sent at once', async () => {
    const { waits, refuse } = held();
    await Promise.all(refuse('192.0.2.1', 300));
    const slow = refuse('192.0.2.1', 1500);
    await Promise.all(slow.slice(1000));
    expect(waits).toHaveLength(1000);
    for (const { end } of waits) end();
    await Promise.all(slow);
    void refuse('192.0.2.1', 1);
    expect(waits).toHaveLength(1001);
  });
});

describe('R-66 NEW_DEVICES_PER_MINUTE', () => {
  const register = (address: string, fields: object = {}, key = t.app.clientKey) =>
    from(address, 'POST', '/v1/devices', { key, body: { platform: 'web', token: t.pushSubscription(), ...fields } });

  it('lets client keys make this many devices from one address, also in concurrent requests', async () => {
    const address = newAddress();
    expect(await count(20, () => register(address))).toEqual({ 200: 3, '429 rate_limited': 17 });
    expectLimited(await register(address), 60_000);
    expect(says(await register(newAddress()))).toBe('200');
    t.clock.advance(60_000);
    expect(await count(4, () => register(address))).toEqual({ 200: 3, '429 rate_limited': 1 });
  });

  it('counts only devices that were made', async () => {
    const address = newAddress();
    const token = t.pushSubscription();
    const first = await register(address, { token });
    // A device that is found again, a refused request, and a move to another token cost nothing.
    for (let i = 0; i < 5; i++) expect((await register(address, { token })).body.created).toBe(false);
    for (let i = 0; i < 5; i++) expect(says(await register(address, { properties: { unknown: 1 } }))).toMatch(/^400/);
    for (let i = 0; i < 5; i++)
      expect((await register(address, { token, device_id: first.body.id })).body.created).toBe(false);
    expect(await count(5, () => register(address))).toEqual({ 200: 2, '429 rate_limited': 3 });
    // A known device is found again even at the limit.
    const moved = { token: t.pushSubscription(), device_id: first.body.id };
    expect((await register(address, { ...moved, previous_token: token })).body).toMatchObject({ created: false });
    // Without the proof the same request would make a new device.
    expect(says(await register(address, moved))).toBe('200');
    expect(says(await register(address, { ...moved, token: t.pushSubscription() }))).toBe('429 rate_limited');
  });

  it('does not count a registration that failed', async () => {
    const address = newAddress();
    await t.sql`ALTER TABLE device_changes RENAME TO device_changes_away`;
    const inVain = await count(5, () => register(address));
    await t.sql`ALTER TABLE device_changes_away RENAME TO device_changes`;
    expect(inVain['500 internal_error']).toBeGreaterThanOrEqual(3);
    expect(await count(5, () => register(address))).toEqual({ 200: 3, '429 rate_limited': 2 });
  });

  it('counts a registration that the database repeated as one device', () => {
    const limits = createAddressLimits({ clock: t.clock, newDevicesPerMinute: 2 });
    const [first, second, third] = ['a', 'b', 'c'].map(() => limits.permitNewDevice('192.0.2.9'));
    first?.take();
    first?.take();
    second?.take();
    expect(() => third?.take()).toThrow('2 new devices per minute');
    first?.giveBack();
    first?.giveBack();
    third?.take();
    expect(() => first?.take()).toThrow('2 new devices per minute');
  });

  it('does not limit server keys', async () => {
    const address = newAddress();
    expect(await count(10, () => register(address, {}, t.app.serverKey))).toEqual({ 200: 10 });
  });
});
