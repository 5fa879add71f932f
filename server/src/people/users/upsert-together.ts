// Upserts of an app that arrive while others of the app are being stored share the next transaction:
// one commit and a few round trips for all. An upsert whose user another transaction holds waits
// outside of every transaction, so that it delays no other.
import { setTimeout as sleep } from 'node:timers/promises';
import { createTogether } from '../../ground/pacing/together.ts';
import type { UpsertUser } from './merge-profile.ts';
import { type UpsertDeps, type UpsertedUser, UserIsHeld, upsertUsers } from './upsert-users.ts';

/** Upserts a profile, or throws its refusal. */
export type Upsert = (request: UpsertUser) => Promise<UpsertedUser>;

/**
 * Transactions of one app at once in a process. One connection of the pool of short transactions
 * remains for other apps.
 */
const turns = { turnsMax: 2, itemsMax: 25 };

/**
 * The turns of upserts whose user another transaction may be adding. Only a wait shows whether it
 * does.
 */
const oneByOne = { turnsMax: 1, itemsMax: 1 };

/** Milliseconds for which an upsert waits for its user; as long as a statement may wait for a lock. */
const heldMsMax = 7000;
/** Milliseconds between two tries, with jitter: the first pause, doubled up to the longest. */
const pauseMs = { first: 5, longest: 160 };

/** Whether another transaction holds the user, a device of theirs, or is adding the user. */
const isHeld = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === '55P03';

/** `waitMs`: milliseconds that a request waits for its turn; after that it is refused. */
export function createUpsert({ waitMs, ...deps }: UpsertDeps & { readonly waitMs: number }): Upsert {
  const line = createTogether<UpsertUser, UpsertedUser>((_appId, requests) => upsertUsers(deps, requests), {
    ...turns,
    waitMs,
  });
  const lineOfNew = createTogether<UpsertUser, UpsertedUser>((_appId, requests) => upsertUsers(deps, requests), {
    ...oneByOne,
    waitMs,
  });
  return async (request) => {
    const begunAtMs = performance.now();
    let itsLine = line;
    for (let pause = pauseMs.first; ; pause = Math.min(2 * pause, pauseMs.longest)) {
      try {
        return await itsLine.run(request.appId, request);
      } catch (error) {
        if (!isHeld(error) || performance.now() - begunAtMs > heldMsMax) throw error;
        // A group of upserts would also wait for the other transaction.
        if (!(error instanceof UserIsHeld)) itsLine = lineOfNew;
      }
      await sleep(pause * (0.5 + Math.random() / 2));
    }
  };
}
