// A database for each test file, copied from the run's migrated template.
import { afterAll, expect, inject, onTestFinished } from 'vitest';
import { openPool, type Sql } from '../src/database/db.ts';

let databases = 0;

/**
 * Runs `work` when the calling test is done, or its file when called outside a test; in reverse
 * order.
 */
export function whenDone(work: () => Promise<unknown>): void {
  if (expect.getState().currentTestName === undefined) afterAll(async () => void (await work()));
  else onTestFinished(async () => void (await work()));
}

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
  const admin = openPool({ url: serverUrl, connectionsMax: 1, name: 'tests', statementTimeoutMs: 60_000 });
  await admin.unsafe(`CREATE DATABASE ${name} TEMPLATE ${inject('templateName')}`);
  const url = databaseUrlFor(serverUrl, name);
  const sql = openPool({ url, connectionsMax: 4, name: 'tests', statementTimeoutMs: 60_000 });
  whenDone(async () => {
    await sql.end({ timeout: 5 });
    await admin.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await admin.end();
  });
  return { url, sql };
}
