// The time zones of the database, asked for once at the start.

import type { Sql } from '@carillon/postgres';
import { createTimeZones, type TimeZones } from '../values/time-zones.ts';

/** Reads the database's list, once, because PostgreSQL opens a file for each name. */
export async function loadTimeZones(sql: Sql): Promise<TimeZones> {
  const rows = await sql<{ name: string }[]>`SELECT name FROM pg_timezone_names`;
  return createTimeZones(rows.map((row) => row.name));
}
