// Passwords: scrypt, off the event loop, a few at a time. One hashing takes 16 MiB and a
// fraction of a second, so a flood of sign-ins waits, and beyond that is refused.
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { ApiError } from '../../ground/http/api-error.ts';

export interface Passwords {
  /** Hashes a password with a salt of its own. Throws the 503 when too many hashings wait. */
  hash(password: string): Promise<string>;
  /**
   * Compares in constant time. An unreadable hash matches no password. Null means that there is no
   * account. The check then takes as long, so that nobody learns which addresses have accounts
   * (R-52).
   */
  verify(hash: string | null, password: string): Promise<boolean>;
}

export const passwordLength = { min: 8, max: 256 } as const;

/** log2 of scrypt's N. */
const costUsual = 14;
const [blockSize, parallel, keyBytes, saltBytes] = [8, 5, 32, 16];
const atOnceMax = 4;
const waitingMax = 50;

/** Tests pass a lower cost. */
export function createPasswords(cost: number = costUsual): Passwords {
  let running = 0;
  const waiting: (() => void)[] = [];
  const inTurn = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (running >= atOnceMax) {
      if (waiting.length >= waitingMax) {
        throw new ApiError('unavailable', { message: 'Too many people sign in at the moment.', retryAfterMs: 5000 });
      }
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      // The turn passes to the next waiting call, so that a newer call cannot take it.
      if (next) next();
      else running--;
    }
  };
  return {
    hash: (password) =>
      inTurn(async () => {
        const salt = randomBytes(saltBytes);
        const key = await derive(password, salt, cost);
        return ['scrypt', cost, salt.toString('base64url'), key.toString('base64url')].join('$');
      }),
    verify: (hash, password) =>
      inTurn(async () => {
        const [kind, costText = cost, salt = '', key = ''] = hash?.split('$') ?? ['scrypt'];
        if (kind !== 'scrypt') return false;
        const wanted = Buffer.from(key, 'base64url');
        const given = await derive(password, Buffer.from(salt, 'base64url'), Number(costText));
        return wanted.length === given.length && timingSafeEqual(wanted, given);
      }),
  };
}

function derive(password: string, salt: Buffer, cost: number): Promise<Buffer> {
  const options = { N: 2 ** cost, r: blockSize, p: parallel, maxmem: 64 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    // One spelling of a password, however a keyboard composes its letters.
    scrypt(password.normalize('NFKC'), salt, keyBytes, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
