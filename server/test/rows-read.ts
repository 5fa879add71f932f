import { type Sql, type Tx, transaction } from '@carillon/postgres';

/**
 * The rows that some work reads, by table. A connection keeps the counts of its transactions for up
 * to a second before it reports them (PostgreSQL 15), so the counts of before are subtracted.
 */
export function rowsReadBy(sql: Sql, work: (tx: Tx) => Promise<unknown>): Promise<Map<string, number>> {
  return transaction(sql, async (tx) => {
    const before = new Map(await countRows(tx));
    await work(tx);
    const counts = await countRows(tx);
    return new Map(counts.map(([table, rows]) => [table, rows - (before.get(table) ?? 0)]));
  });
}

async function countRows(tx: Tx): Promise<[table: string, rows: number][]> {
  const rows = await tx<{ name: string; rows: number }[]>`
    SELECT relname AS name, (seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 AS rows
    FROM pg_stat_xact_user_tables ORDER BY relname`;
  return rows.map(({ name, rows: read }) => [name, read]);
}
