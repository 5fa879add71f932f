// Upserts of an app that arrive while others of the app are being stored share the next transaction:
// one commit and a few round trips for all.
import { createTogether } from '../ground/together.ts';
import type { UpsertUser } from './merge-profile.ts';
import { type UpsertDeps, type UpsertedUser, upsertUsers } from './upsert-users.ts';

/** Upserts a profile, or throws its refusal. */
export type Upsert = (request: UpsertUser) => Promise<UpsertedUser>;

/**
 * Transactions of one app at once in a process. One connection of the pool of short transactions
 * remains for other apps.
 */
const turns = { turnsMax: 2, itemsMax: 25 };

/** `waitMs`: milliseconds that a request waits for its turn; after that it is refused. */
export function createUpsert({ waitMs, ...deps }: UpsertDeps & { readonly waitMs: number }): Upsert {
  const line = createTogether<UpsertUser, UpsertedUser>((_appId, requests) => upsertUsers(deps, requests), {
    ...turns,
    waitMs,
  });
  return (request) => line.run(request.appId, request);
}
