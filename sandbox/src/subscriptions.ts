// Simulated browsers. A pool of any size takes a few words of memory, because every key and token
// follows from its seed and an index. So the sandbox can decrypt for a hundred thousand
// subscriptions without storing them.
import { createECDH, createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ReceiverKeys } from './decrypt.ts';
import type { VendorName } from './vendors/vendor.ts';
import { vendors } from './vendors/vendors.ts';

/** The identity of a pool: two pools with equal options are the same pool. */
export interface PoolOptions {
  readonly vendor: VendorName;
  /**
   * The applicationServerKey of the browsers' subscriptions in base64url; null when they gave none.
   */
  readonly vapidKey: string | null;
  readonly seed: string;
  /**
   * `derived`: each browser has its own keys, as in reality. `shared`: one pair for all, for
   * benchmarks.
   */
  readonly keys: 'derived' | 'shared';
  /** The prefix of every token of the pool, so that fault rules can select the pool. */
  readonly tokenPrefix: string;
  /**
   * `sandbox`: endpoints at the sandbox's own origin. `vendor`: at the vendor's host, for clients
   * that route it here.
   */
  readonly hosts: 'sandbox' | 'vendor';
}

/** `PushSubscription.toJSON()` and nothing else, so that it can be registered unchanged. */
export interface PushSubscriptionJson {
  readonly endpoint: string;
  readonly expirationTime: null;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

/** One browser's subscription with the facts of both its push service and the browser. */
export interface Subscription {
  readonly token: string;
  readonly index: number;
  readonly pool: PoolOptions;
  readonly origin: string;
  readonly endpoint: string;
}

interface Pool {
  readonly id: Buffer;
  readonly options: PoolOptions;
  readonly origin: string;
}

const poolIdBytes = 6;
const indexBytes = 4;
const macBytes = 6;
const coreCharacters = Math.ceil(((poolIdBytes + indexBytes + macBytes) * 4) / 3);
export const indexMax = 0xffff_ffff;

/** All the browsers of one sandbox. */
export class Subscriptions {
  readonly #pools = new Map<string, Pool>();
  readonly #gone = new Set<string>();
  readonly #origin: string;
  #onPool: (pools: readonly PoolOptions[]) => void = () => {};

  /**
   * `kept` are the pools of an earlier run. `onPool` is called with all pools when one is added.
   */
  constructor(
    origin: string,
    kept: readonly PoolOptions[] = [],
    onPool: (pools: readonly PoolOptions[]) => void = () => {},
  ) {
    this.#origin = origin;
    for (const options of kept) this.#open(options);
    this.#onPool = onPool;
  }

  /** The pool's subscriptions from index `from` on, made lazily. */
  *subscribe(options: PoolOptions, count: number, from = 0): Generator<PushSubscriptionJson> {
    const pool = this.#open(options);
    const shared = options.keys === 'shared' ? receiverKeys(options, 0) : null;
    for (let index = from; index < from + count; index += 1) {
      const { publicKey, auth } = shared ?? receiverKeys(options, index);
      yield {
        endpoint: endpointOf(pool, makeToken(pool, index)),
        expirationTime: null,
        keys: { p256dh: publicKey.toString('base64url'), auth: auth.toString('base64url') },
      };
    }
  }

  /** The subscription of a token, or undefined when no pool made it. */
  find(token: string): Subscription | undefined {
    const core = Buffer.from(token.slice(-coreCharacters), 'base64url');
    const pool = this.#pools.get(core.subarray(0, poolIdBytes).toString('hex'));
    if (pool === undefined || core.length !== poolIdBytes + indexBytes + macBytes) return undefined;
    const index = core.readUInt32BE(poolIdBytes);
    const expected = makeToken(pool, index);
    const isMade = expected.length === token.length && timingSafeEqual(Buffer.from(expected), Buffer.from(token));
    return isMade
      ? { token, index, pool: pool.options, origin: pool.origin, endpoint: endpointOf(pool, token) }
      : undefined;
  }

  /**
   * Unsubscribes a browser: its endpoint is gone from now on. Returns false when no pool made the
   * token.
   */
  unsubscribe(token: string): boolean {
    if (this.find(token) === undefined) return false;
    this.#gone.add(token);
    return true;
  }

  isGone(token: string): boolean {
    return this.#gone.has(token);
  }

  pools(): PoolOptions[] {
    return [...this.#pools.values()].map((pool) => pool.options);
  }

  #open(options: PoolOptions): Pool {
    const id = poolId(options);
    const known = this.#pools.get(id.toString('hex'));
    if (known !== undefined) return known;
    const origin = options.hosts === 'vendor' ? `https://${vendors[options.vendor].host}` : this.#origin;
    const pool = { id, options, origin };
    this.#pools.set(id.toString('hex'), pool);
    this.#onPool(this.pools());
    return pool;
  }
}

/**
 * The keys of one browser. Deterministic: the same options and index give the same keys on any
 * machine.
 */
export function receiverKeys(options: PoolOptions, index: number): ReceiverKeys {
  const who = options.keys === 'shared' ? 'shared' : String(index);
  const ecdh = createECDH('prime256v1');
  for (let attempt = 0; ; attempt += 1) {
    const privateKey = derive(options.seed, `p256dh ${who} ${attempt}`);
    try {
      ecdh.setPrivateKey(privateKey);
      return { privateKey, publicKey: ecdh.getPublicKey(), auth: derive(options.seed, `auth ${who}`).subarray(0, 16) };
    } catch {
      // The scalar is not below the group's order, about once in 2^32. Try the next one.
    }
  }
}

/** A seed for a pool that was not given one. */
export function randomSeed(): string {
  return randomBytes(16).toString('hex');
}

function derive(seed: string, purpose: string): Buffer {
  return createHmac('sha256', seed).update(purpose).digest();
}

function poolId(options: PoolOptions): Buffer {
  const identity = [options.vendor, options.vapidKey, options.seed, options.keys, options.tokenPrefix, options.hosts];
  return createHash('sha256').update(JSON.stringify(identity)).digest().subarray(0, poolIdBytes);
}

/**
 * The prefix, then base64url of pool id, index and a MAC, so that nobody can guess another token.
 */
function makeToken(pool: Pool, index: number): string {
  const named = Buffer.alloc(poolIdBytes + indexBytes);
  pool.id.copy(named);
  named.writeUInt32BE(index, poolIdBytes);
  const mac = createHmac('sha256', pool.options.seed).update(named).digest().subarray(0, macBytes);
  return pool.options.tokenPrefix + Buffer.concat([named, mac]).toString('base64url');
}

function endpointOf(pool: Pool, token: string): string {
  return pool.origin + vendors[pool.options.vendor].endpointPath(token, pool.options.vapidKey !== null);
}
