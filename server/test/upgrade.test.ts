// an upgrade beside sessions that read for a long time. It waits for them and says so.
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { connect, openPool, type Tx, tellWaits } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { breakIndex, createTestDatabase } from '../../packages/postgres/test/database.ts';
import { whenDone } from '../../rig/src/when-done.ts';
import { advisoryLocks } from '../src/ground/database/advisory-locks.ts';
import { listMigrations, migrate } from '../src/ground/database/migrations.ts';
import { prepareDatabase } from '../src/operation/process/prepare-database.ts';

const limitlessMs = 0;

/** A database, a reader in an open transaction, and a listener for what an upgrade tells. */
async function setUp(statement: string) {
  const { sql: admin, url } = await createTestDatabase();
  const reader = await connect({ url, name: 'pg_dump', statementTimeoutMs: limitlessMs });
  const sql = openPool({ url, connectionsMax: 2, name: 'upgrade', statementTimeoutMs: limitlessMs });
  whenDone(async () => {
    reader.release();
    await sql.end({ timeout: 1 });
  });
  await reader`BEGIN ISOLATION LEVEL REPEATABLE READ`;
  await reader.unsafe(statement);
  const told = new PassThrough({ objectMode: true });
  return { admin, sql, reader, tell: (line: string) => void told.write(line), told: () => once(told, 'data') };
}

const draft = (text: string, inTransaction: boolean) => ({
  number: 9104,
  name: '9104_draft.sql',
  checksum: 'x',
  text,
  inTransaction,
});

/** Resolves when a statement has waited longer than any limit on locks that stop others. */
async function untilWaited(sql: Tx): Promise<void> {
  const waited = () => sql`
    SELECT 1 FROM pg_locks WHERE NOT granted AND waitstart < clock_timestamp() - interval '4 seconds'`;
  while ((await waited()).length === 0);
}

describe('R-104 an upgrade', () => {
  it.each([
    ['builds an index', false],
    ['drops what a killed start left of an index, and builds it', true],
  ])('%s as long as another session holds a snapshot, and names that session', async (_what, isBroken) => {
    const { admin, sql, reader, tell, told } = await setUp('SELECT count(*) FROM apps');
    const build = 'CREATE INDEX CONCURRENTLY IF NOT EXISTS apps_by_draft ON apps (name)';
    if (isBroken) {
      await admin`CREATE INDEX apps_by_draft ON apps (name)`;
      await breakIndex(admin, 'apps_by_draft');
    }
    const migrations = [...(await listMigrations()), draft(build, false)];
    const migrating = tellWaits(sql, tell, () => migrate(sql, migrations, tell));
    const [line] = await told();
    expect(line).toMatch(/^waiting for process \d+ \(pg_dump\), whose transaction is \d+ s old$/);
    await Promise.race([untilWaited(admin), migrating.then(() => expect.unreachable('it did not wait'))]);
    await reader`COMMIT`;
    expect(await migrating).toEqual(['9104_draft.sql']);
    expect(await admin`SELECT indisvalid FROM pg_index WHERE indexrelid = 'apps_by_draft'::regclass`).toEqual([
      { indisvalid: true },
    ]);
  });

  it('that has to lock a table lets others write to it while it waits for a reader', async () => {
    const { admin, sql, reader, tell, told } = await setUp('SELECT count(*) FROM apps');
    const migrations = [...(await listMigrations()), draft('ALTER TABLE lookouts ADD COLUMN draft int', true)];
    await reader`SELECT 1 FROM lookouts`;
    const migrating = tellWaits(sql, tell, () => migrate(sql, migrations, tell));
    expect((await told())[0]).toContain('(pg_dump)');
    await admin`
      INSERT INTO lookouts (id, holder, held_until) VALUES (1, '00000000-0000-0000-0000-000000000000', now())
      ON CONFLICT DO NOTHING`;
    await reader`COMMIT`;
    expect(await migrating).toEqual(['9104_draft.sql']);
  });

  it('makes the partitions that are missing once nobody analyzes their table any more', async () => {
    const { admin, sql, reader, tell, told } = await setUp('LOCK TABLE deliveries IN SHARE UPDATE EXCLUSIVE MODE');
    const [last] = await admin<{ name: string }[]>`
      SELECT c.relname::text AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = 'deliveries'::regclass ORDER BY 1 DESC LIMIT 1`;
    await reader`COMMIT`;
    await admin.unsafe(`DROP TABLE ${last?.name}`);
    await reader`BEGIN`;
    await reader`LOCK TABLE deliveries IN SHARE UPDATE EXCLUSIVE MODE`;
    const preparing = prepareDatabase(sql, tell);
    expect((await told())[0]).toContain('(pg_dump)');
    await reader`COMMIT`;
    await preparing;
    expect(await admin`SELECT to_regclass(${last?.name ?? ''}) AS found`).not.toEqual([{ found: null }]);
  });

  it('waits for another one that runs, and says for whose', async () => {
    const { sql, reader, tell, told } = await setUp('SELECT 1');
    await reader`SELECT pg_advisory_lock(${advisoryLocks.migrations})`;
    const migrating = migrate(sql, undefined, tell);
    expect((await told())[0]).toMatch(/^another migration runs: process \d+ \(pg_dump\)/);
    await reader`SELECT pg_advisory_unlock(${advisoryLocks.migrations})`;
    expect(await migrating).toEqual([]);
  });

  it('is not ended by a limit of the database on locks', async () => {
    const { admin, sql } = await setUp('SELECT 1');
    const [row] = await admin<{ name: string }[]>`SELECT current_database() AS name`;
    await admin.unsafe(`ALTER DATABASE "${row?.name}" SET lock_timeout = '1ms'`);
    expect(await sql`SHOW lock_timeout`).toEqual([{ lockTimeout: '0' }]);
  });
});
