// Builds the program when its sources are newer, for tests that run it. It provides one PostgreSQL
// server and one migrated template for the run; each test file gets a database copied from it.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { openPool } from '@carillon/postgres';
import type { TestProject } from 'vitest/node';
import { databaseUrlFor } from '../../packages/postgres/test/database.ts';
import { startTestServer } from '../../packages/postgres/test/test-server.ts';
import { prepareDatabase } from '../src/operation/process/prepare-database.ts';

const builder = fileURLToPath(new URL('../../tools/build.mjs', import.meta.url));

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  execFileSync(process.execPath, [builder, '--if-stale'], { stdio: 'inherit' });
  const { serverUrl, adminUrl, stop } = await startTestServer();
  const templateName = `carillon_template_${process.pid}`;

  const admin = openPool({ url: adminUrl, connectionsMax: 1, name: 'tests', statementTimeoutMs: 60_000 });
  await admin.unsafe(`CREATE DATABASE ${templateName} OWNER ${new URL(serverUrl).username}`);
  const template = openPool({
    url: databaseUrlFor(serverUrl, templateName),
    connectionsMax: 2,
    name: 'tests',
    statementTimeoutMs: 60_000,
  });
  await prepareDatabase(template);
  await template.end();

  project.provide('serverUrl', serverUrl);
  project.provide('adminUrl', adminUrl);
  project.provide('templateName', templateName);

  return async () => {
    await admin.unsafe(`DROP DATABASE IF EXISTS ${templateName} WITH (FORCE)`);
    await admin.end();
    await stop();
  };
}
