// Takes away events that nobody is to be told of any more: of webhooks that are gone, and what was held for too long. Some thousand
// a statement, each a transaction of its own: no send waits for any of them, and a crash leaves only less to do.
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import { type Uuid, uuidFloorOf } from '../platform/ids.ts';
import { deleteEventsOf, listHoldingWebhooks, listOrphanedOutboxes } from './clearing-queries.ts';
import { deleteOrphanedWork } from './work-queries.ts';

/** Of a disabled webhook, or of one whose app is suspended (contract 13.4). */
const heldMsMax = 72 * 3_600_000;
const limit = 5_000;

const firstId: Uuid = '00000000-0000-0000-0000-000000000000';
const lastId: Uuid = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Removes the events of one webhook; with `before` those that were put in its outbox before then. */
export async function clearOutbox(sql: Sql, webhook: { appId: Uuid; id: Uuid }, before?: Date): Promise<void> {
  // An event's id is minted when it is put in the outbox. Each step begins where the last one ended: it does not look again at
  // what was removed.
  const to = before === undefined ? lastId : uuidFloorOf(before);
  let after: Uuid | undefined = firstId;
  while (after !== undefined) after = await deleteEventsOf(sql, webhook, { after, before: to, limit });
}

/** Drops what has been held for longer than 72 hours. Any number of processes may do it at once. */
export async function dropHeldTooLong({ sql, clock }: { sql: Sql; clock: Clock }): Promise<void> {
  const before = new Date(clock.nowMs() - heldMsMax);
  for (const webhook of await listHoldingWebhooks(sql)) await clearOutbox(sql, webhook, before);
}

/** Finishes deletions that were interrupted, and what was written for a webhook while it was being deleted. */
export async function clearOrphanedOutboxes(sql: Sql): Promise<void> {
  for (const webhook of await listOrphanedOutboxes(sql)) await clearOutbox(sql, webhook);
  await deleteOrphanedWork(sql);
}
