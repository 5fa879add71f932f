// Tells how much work the nodes have, and waits for a good moment to disturb one: while batches are
// worked. On a quick machine batches are worked only part of the time.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';

const pollMs = 10;

/**
 * A holder renews its lease of 20 seconds every 5 seconds, so a lease with less time than this was
 * left by a dead one.
 */
const liveLease = '13 s';

/** The batches that are due and have no holder, and those that a living process works. */
export interface OpenBatches {
  readonly due: number;
  readonly worked: number;
}

/** Undefined while the database does not answer. */
export async function countOpenBatches(sql: Sql): Promise<OpenBatches | undefined> {
  const [open] = await sql<OpenBatches[]>`
    SELECT count(*) FILTER (WHERE state = 'waiting' AND available_at <= clock_timestamp())::int AS due,
      count(*) FILTER (WHERE state = 'claimed' AND available_at > clock_timestamp() + ${liveLease}::interval)::int AS worked
    FROM batches WHERE state <> 'done'`.catch(() => []);
  return open;
}

/** Resolves when `batches` batches are worked, or after `withinMs` in any case. */
export async function untilBusy(sql: Sql, batches: number, withinMs = 3000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (performance.now() < deadline) {
    if (((await countOpenBatches(sql))?.worked ?? 0) >= batches) return;
    await sleep(pollMs);
  }
}
