// An event in an outbox may wait for 72 hours, and tell an erased user's name and where a click of theirs led. Both are taken out of
// it; the event is told all the same.
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import { clearDetails, type ForgottenOwner, type OutboxPlace } from './clearing-queries.ts';

const eventsAtOnce = 20_000;

export interface PeopleToForget {
  readonly appId: Uuid;
  /** The devices that were theirs when they were erased. */
  readonly devices: readonly ForgottenOwner[];
  /** Runs a piece of work in a transaction. */
  run(work: (tx: Tx) => Promise<void>): Promise<void>;
}

/** Goes once through the outboxes of the app, some thousand events a statement. May be repeated. */
export async function forgetInOutboxes({ appId, devices, run }: PeopleToForget): Promise<void> {
  let after: OutboxPlace | undefined;
  do {
    await run(async (tx) => {
      after = await clearDetails(tx, appId, devices, after, eventsAtOnce);
    });
  } while (after !== undefined);
}
