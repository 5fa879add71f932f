// Numbers at hand for the users who come by requests: taken ahead, some dozens with one statement, so that no request waits for one
// and none follows another for its sake. Where there is none at hand a user goes without, and a worker gives it afterwards.
import type { Sql } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { takeUserNumbers } from './number-queries.ts';

export interface NumbersAtHand {
  /** A number that nobody else in the app has or gets; null: there is none at hand. Never waits. */
  next(appId: Uuid): number | null;
}

interface Supply {
  readonly runs: { next: number; readonly end: number }[];
  /** As many are taken the next time. */
  size: number;
  isComing: boolean;
}

/** A process that ends loses what it has at hand, so an app with few users does not have much there. */
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
      // Asked for again with the next user. Those until then are the worker's.
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
      // In time for those who come while they are on their way.
      if (left < supply.size / 4 && !supply.isComing) void takeAhead(appId, supply);
      return number;
    },
  };
}
