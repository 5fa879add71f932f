// Fills a table of batches to claim, without messages and devices, because a claim looks at nothing
// else. A second table, which no claim knows of, records who holds which batch.
import type { Fragment, Sql } from '@carillon/postgres';
import type { Uuid } from '../../../server/src/ground/values/ids.ts';

export interface BatchesPlan {
  readonly apps: number;
  readonly perApp: number;
}

/** The id of a kind and a number. `number` is an SQL expression. */
const uuidOf = (sql: Sql, kind: string, number: Fragment): Fragment =>
  sql`(${`${kind.repeat(8)}-0000-0000-0000-`}::text || lpad(to_hex(${number}), 12, '0'))::uuid`;

/**
 * Stores waiting batches. Every second app's batches are paced, and paced batches have a claim
 * statement of their own.
 */
export async function fillBatches(sql: Sql, { apps, perApp }: BatchesPlan): Promise<void> {
  await sql`
    INSERT INTO batches (id, app_id, message_id, device_ids, size, state, queued_at, due_at, expires_at, available_at, per_second)
    SELECT ${uuidOf(sql, '1', sql`app * 100000 + n`)}, ${uuidOf(sql, 'a', sql`app`)}, ${uuidOf(sql, 'b', sql`app * 10 + n % 3`)},
      ARRAY[${uuidOf(sql, 'c', sql`n`)}], 1, 'waiting', now(), now(), now() + interval '1 day', now(),
      CASE WHEN app % 2 = 0 THEN 1000 END
    FROM generate_series(1, ${apps}::int) app CROSS JOIN generate_series(1, ${perApp}::int) n`;
}

/**
 * Stores claimed batches of one app whose leases have 19 seconds left, and one whose lease has just
 * run out. Resolves with the id of that one.
 */
export async function fillLeases(sql: Sql, live: number, isPaced: boolean): Promise<Uuid> {
  await sql`
    INSERT INTO batches (id, app_id, message_id, device_ids, size, state, queued_at, due_at, expires_at, available_at, claim_id, claims, per_second)
    SELECT ${uuidOf(sql, '1', sql`n`)}, ${uuidOf(sql, 'a', sql`1`)}, ${uuidOf(sql, 'b', sql`1`)}, ARRAY[${uuidOf(sql, 'c', sql`n`)}], 1,
      'claimed', now(), now(), now() + interval '1 day',
      CASE WHEN n = ${live}::int + 1 THEN now() - interval '1 millisecond' ELSE now() + interval '19 seconds' END,
      ${uuidOf(sql, 'd', sql`n`)}, 1, CASE WHEN ${isPaced} THEN 1000 END
    FROM generate_series(1, ${live}::int + 1) n`;
  const [dead] = await sql<{ id: Uuid }[]>`SELECT id FROM batches WHERE available_at <= now()`;
  if (!dead) throw new Error('No lease has run out.');
  return dead.id;
}

export async function makeHolds(sql: Sql): Promise<void> {
  await sql`CREATE TABLE proof_holds (batch_id uuid PRIMARY KEY, claim_id uuid NOT NULL, until timestamptz NOT NULL)`;
}

export interface Held {
  readonly batches: number;
  /** Batches that nobody held before. */
  readonly free: number;
  /** Batches whose former holder had died. */
  readonly inherited: number;
}

/** Records that a claim holds its batches from now on. */
export async function hold(sql: Sql, claimId: Uuid): Promise<Held> {
  const [row] = await sql<Held[]>`
    WITH mine AS (SELECT id FROM batches WHERE claim_id = ${claimId}), taken AS (
      INSERT INTO proof_holds (batch_id, claim_id, until) SELECT id, ${claimId}, 'infinity' FROM mine
      ON CONFLICT (batch_id) DO UPDATE SET claim_id = excluded.claim_id, until = excluded.until
      WHERE proof_holds.until <= clock_timestamp() RETURNING xmax <> 0 AS was_there
    )
    SELECT (SELECT count(*) FROM mine)::int AS batches, (SELECT count(*) FROM taken)::int AS free,
      (SELECT count(*) FROM taken WHERE was_there)::int AS inherited`;
  return row ?? { batches: 0, free: 0, inherited: 0 };
}

/** Deletes the record of a hold. It must be called before the batch is released. */
export async function letGo(sql: Sql, claimId: Uuid): Promise<void> {
  await sql`DELETE FROM proof_holds WHERE claim_id = ${claimId}`;
}

/**
 * Acts as if the holder had died a while ago. The lease runs out in a moment, and until then nobody
 * else may claim the batch.
 */
export async function die(sql: Sql, claimId: Uuid): Promise<void> {
  await sql`
    WITH dying AS (
      UPDATE batches SET available_at = clock_timestamp() + interval '200 milliseconds'
      WHERE claim_id = ${claimId} AND state = 'claimed' RETURNING id, available_at
    )
    UPDATE proof_holds SET until = dying.available_at FROM dying WHERE batch_id = dying.id`;
}
