// Simulated phones: iPhones with an app of one bundle id, and Android phones with an app of one
// Firebase project. A pool of any size takes a few words of memory, because every token follows
// from the pool's seed and an index.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export type ApnsEnvironment = 'production' | 'sandbox';

export interface PhonePoolOptions {
  readonly platform: 'ios' | 'android';
  /** The app's bundle id on an iPhone, its Firebase project on Android. */
  readonly app: string;
  /** The APNs environment of the tokens; null on Android. */
  readonly environment: ApnsEnvironment | null;
  readonly seed: string;
  /** The prefix of every token of the pool; for iPhones an even number of hexadecimal digits. */
  readonly tokenPrefix: string;
}

export interface Phone {
  readonly token: string;
  readonly pool: PhonePoolOptions;
  /** When the app was removed, in milliseconds since the epoch; null while it is installed. */
  readonly goneAt: number | null;
}

interface Pool {
  readonly id: Buffer;
  readonly options: PhonePoolOptions;
}

const idBytes = 6;
const namedBytes = idBytes + 4;
/**
 * Hexadecimal digits of an iPhone's token after its prefix: 32 octets, as Apple's tokens have
 * today.
 */
const iosDigits = 64;
/** A registration token: an instance id of this length, the mark, and this many bytes. */
const instanceCharacters = 22;
const registrationMark = ':APA91b';
const registrationBytes = 100;

export class Phones {
  readonly #pools = new Map<string, Pool>();
  readonly #gone = new Map<string, number>();
  #onPool: (pools: readonly PhonePoolOptions[]) => void = () => {};

  /**
   * `kept` are the pools of an earlier run. `onPool` is called with all pools when one is added.
   */
  constructor(kept: readonly PhonePoolOptions[] = [], onPool: (pools: readonly PhonePoolOptions[]) => void = () => {}) {
    for (const options of kept) this.#open(options);
    this.#onPool = onPool;
  }

  /** The pool's tokens from index `from` on, made lazily. */
  *make(options: PhonePoolOptions, count: number, from = 0): Generator<string> {
    const pool = this.#open(options);
    for (let index = from; index < from + count; index += 1) yield makeToken(pool, index);
  }

  /**
   * The phone of a token, or undefined when no pool made it. The case of an iPhone's token does not
   * matter.
   */
  find(given: string): Phone | undefined {
    const token = /^[0-9a-fA-F]+$/.test(given) ? given.toLowerCase() : given;
    const named = readNamed(token);
    if (named === undefined) return undefined;
    const pool = this.#pools.get(named.subarray(0, idBytes).toString('hex'));
    if (pool === undefined) return undefined;
    const expected = makeToken(pool, named.readUInt32BE(idBytes));
    const isMade = expected.length === token.length && timingSafeEqual(Buffer.from(expected), Buffer.from(token));
    return isMade ? { token, pool: pool.options, goneAt: this.#gone.get(token) ?? null } : undefined;
  }

  /** Removes the app at `now`. Returns false when no pool made the token. */
  uninstall(given: string, now: number): boolean {
    const phone = this.find(given);
    if (phone === undefined) return false;
    if (phone.goneAt === null) this.#gone.set(phone.token, now);
    return true;
  }

  pools(): PhonePoolOptions[] {
    return [...this.#pools.values()].map((pool) => pool.options);
  }

  #open(options: PhonePoolOptions): Pool {
    const id = poolId(options);
    const known = this.#pools.get(id.toString('hex'));
    if (known !== undefined) return known;
    const pool = { id, options };
    this.#pools.set(id.toString('hex'), pool);
    this.#onPool(this.pools());
    return pool;
  }
}

function poolId({ platform, app, environment, seed, tokenPrefix }: PhonePoolOptions): Buffer {
  const identity = JSON.stringify([platform, app, environment, seed, tokenPrefix]);
  return createHash('sha256').update(identity).digest().subarray(0, idBytes);
}

/** The part of a token that names its phone: pool id and index. */
function readNamed(token: string): Buffer | undefined {
  if (/^[0-9a-f]+$/.test(token)) {
    return token.length < iosDigits ? undefined : Buffer.from(token.slice(-iosDigits), 'hex').subarray(0, namedBytes);
  }
  const colon = token.indexOf(registrationMark);
  if (colon < instanceCharacters) return undefined;
  const instance = Buffer.from(token.slice(colon - instanceCharacters, colon), 'base64url');
  return instance.length < namedBytes ? undefined : instance.subarray(0, namedBytes);
}

/**
 * Pool id and index, followed by octets that only the seed determines, in the form of the platform.
 */
function makeToken({ id, options }: Pool, index: number): string {
  const named = Buffer.alloc(namedBytes);
  id.copy(named);
  named.writeUInt32BE(index, idBytes);
  const secret = (purpose: string): Buffer => createHmac('sha256', options.seed).update(named).update(purpose).digest();
  if (options.platform === 'ios') {
    const rest = secret('ios').subarray(0, iosDigits / 2 - namedBytes);
    return options.tokenPrefix + Buffer.concat([named, rest]).toString('hex');
  }
  const instance = Buffer.concat([named, secret('instance').subarray(0, 6)]).toString('base64url');
  const rest = Buffer.concat(['a', 'b', 'c', 'd'].map(secret)).subarray(0, registrationBytes).toString('base64url');
  return `${options.tokenPrefix}${instance}${registrationMark}${rest}`;
}
