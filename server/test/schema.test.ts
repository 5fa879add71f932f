import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { breakIndex, createTestDatabase } from '../../packages/postgres/test/database.ts';
import { describeSchema } from '../../rig/src/describe-schema.ts';
import { listMigrations, migrate, missingMigrations } from '../src/ground/database/migrations.ts';

const { sql } = await createTestDatabase();

it('schema.sql is the result of the migrations', async () => {
  const written = await readFile(new URL('../migrations/schema.sql', import.meta.url), 'utf8');
  expect(await describeSchema(sql)).toBe(written);
});

it('R-61 every table of an app has the app in its primary key, except tables reached through a batch', async () => {
  const rows = await sql<{ name: string; columns: string[] }[]>`
    SELECT c.relname AS name, array_agg(a.attname::text ORDER BY a.attnum) AS columns
    FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY(i.indkey)
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition GROUP BY c.relname`;
  const without = rows.filter(({ columns }) => !columns.includes('app_id')).map(({ name }) => name);
  const ofAll = ['event_retention', 'instance', 'locale_passes', 'lookouts', 'provider_paces', 'schema_migrations'];
  const ofPeople = ['account_links', 'account_logins', 'account_sessions', 'accounts', 'login_failures', 'login_steps'];
  const ofOrganisations = ['members', 'operator_tokens', 'organisations', 'second_factors'];
  const reached = ['apps', 'batches', 'deliveries', 'early_receipts'];
  expect(without.sort()).toEqual([...reached, ...ofAll, ...ofPeople, ...ofOrganisations].sort());
});

it("every text column and its indexes are ordered by bytes, whatever the server's locale", async () => {
  const rows = await sql`
    SELECT c.relname, a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0
      AND a.attcollation <> 0 AND a.attcollation <> '"C"'::regcollation`;
  expect(rows.map((row) => ({ ...row }))).toEqual([]);
});

it('R-93 five processes that start at once run the migrations once', async () => {
  const [row] = await sql<{ name: string }[]>`SELECT current_database() AS name`;
  expect(row?.name).toBeDefined();
  await sql`DROP SCHEMA public CASCADE`;
  await sql`CREATE SCHEMA public`;
  const done = await Promise.all(Array.from({ length: 5 }, () => migrate(sql)));
  const names = (await listMigrations()).map(({ name }) => name);
  expect(done.flat()).toEqual(names);
  expect(await missingMigrations(sql)).toEqual([]);
});

it('R-93 a migration that was changed after it was applied is refused', async () => {
  const migrations = await listMigrations();
  const changed = migrations.map((one, i) => (i === 0 ? { ...one, checksum: 'other' } : one));
  await expect(migrate(sql, changed)).rejects.toThrow(/was changed after it was applied/);
});

it('R-93 a migration that fails leaves nothing behind, and runs again when it is repaired', async () => {
  const migrations = await listMigrations();
  const draft = { number: 9001, name: '9001_draft.sql', checksum: 'x', inTransaction: true };
  const broken = { ...draft, text: 'CREATE TABLE half_done (id int); SELECT 1 / 0;' };
  await expect(migrate(sql, [...migrations, broken])).rejects.toThrow();
  const [table] = await sql`SELECT to_regclass('half_done') AS found`;
  expect(table?.['found']).toBeNull();
  expect(await migrate(sql, [...migrations, { ...draft, text: 'CREATE TABLE half_done (id int);' }])).toEqual([
    '9001_draft.sql',
  ]);
});

it('R-93 a migration outside a transaction is recorded when it is done, and repeated when it was not recorded', async () => {
  const migrations = await listMigrations();
  const draft = { number: 9002, name: '9002_draft.sql', checksum: 'x', inTransaction: false };
  const statement = 'INDEX CONCURRENTLY IF NOT EXISTS apps_by_draft ON apps';
  await expect(
    migrate(sql, [...migrations, { ...draft, text: `CREATE ${statement} (no_such_column)` }]),
  ).rejects.toThrow();
  expect(await sql`SELECT 1 FROM schema_migrations WHERE number = 9002`).toEqual([]);
  // As if a process had ended between the two steps.
  await sql.unsafe(`CREATE ${statement} (name)`);
  const mended = { ...draft, text: `CREATE ${statement} (name)` };
  expect(await migrate(sql, [...migrations, mended])).toEqual(['9002_draft.sql']);
  expect(await migrate(sql, [...migrations, mended])).toEqual([]);
  // As if a process had ended while the index was built: the index exists and is unusable.
  await sql`DELETE FROM schema_migrations WHERE number = 9002`;
  await breakIndex(sql, 'apps_by_draft');
  expect(await migrate(sql, [...migrations, mended])).toEqual(['9002_draft.sql']);
  expect(await sql`SELECT indisvalid FROM pg_index WHERE indexrelid = 'apps_by_draft'::regclass`).toEqual([
    { indisvalid: true },
  ]);
  await sql`DROP INDEX apps_by_draft`;
});
