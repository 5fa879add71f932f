// The rows of one tenant as one text. Two texts are equal when no row changed.
import type { Bundle } from './setup.ts';

/**
 * Written up to a second after a request: the time of a key's use, and the log of requests, which
 * has this tenant's own. `console/requests.test.ts` shows whose requests a log has.
 */
const leftOut = ['keys', 'request_chunks'];

/** Every row of every table whose `column` has this id. */
export async function contentsOf(
  t: Pick<Bundle, 'sql' | 'judged'>,
  column: 'app_id' | 'org_id',
  id: string,
): Promise<string> {
  // Verdicts of pushes are written up to a second later.
  await t.judged();
  const tables = await t.sql<{ name: string }[]>`
    SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = ${column}
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`;
  const contents: string[] = [];
  for (const { name } of tables) {
    if (leftOut.includes(name)) continue;
    const rowsOf = await t.sql`
      SELECT x::text AS row FROM ${t.sql(name)} x WHERE ${t.sql(column)} = ${id} ORDER BY 1`;
    contents.push(name, ...rowsOf.map(({ row }) => String(row)));
  }
  return contents.join('\n');
}
