// Analyzes tables that have outgrown their statistics. A connection keeps a plan until the statistics
// of its tables change, and PostgreSQL itself renews them once a minute at the earliest. A plan that
// was made for a nearly empty table would read all of the table until then.
import { listValues } from './answer.ts';
import type { Sql } from './db.ts';

/**
 * Pages below which a table is left alone. From this size on the planner prefers an index, also for
 * a list of ids. It expects ten ids in a list and a cost of about two for each.
 */
const pagesLeast = 8;
/** Growth after which statistics are renewed. The number of renewals is the logarithm of the size. */
const growth = 2;

/**
 * Analyzes each table and partition that has outgrown its statistics. Call it repeatedly, in one
 * process. Throws the first failure after all tables had their turn.
 */
export async function analyzeGrown(sql: Sql): Promise<void> {
  const failures: unknown[] = [];
  for (const name of await listGrown(sql)) {
    // The database quotes the names. A table that another session alters or vacuums is skipped
    // until the next call.
    await sql.unsafe(`ANALYZE (SKIP_LOCKED) ${name}`).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

// Only the owner may analyze a table.
async function listGrown(sql: Sql): Promise<string[]> {
  return listValues(sql`
    SELECT c.oid::regclass::text AS name FROM pg_class c
    WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND pg_has_role(c.relowner, 'USAGE')
      AND pg_relation_size(c.oid) >=
        current_setting('block_size')::bigint * greatest(${pagesLeast}::bigint, ${growth}::bigint * c.relpages)
    ORDER BY name`);
}
