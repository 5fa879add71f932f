// Waits for a good moment to disturb a node: while batches are claimed. On a quick machine batches
// are claimed only part of the time.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';

const pollMs = 10;

/** Resolves when `batches` batches are claimed, or after `withinMs` in any case. */
export async function untilBusy(sql: Sql, batches: number, withinMs = 3000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (performance.now() < deadline) {
    const held =
      await sql`SELECT 1 FROM batches WHERE state = 'claimed' AND available_at > clock_timestamp() LIMIT ${batches}`;
    if (held.length === batches) return;
    await sleep(pollMs);
  }
}
