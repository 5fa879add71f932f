// A supply of numbers for users who come by requests. One statement takes some dozens ahead, so
// that no request waits for a number and requests do not queue up for numbers. When no number is at
// hand the user gets none, and a worker gives it later.
import type { Sql } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import { takeUserNumbers } from './number-queries.ts';

export interface NumbersAtHand {
  /**
   * Returns a number that no other user of the app has or gets; null when none is at hand. Never
   * waits.
   */
  next(appId: Uuid): number | null;
}

interface Supply {
  readonly runs: { next: number; readonly end: number }[];
  /** The number of numbers that the next statement takes. */
  size: number;
  isComing: boolean;
}

/** The number is small at first, because a process that ends loses its supply. */
const sizeFirst = 32;
const sizeMost = 512;
const appsMax = 10_000;

export function createNumbersAtHand({ sql }: { sql: Sql }): NumbersAtHand {
  const supplies = new Map<Uuid, Supply>();

  const takeAhead = async (appId: Uuid, supply: Supply): Promise<void> => {
    supply.isComing = true;
    try {
      const first = await takeUserNumbers(sql, appId, supply.size);
      supply.runs.push({ next: first, end: first + supply.size });
      supply.size = Math.min(sizeMost, supply.size * 2);
    } catch {
      // A failed statement is tried again by the next user's request. A worker gives numbers to the
      // users in between.
    } finally {
      supply.isComing = false;
    }
  };

  return {
    next(appId) {
      if (supplies.size > appsMax) supplies.clear();
      const supply = supplies.get(appId) ?? { runs: [], size: sizeFirst, isComing: false };
      supplies.set(appId, supply);
      const [run] = supply.runs;
      const number = run === undefined ? null : run.next++;
      if (run?.next === run?.end) supply.runs.shift();
      const left = supply.runs.reduce((sum, { next, end }) => sum + end - next, 0);
      // The statement is sent early enough for the users who come while it runs.
      if (left < supply.size / 4 && !supply.isComing) void takeAhead(appId, supply);
      return number;
    },
  };
}
