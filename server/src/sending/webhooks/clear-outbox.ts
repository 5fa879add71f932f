// Deletes events that will not be told: those of deleted webhooks, and those held for too long.
// Each statement deletes some thousand in a transaction of its own. So no send waits for a
// deletion, and after a crash the rest is deleted later.

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { type Uuid, uuidFloorOf } from '../../ground/values/ids.ts';
import { deleteEventsOf, listHoldingWebhooks, listOrphanedOutboxes } from './clearing-queries.ts';
import { deleteOrphanedWork } from './work-queries.ts';

/** How long events of a disabled webhook or of a suspended app are held (contract 13.4). */
const heldMsMax = 72 * 3_600_000;
const limit = 5_000;

const firstId: Uuid = '00000000-0000-0000-0000-000000000000';
const lastId: Uuid = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Deletes the events of one webhook; with `before`, only those put in its outbox earlier. */
export async function clearOutbox(sql: Sql, webhook: { appId: Uuid; id: Uuid }, before?: Date): Promise<void> {
  // An event's id is minted when it enters the outbox. Each step begins where the last one ended,
  // so that it does not read the deleted rows again.
  const to = before === undefined ? lastId : uuidFloorOf(before);
  let after: Uuid | undefined = firstId;
  while (after !== undefined) after = await deleteEventsOf(sql, webhook, { after, before: to, limit });
}

/**
 * Deletes events that have been held for longer than 72 hours. Several processes may do this at
 * once.
 */
export async function dropHeldTooLong({ sql, clock }: { sql: Sql; clock: Clock }): Promise<void> {
  const before = new Date(clock.nowMs() - heldMsMax);
  for (const webhook of await listHoldingWebhooks(sql)) await clearOutbox(sql, webhook, before);
}

/**
 * Finishes interrupted deletions of webhooks, and deletes events that were written for a webhook
 * during its deletion.
 */
export async function clearOrphanedOutboxes(sql: Sql): Promise<void> {
  for (const webhook of await listOrphanedOutboxes(sql)) await clearOutbox(sql, webhook);
  await deleteOrphanedWork(sql);
}
