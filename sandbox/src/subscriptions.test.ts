import { describe, expect, test } from 'vitest';
import { type PoolOptions, type PushSubscriptionJson, receiverKeys, Subscriptions } from './subscriptions.ts';
import { VENDOR_NAMES } from './vendors/vendors.ts';

const POOL: PoolOptions = {
  vendor: 'generic',
  vapidKey: null,
  seed: 'seed',
  keys: 'derived',
  tokenPrefix: '',
  hosts: 'sandbox',
};
const ORIGIN = 'https://localhost:8443';
const tokenOf = ({ endpoint }: PushSubscriptionJson): string => endpoint.slice(endpoint.search(/[^/=]*$/));

function one(subscriptions: Subscriptions, options: PoolOptions, index = 0): PushSubscriptionJson {
  const [made] = [...subscriptions.subscribe(options, 1, index)];
  if (made === undefined) throw new Error('none was made');
  return made;
}

describe('a token', () => {
  test.each(VENDOR_NAMES)('names its browser in an endpoint of %s, also after a restart', (vendor) => {
    const options = { ...POOL, vendor, tokenPrefix: 'pre-' };
    const made = one(new Subscriptions(ORIGIN), options, 4_294_967_295);
    const found = new Subscriptions(ORIGIN, [options]).find(tokenOf(made));
    expect(found).toMatchObject({ index: 4_294_967_295, pool: options, endpoint: made.endpoint, origin: ORIGIN });
  });

  test('names no browser when any character of it is changed', () => {
    const subscriptions = new Subscriptions(ORIGIN);
    const token = tokenOf(one(subscriptions, { ...POOL, tokenPrefix: 'p' }));
    expect(subscriptions.find(token)).toBeDefined();
    for (let at = 0; at < token.length; at += 1) {
      const other = token[at] === 'A' ? 'B' : 'A';
      expect(subscriptions.find(token.slice(0, at) + other + token.slice(at + 1))).toBeUndefined();
    }
    expect(subscriptions.find(`${token}A`)).toBeUndefined();
    expect(subscriptions.find('')).toBeUndefined();
  });

  test('differs with every option of the pool', () => {
    const variants: PoolOptions[] = [
      POOL,
      { ...POOL, vapidKey: 'key' },
      { ...POOL, seed: 'other' },
      { ...POOL, keys: 'shared' },
      { ...POOL, hosts: 'vendor' },
    ];
    const subscriptions = new Subscriptions(ORIGIN);
    expect(new Set(variants.map((options) => tokenOf(one(subscriptions, options)))).size).toBe(variants.length);
  });
});

describe('keys', () => {
  test('follow from seed and index, and differ for each browser', () => {
    expect(receiverKeys(POOL, 7)).toEqual(receiverKeys({ ...POOL, vendor: 'fcm' }, 7));
    expect(receiverKeys(POOL, 7)).not.toEqual(receiverKeys(POOL, 8));
    expect(receiverKeys(POOL, 7)).not.toEqual(receiverKeys({ ...POOL, seed: 'other' }, 7));
  });

  test('are one pair for all browsers of a pool that shares them', () => {
    const shared: PoolOptions = { ...POOL, keys: 'shared' };
    expect(receiverKeys(shared, 7)).toEqual(receiverKeys(shared, 8));
    const [first, second] = [...new Subscriptions(ORIGIN).subscribe(shared, 2)];
    expect(first?.keys).toEqual(second?.keys);
    expect(first?.keys.p256dh).toBe(receiverKeys(shared, 0).publicKey.toString('base64url'));
  });
});

test('every new pool is stored, and a known one is not stored twice', () => {
  const kept: number[] = [];
  const subscriptions = new Subscriptions(ORIGIN, [POOL], (pools) => kept.push(pools.length));
  one(subscriptions, POOL);
  one(subscriptions, { ...POOL, seed: 'other' });
  one(subscriptions, { ...POOL, seed: 'other' });
  expect(kept).toEqual([2]);
});
