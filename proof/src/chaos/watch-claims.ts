// Watches batches change hands: which lease ran out, and when another process claimed the batch. It
// only reads.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';
import { type ClaimLine, fileNames, writeLines } from './history-files.ts';

interface Held {
  readonly claimId: string;
  readonly leaseEndsAt: number;
}

const lookEveryMs = 250;

export function watchClaims(sql: Sql, directory: string): { stop(): Promise<void> } {
  const lines = writeLines<ClaimLine>(directory, fileNames.claims);
  let held = new Map<string, Held>();
  let isStopping = false;

  const look = async (): Promise<void> => {
    const rows = await sql<{ id: string; claimId: string; leaseEndsAt: number; now: number }[]>`
      SELECT id, claim_id, (extract(epoch FROM available_at) * 1000)::float8 AS lease_ends_at,
        (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
      FROM batches WHERE state = 'claimed'`;
    const now = rows[0]?.now ?? Date.now();
    const next = new Map(rows.map((row) => [row.id, row]));
    for (const [batch, before] of held) {
      // A lease that had not run out was released in order. A lease that ran out was taken over by
      // the process that has the batch now or has finished it.
      const after = next.get(batch);
      if (after?.claimId === before.claimId || before.leaseEndsAt > now) continue;
      await lines.write({ batch, leaseEndedAt: before.leaseEndsAt, takenAt: now });
    }
    held = next;
  };
  const looking = (async () => {
    while (!isStopping) {
      // While the database is away no batch changes hands.
      await look().catch(() => undefined);
      await sleep(lookEveryMs);
    }
    await lines.close();
  })();
  looking.catch(() => undefined);
  return {
    async stop() {
      isStopping = true;
      await looking;
    },
  };
}
