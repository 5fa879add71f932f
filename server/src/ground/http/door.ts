// The door of the API: how many requests are inside, and whose turn it is to be worked on. Requests
// of one app, however many, leave room and turns to all others. Above a first number, requests of
// devices are refused, because their SDK repeats them. Above a second number, requests of servers
// are refused too. Requests for health do not pass the door. Counts only: knows no request
// and no resource.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../host/log.ts';
import { createFairShares } from '../pacing/fair-shares.ts';
import { createFairSlots, withSlotWithin } from '../pacing/fair-slots.ts';
import { ApiError } from './api-error.ts';

/**
 * `device`: routes that client keys may call, or callers without a key. `server`: all other routes.
 */
export type VisitorKind = 'device' | 'server';

export interface Visitor {
  /** The app; empty for requests without a key, which count as one app. */
  readonly app: string;
  readonly kind: VisitorKind;
}

export interface Door {
  /** True from the first refusal until most of those inside have left. */
  readonly isTurningAway: boolean;
  /** Rejects with the 503 if a request of this visitor would find no place. Takes no place. */
  look(visitor: Visitor): Promise<never> | undefined;
  /** Works when there is room and it is the visitor's turn; else rejects with the 503. */
  run<Result>(visitor: Visitor, work: (inside: Inside) => Promise<Result>): Promise<Result>;
}

export interface Inside {
  /** Does work that mostly waits. From then on the request has neither a place nor a turn. */
  aside<Result>(work: () => Promise<Result>): Promise<Result>;
}

/**
 * Requests inside at which each kind is turned away. An app that is alone has two thirds of them,
 * 200 of devices and 400 in all. A registration costs the API process about 0.6 ms of CPU (measured
 * with `bench -- api`), so the last of 400 in line is answered within a quarter of a second.
 */
export interface DoorLimits {
  readonly devices: number;
  readonly servers: number;
  /** A request waits this long for its turn, as for a connection to the database. */
  readonly waitMs: number;
}

export const usualDoorLimits: DoorLimits = { devices: 300, servers: 600, waitMs: 1000 };

/** An app may have two places for each free one, so an app alone has two thirds. */
const roomPerFree = 2;
/**
 * Requests worked on at once. 50 at once are answered as fast as 400, so more would only wait, and
 * before requests of other apps. An app that is alone has half of the turns; of two that ask for
 * all, each has a third.
 */
const turnsOf: Readonly<Record<VisitorKind, number>> = { device: 48, server: 128 };
const retryAfterMs = 1000;
/**
 * A refusal is held back for this many milliseconds, below the 100 ms of R-85, so that callers who
 * repeat at once come seldom. The time varies. Otherwise callers who are refused together would
 * come back together, and the requests inside would wait for a thousand of them at once.
 */
const refusedAfterMs = { least: 15, most: 55 };

export function createDoor(limits: DoorLimits, log: Log): Door {
  const roomOf: Readonly<Record<VisitorKind, number>> = { device: limits.devices, server: limits.servers };
  const room = createFairShares({ perFree: roomPerFree });
  const turns = {
    device: createFairSlots({ slotsMax: turnsOf.device, perFree: 1 }),
    server: createFairSlots({ slotsMax: turnsOf.server, perFree: 1 }),
  };
  // One line when refusals begin and one when they end, because a line for each refusal would be a
  // load.
  let turnedAway = 0;

  const refuse = async ({ app }: Visitor): Promise<never> => {
    if (turnedAway++ === 0) log.warn({ inside: room.taken, app_id: app }, 'overloaded: turning requests away');
    await sleep(refusedAfterMs.least + Math.random() * (refusedAfterMs.most - refusedAfterMs.least));
    throw overloaded();
  };
  const leave = (app: string): void => {
    room.give(app, 1);
    if (turnedAway === 0 || room.taken >= limits.devices / 4) return;
    log.warn({ turned_away: turnedAway }, 'no longer overloaded');
    turnedAway = 0;
  };

  return {
    get isTurningAway() {
      return turnedAway > 0;
    },
    look(visitor) {
      if (!room.take(visitor.app, 1, roomOf[visitor.kind])) return refuse(visitor);
      room.give(visitor.app, 1);
      return undefined;
    },
    async run(visitor, work) {
      const { app, kind } = visitor;
      if (!room.take(app, 1, roomOf[kind])) return refuse(visitor);
      let isInside = true;
      const leaveOnce = (): void => {
        if (isInside) leave(app);
        isInside = false;
      };
      try {
        return await withSlotWithin(turns[kind], app, limits.waitMs, overloaded, (giveBack) =>
          work({
            aside(waiting) {
              giveBack();
              leaveOnce();
              return waiting();
            },
          }),
        );
      } finally {
        leaveOnce();
      }
    },
  };
}

function overloaded(): ApiError {
  return new ApiError('unavailable', { retryAfterMs });
}
