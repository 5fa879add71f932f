// Look-ups of keys that this process has not seen of late, which anybody can make up: few at once, and while more are wanted, an
// address that had too many 401s waits for all others (contract 4). Known keys never come here.
import { ApiError } from '../platform/api-error.ts';

export interface KeyLookups {
  /** Looks up when it is this address's turn. Rejects with the 503 where that takes longer than a request may wait. */
  run<Result>(address: string, lookUp: () => Promise<Result>): Promise<Result>;
}

export interface KeyLookupOptions {
  /** Whether the address is over its limit of 401 answers. */
  isOverLimit(address: string): boolean;
  readonly waitMs: number;
}

/** Look-ups under way in one process (contract 4). */
const atOnceMax = 20;
/** Requests in each line; whoever comes beyond is refused at once. */
const waitingMax = 1000;
const retryAfterMs = 1000;

export function createKeyLookups({ isOverLimit, waitMs }: KeyLookupOptions): KeyLookups {
  let underWay = 0;
  const lines = { usual: new Set<() => void>(), overLimit: new Set<() => void>() };

  const waitInLine = (line: Set<() => void>): Promise<void> =>
    new Promise((resolve, reject) => {
      if (line.size >= waitingMax) return reject(busy());
      const begin = (): void => {
        clearTimeout(timer);
        line.delete(begin);
        underWay++;
        resolve();
      };
      const timer = setTimeout(() => {
        line.delete(begin);
        reject(busy());
      }, waitMs);
      line.add(begin);
    });

  return {
    async run(address, lookUp) {
      if (underWay < atOnceMax) underWay++;
      else await waitInLine(isOverLimit(address) ? lines.overLimit : lines.usual);
      try {
        return await lookUp();
      } finally {
        underWay--;
        const [next] = lines.usual.size > 0 ? lines.usual : lines.overLimit;
        next?.();
      }
    },
  };
}

function busy(): ApiError {
  return new ApiError('unavailable', { retryAfterMs });
}
