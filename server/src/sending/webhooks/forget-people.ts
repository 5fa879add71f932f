// Deletes an erased user's external id, and the urls of their clicks, from events that wait in
// outboxes. An event may wait for 72 hours, and is still told without these fields.
import type { Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import { clearDetails, type ForgottenOwner, type OutboxPosition } from './clearing-queries.ts';

const eventsAtOnce = 20_000;

export interface PeopleToForget {
  readonly appId: Uuid;
  /** The devices that the user owned when they were erased. */
  readonly devices: readonly ForgottenOwner[];
  /** Runs the given work in a transaction. */
  run(work: (tx: Tx) => Promise<void>): Promise<void>;
}

/** Reads the outboxes of the app once, 20,000 events at a time. May be repeated. */
export async function forgetInOutboxes({ appId, devices, run }: PeopleToForget): Promise<void> {
  let after: OutboxPosition | undefined;
  do {
    await run(async (tx) => {
      after = await clearDetails(tx, appId, devices, after, eventsAtOnce);
    });
  } while (after !== undefined);
}
