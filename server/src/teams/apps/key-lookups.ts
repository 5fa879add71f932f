// Limits look-ups of keys that this process does not have cached, because anybody can invent keys.
// The console's guard looks up invented cookies and operator tokens here too. Few run at once. When
// more wait, an address with too many 401s waits until all others are served (contract 4). Cached
// keys need no look-up.
import { ApiError } from '../../ground/http/api-error.ts';

export interface KeyLookups {
  /**
   * Runs the look-up when it is this address's turn. Rejects with the 503 when the wait is longer
   * than `waitMs`.
   */
  run<Result>(address: string, lookUp: () => Promise<Result>): Promise<Result>;
}

export interface KeyLookupOptions {
  /** Returns whether the address is above its limit of 401 answers. */
  isOverLimit(address: string): boolean;
  readonly waitMs: number;
}

/** Look-ups that run at once in one process (contract 4). */
const atOnceMax = 20;
/** Requests that wait in each line; any further request is refused at once. */
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
