// A database for each test file, copied from the run's template.
import { inject } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { openPool, type Sql } from '../src/db.ts';

let databases = 0;

/** The URL of another database on the same server. */
export function databaseUrlFor(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

export interface TestDatabase {
  readonly url: string;
  readonly sql: Sql;
}

/** Creates a database for the calling test file and drops it when the file is done. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = inject('serverUrl');
  const name = `carillon_${process.pid}_${++databases}`;
  const admin = openPool({ url: inject('adminUrl'), connectionsMax: 1, name: 'tests', statementTimeoutMs: 60_000 });
  const role = new URL(serverUrl).username;
  const template = inject('templateName');
  await admin.unsafe(`CREATE DATABASE ${name} OWNER ${role} TEMPLATE ${template} STRATEGY FILE_COPY`);
  const url = databaseUrlFor(serverUrl, name);
  const sql = openPool({ url, connectionsMax: 4, name: 'tests', statementTimeoutMs: 60_000 });
  whenDone(async () => {
    await sql.end({ timeout: 5 });
    await admin.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await admin.end();
  });
  return { url, sql };
}

/** A connection of the superuser to the same database, until the test or its file is done. */
export async function openAsSuperuser(sql: Sql): Promise<Sql> {
  const [row] = await sql<{ name: string }[]>`SELECT current_database() AS name`;
  const url = databaseUrlFor(inject('adminUrl'), row?.name ?? '');
  const admin = openPool({ url, connectionsMax: 1, name: 'tests', statementTimeoutMs: 60_000 });
  whenDone(() => admin.end({ timeout: 5 }));
  return admin;
}

/** Leaves an index as a build does that was broken off. */
export async function breakIndex(sql: Sql, name: string): Promise<void> {
  const admin = await openAsSuperuser(sql);
  await admin`UPDATE pg_index SET indisvalid = false WHERE indexrelid = ${name}::text::regclass`;
}

/** Makes a server report these settings to sessions of this database that begin later. */
export async function reportSettings({ url, sql }: TestDatabase, settings: Record<string, string>): Promise<void> {
  const cases = Object.entries(settings).map(([name, value]) => `WHEN '${name}' THEN '${value}'`);
  await sql`CREATE SCHEMA shadow`;
  await sql.unsafe(`
    CREATE VIEW shadow.pg_settings AS SELECT name, CASE name ${cases.join(' ')} ELSE setting END AS setting
    FROM pg_catalog.pg_settings`);
  const name = new URL(url).pathname.slice(1);
  await sql.unsafe(`ALTER DATABASE ${name} SET search_path = public, shadow, pg_catalog`);
}

/** What a durable server reports. The one of the tests runs without fsync. */
export const durable = { fsync: 'on', full_page_writes: 'on' };
