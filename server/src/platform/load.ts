// How many requests are worked on at once. Past a first number what devices send is turned away, since their SDK repeats it;
// past a second also what servers ask for; health never. Counts only: knows no request and no resource.
import { ApiError } from './api-error.ts';
import type { Log } from './log.ts';

export interface Load {
  /** Works when fewer than `most` requests are under way; else throws the 503. */
  run<Result>(most: number, work: () => Promise<Result>): Promise<Result>;
  /** Inside `run`: does what is nearly all waiting, without counting as under way. */
  aside<Result>(work: () => Promise<Result>): Promise<Result>;
}

/**
 * Requests under way at which each kind is turned away. Measured on two cores of an AMD EPYC: a registration or a profile costs
 * the API process 0.6 ms of CPU and PostgreSQL 0.3, a read 0.1 and 0.02; 50 at once are answered as fast as 400, so more in
 * line only wait. 200 writes are an eighth of a second's work on a core of its own. On that machine with eight times the work it
 * can do, 200 under way were answered within a second (p99), 400 were not.
 */
export interface LoadLimits {
  readonly devices: number;
  readonly servers: number;
}

export const defaultLoadLimits: LoadLimits = { devices: 200, servers: 400 };

const retryAfterMs = 1000;

export function createLoad(log: Log): Load {
  let underWay = 0;
  // One line when it begins and one when it is over: a line for each refusal would be a load of its own.
  let turnedAway = 0;
  return {
    async run(most, work) {
      if (underWay >= most) {
        if (turnedAway++ === 0) log.warn({ under_way: underWay }, 'overloaded: turning requests away');
        throw new ApiError('unavailable', { retryAfterMs });
      }
      underWay++;
      try {
        return await work();
      } finally {
        underWay--;
        if (turnedAway > 0 && underWay < most / 2) {
          log.warn({ turned_away: turnedAway }, 'no longer overloaded');
          turnedAway = 0;
        }
      }
    },
    async aside(work) {
      underWay--;
      try {
        return await work();
      } finally {
        underWay++;
      }
    },
  };
}
