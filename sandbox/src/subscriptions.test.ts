import { describe, expect, test } from 'vitest';
import { type PoolOptions, type PushSubscriptionJson, receiverKeys, Subscriptions } from './subscriptions.ts';
import { vendorNames } from './vendors/vendors.ts';

const poolOptions: PoolOptions = {
  vendor: 'generic',
  vapidKey: null,
  seed: 'seed',
  keys: 'derived',
  tokenPrefix: '',
  hosts: 'sandbox',
};
const serviceOrigin = 'https://localhost:8443';
const tokenOf = ({ endpoint }: PushSubscriptionJson): string => endpoint.slice(endpoint.search(/[^/=]*$/));

function one(subscriptions: Subscriptions, options: PoolOptions, index = 0): PushSubscriptionJson {
  const [made] = [...subscriptions.subscribe(options, 1, index)];
  if (made === undefined) throw new Error('none was made');
  return made;
}

describe('a token', () => {
  test.each(vendorNames)('names its browser in an endpoint of %s, also after a restart', (vendor) => {
    const options = { ...poolOptions, vendor, tokenPrefix: 'pre-' };
    const made = one(new Subscriptions(serviceOrigin), options, 4_294_967_295);
    const found = new Subscriptions(serviceOrigin, [options]).find(tokenOf(made));
    expect(found).toMatchObject({
      index: 4_294_967_295,
      pool: options,
      endpoint: made.endpoint,
      origin: serviceOrigin,
    });
  });

  test('names no browser when any character of it is changed', () => {
    const subscriptions = new Subscriptions(serviceOrigin);
    const token = tokenOf(one(subscriptions, { ...poolOptions, tokenPrefix: 'p' }));
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
      poolOptions,
      { ...poolOptions, vapidKey: 'key' },
      { ...poolOptions, seed: 'other' },
      { ...poolOptions, keys: 'shared' },
      { ...poolOptions, hosts: 'vendor' },
    ];
    const subscriptions = new Subscriptions(serviceOrigin);
    expect(new Set(variants.map((options) => tokenOf(one(subscriptions, options)))).size).toBe(variants.length);
  });
});

describe('keys', () => {
  test('follow from seed and index, and differ for each browser', () => {
    expect(receiverKeys(poolOptions, 7)).toEqual(receiverKeys({ ...poolOptions, vendor: 'fcm' }, 7));
    expect(receiverKeys(poolOptions, 7)).not.toEqual(receiverKeys(poolOptions, 8));
    expect(receiverKeys(poolOptions, 7)).not.toEqual(receiverKeys({ ...poolOptions, seed: 'other' }, 7));
  });

  test('are one pair for all browsers of a pool that shares them', () => {
    const shared: PoolOptions = { ...poolOptions, keys: 'shared' };
    expect(receiverKeys(shared, 7)).toEqual(receiverKeys(shared, 8));
    const [first, second] = [...new Subscriptions(serviceOrigin).subscribe(shared, 2)];
    expect(first?.keys).toEqual(second?.keys);
    expect(first?.keys.p256dh).toBe(receiverKeys(shared, 0).publicKey.toString('base64url'));
  });
});

test('every new pool is stored, and a known one is not stored twice', () => {
  const kept: number[] = [];
  const subscriptions = new Subscriptions(serviceOrigin, [poolOptions], (pools) => kept.push(pools.length));
  one(subscriptions, poolOptions);
  one(subscriptions, { ...poolOptions, seed: 'other' });
  one(subscriptions, { ...poolOptions, seed: 'other' });
  expect(kept).toEqual([2]);
});
