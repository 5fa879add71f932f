// Upserts of an app that arrive while others of the app are being stored share the next transaction:
// one commit and a few round trips for all. An upsert whose user another transaction holds waits
// outside of every transaction, so that it delays no other.
import { setTimeout as sleep } from 'node:timers/promises';
import { createTogether } from '../ground/together.ts';
import type { UpsertUser } from './merge-profile.ts';
import { type UpsertDeps, type UpsertedUser, UserIsHeld, upsertUsers } from './upsert-users.ts';

/** Upserts a profile, or throws its refusal. */
export type Upsert = (request: UpsertUser) => Promise<UpsertedUser>;

/**
 * Transactions of one app at once in a process. One connection of the pool of short transactions
 * remains for other apps.
 */
const turns = { turnsMax: 2, itemsMax: 25 };

/** Milliseconds for which an upsert waits for its user; as long as a statement may wait for a lock. */
const heldMsMax = 7000;
/** Milliseconds between two tries, with jitter: the first pause, doubled up to the longest. */
const pauseMs = { first: 5, longest: 160 };

/** `waitMs`: milliseconds that a request waits for its turn; after that it is refused. */
export function createUpsert({ waitMs, ...deps }: UpsertDeps & { readonly waitMs: number }): Upsert {
  const line = createTogether<UpsertUser, UpsertedUser>((_appId, requests) => upsertUsers(deps, requests), {
    ...turns,
    waitMs,
  });
  return async (request) => {
    const begunAtMs = performance.now();
    for (let pause = pauseMs.first; ; pause = Math.min(2 * pause, pauseMs.longest)) {
      try {
        return await line.run(request.appId, request);
      } catch (error) {
        if (!(error instanceof UserIsHeld) || performance.now() - begunAtMs > heldMsMax) throw error;
      }
      await sleep(pause * (0.5 + Math.random() / 2));
    }
  };
}
