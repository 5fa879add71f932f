// Builds the program when its sources are newer, for tests that run it. It provides one PostgreSQL
// server and one migrated template for the run; each test file gets a database copied from it.
// DATABASE_URL selects an external server and the role that owns the databases, DATABASE_ADMIN_URL
// its superuser, who makes and drops them. Otherwise the embedded server is used.
import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { openPool } from '../src/database/db.ts';
import { startEmbeddedPostgres } from '../src/embedded-postgres/start-postgres.ts';
import { prepareDatabase } from '../src/process/prepare-database.ts';
import { databaseUrlFor } from './database.ts';

/** Three files at a time, some with several databases, and the log of their changes. */
const roomBytes = 4 * 1024 ** 3;

const builder = fileURLToPath(new URL('../../tools/build.mjs', import.meta.url));

declare module 'vitest' {
  export interface ProvidedContext {
    serverUrl: string;
    /** The same server for its superuser, who makes and drops the databases. */
    adminUrl: string;
    templateName: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  execFileSync(process.execPath, [builder, '--if-stale'], { stdio: 'inherit' });
  const external = process.env['DATABASE_URL'];
  const dataDir = external ? undefined : await mkdtemp(join(await findRoom(), 'carillon-test-'));
  // When run as root, the cluster uses another user, who must be able to enter the directory.
  // Otherwise the cluster would be put elsewhere.
  if (dataDir) await chmod(dataDir, 0o755);
  // Without fsync: a database that is dropped otherwise waits until all files of a checkpoint are on
  // the disk, which takes seconds on a busy machine.
  const embedded = dataDir
    ? await startEmbeddedPostgres({ dataDir, isDisposable: true, log: () => undefined })
    : undefined;
  const serverUrl = external ?? embedded?.url ?? '';
  const adminUrl = embedded?.adminUrl ?? process.env['DATABASE_ADMIN_URL'] ?? serverUrl;
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
    await embedded?.stop();
    if (embedded) await rm(embedded.clusterDir, { recursive: true, force: true });
    if (dataDir) await rm(dataDir, { recursive: true, force: true });
  };
}

/**
 * Memory where it has room for the databases of a run, which are 700 files each: ext4 searches long
 * for the numbers of new files after many were deleted (an eighth of all the processors' time).
 */
async function findRoom(): Promise<string> {
  const inMemory = '/dev/shm';
  const room = await statfs(inMemory).catch(() => undefined);
  return room && room.bavail * room.bsize >= roomBytes ? inMemory : tmpdir();
}
