// The moment to do something to a node: while batches are held. On a quick machine they are there for a part of the time only.
import { setTimeout as pause } from 'node:timers/promises';
import type { Sql } from '../../../server/src/platform/db.ts';

const pollMs = 10;

/** Resolves when so many batches are held, or after a while all the same. */
export async function untilBusy(sql: Sql, batches: number, withinMs = 3000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (performance.now() < deadline) {
    const held =
      await sql`SELECT 1 FROM batches WHERE state = 'claimed' AND available_at > clock_timestamp() LIMIT ${batches}`;
    if (held.length === batches) return;
    await pause(pollMs);
  }
}
