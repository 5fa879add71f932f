// SQL: which events are kept, and which may be deleted.
import { getValue, type Sql, type Tx } from '@carillon/postgres';
import type { Times } from './spans.ts';

/**
 * Lists the partitions of a table that are named after a month or a year, each with its bounds as
 * PostgreSQL writes them.
 */
export async function listAttachedSpans(tx: Tx, table: string): Promise<{ name: string; bound: string }[]> {
  return tx`
    SELECT c.relname::text AS name, pg_get_expr(c.relpartbound, c.oid) AS bound
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = ${table}::regclass AND c.relname ~ ('^' || ${table}::text || '_[0-9]{4}([0-9]{2})?(_[0-9]+)?$')`;
}

/** Returns whether a table or another relation has this name. */
export async function isNameTaken(tx: Tx, name: string): Promise<boolean> {
  return getValue(tx`SELECT to_regclass(${name}) IS NOT NULL AS is_taken`);
}

/** Finds the instant from which all events are kept; null when nothing was ever deleted. */
export async function findKeptSince(tx: Tx): Promise<Date | null> {
  const [row] = await tx<{ keptSince: Date }[]>`SELECT kept_since FROM event_retention`;
  return row?.keptSince ?? null;
}

/** Promises only events since this instant from now on. Never moves back. */
export async function raiseKeptSince(sql: Sql, keptSince: Date): Promise<void> {
  await sql`
    INSERT INTO event_retention (kept_since) VALUES (${keptSince})
    ON CONFLICT (is_only) DO UPDATE SET kept_since = greatest(event_retention.kept_since, excluded.kept_since)`;
}

/** Finds the time of the oldest event in a span; null when there is none. */
export async function findOldestEvent(sql: Sql, { from, to }: Times): Promise<Date | null> {
  return getValue(sql`SELECT min(at) AS oldest FROM events WHERE at >= ${from} AND at < ${to}`);
}

/** Deletes the events of a span of time. */
export async function deleteEvents(sql: Sql, { from, to }: Times): Promise<void> {
  await sql`DELETE FROM events WHERE at >= ${from} AND at < ${to}`;
}

/** Deletes the daily counts of a span; both instants are the first of a day. */
export async function deleteDays(sql: Sql, { from, to }: Times): Promise<void> {
  await sql`
    DELETE FROM subject_events
    WHERE day >= (${from}::timestamptz AT TIME ZONE 'UTC')::date AND day < (${to}::timestamptz AT TIME ZONE 'UTC')::date`;
}

/** Deletes the known ids of events in a span; a null start means from the beginning. */
export async function deleteEventKeys(sql: Sql, from: Date | null, to: Date): Promise<void> {
  await sql`DELETE FROM event_ids WHERE at < ${to} ${from === null ? sql`` : sql`AND at >= ${from}`}`;
}
