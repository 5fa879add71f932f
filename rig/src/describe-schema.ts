// Writes the schema as text from the catalogs, for `server/migrations/schema.sql`, so that every
// migration shows its effect as a diff. It uses a query of our own, because the embedded database
// has no pg_dump. The text is the same on every PostgreSQL from 15 on.
import type { Sql } from '@carillon/postgres';

const header = `-- The result of all migrations, for reading. Written by: node --import tsx tools/schema.ts --write
-- Partitions, which the service makes, are left out.
`;

/** Tables in the order of their names, each with its columns, constraints and indexes. */
export async function describeSchema(sql: Sql): Promise<string> {
  const tables = await sql<{ oid: number; name: string; kind: string; partition: string | null }[]>`
    SELECT c.oid::int, c.relname AS name, CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED TABLE' ELSE 'TABLE' END AS kind,
      pg_get_partkeydef(c.oid) AS partition
    FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    ORDER BY c.relname COLLATE "C"`;
  const parts = [header];
  for (const table of tables) {
    const columns = await sql<{ line: string }[]>`
      SELECT a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
        || coalesce((SELECT ' COLLATE ' || quote_ident(l.collname) FROM pg_collation l WHERE l.oid = a.attcollation AND l.collname <> 'default'), '')
        || CASE WHEN a.attstorage = 'e' AND t.typstorage <> 'e' THEN ' STORAGE EXTERNAL' ELSE '' END
        || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
        || coalesce(CASE a.attgenerated
          WHEN 's' THEN ' GENERATED ALWAYS AS (' || btrim(regexp_replace(pg_get_expr(d.adbin, d.adrelid), '\\s+', ' ', 'g')) || ') STORED'
          ELSE ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) END, '') AS line
      FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      WHERE a.attrelid = ${table.oid} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`;
    // Since PostgreSQL 18 a NOT NULL is a constraint, too. It is already shown with its column.
    const constraints = await sql<{ line: string }[]>`
      SELECT 'CONSTRAINT ' || conname || ' ' || pg_get_constraintdef(oid) AS line
      FROM pg_constraint WHERE conrelid = ${table.oid} AND contype IN ('p', 'u', 'c', 'f')
      ORDER BY array_position(ARRAY['p', 'u', 'f', 'c'], contype::text), conname COLLATE "C"`;
    const indexes = await sql<{ line: string }[]>`
      SELECT pg_get_indexdef(i.indexrelid) || ';' AS line
      FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      WHERE i.indrelid = ${table.oid} AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid)
      ORDER BY c.relname COLLATE "C"`;
    const body = [...columns, ...constraints].map(({ line }) => `  ${line}`).join(',\n');
    const partition = table.partition === null ? '' : ` PARTITION BY ${table.partition}`;
    parts.push(
      `CREATE ${table.kind} ${table.name} (\n${body}\n)${partition};\n${indexes.map(({ line }) => `${line}\n`).join('')}`,
    );
  }
  return parts.join('\n');
}
