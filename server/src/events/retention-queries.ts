// SQL: what is kept of events, and what may go.
import type { Sql, Tx } from '../platform/db.ts';

/** The partitions of a table that bear the name of a month, each with its bounds as PostgreSQL writes them. */
export async function listAttachedMonths(sql: Sql, table: string): Promise<{ name: string; bound: string }[]> {
  return sql<{ name: string; bound: string }[]>`
    SELECT c.relname::text AS name, pg_get_expr(c.relpartbound, c.oid) AS bound
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = ${table}::regclass AND c.relname ~ ('^' || ${table}::text || '_[0-9]{6}$')`;
}

/** From when on are all events kept? Null: nothing was ever removed. */
export async function findKeptSince(tx: Tx): Promise<Date | null> {
  const [row] = await tx<{ keptSince: Date }[]>`SELECT kept_since FROM event_retention`;
  return row?.keptSince ?? null;
}

/** From now on only events since then are promised. Never moves back. */
export async function raiseKeptSince(sql: Sql, keptSince: Date): Promise<void> {
  await sql`
    INSERT INTO event_retention (kept_since) VALUES (${keptSince})
    ON CONFLICT (is_only) DO UPDATE SET kept_since = greatest(event_retention.kept_since, excluded.kept_since)`;
}

/** The oldest event outside all months; null: there is none. */
export async function findOldestOutside(sql: Sql): Promise<Date | null> {
  const [row] = await sql<{ oldest: Date | null }[]>`SELECT min(at) AS oldest FROM events_default`;
  return row?.oldest ?? null;
}

/** Removes events outside all months from before an instant. Nobody else touches them: they happened long ago. */
export async function deleteEventsOutside(sql: Sql, before: Date): Promise<void> {
  await sql`DELETE FROM events_default WHERE at < ${before}`;
}

/** The same of their daily counts; the instant is a day's first. */
export async function deleteDaysOutside(sql: Sql, before: Date): Promise<void> {
  await sql`DELETE FROM subject_events_default WHERE day < (${before}::timestamptz AT TIME ZONE 'UTC')::date`;
}

/** Forgets the ids of events from a span of time; a null start is the beginning. */
export async function deleteEventKeys(sql: Sql, from: Date | null, to: Date): Promise<void> {
  await sql`DELETE FROM event_ids WHERE at < ${to} ${from === null ? sql`` : sql`AND at >= ${from}`}`;
}
