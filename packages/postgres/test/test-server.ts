// The PostgreSQL server of a run of tests. DATABASE_URL selects an external server and the role that
// owns the databases, DATABASE_ADMIN_URL its superuser, who makes and drops them. Otherwise the
// embedded server is used.
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../src/embedded/start-postgres.ts';

/** Three files at a time, some with several databases, and the log of their changes. */
const roomBytes = 4 * 1024 ** 3;

declare module 'vitest' {
  export interface ProvidedContext {
    serverUrl: string;
    /** The same server for its superuser, who makes and drops the databases. */
    adminUrl: string;
    templateName: string;
  }
}

export interface TestServer {
  readonly serverUrl: string;
  readonly adminUrl: string;
  stop(): Promise<void>;
}

export async function startTestServer(): Promise<TestServer> {
  const external = process.env['DATABASE_URL'];
  if (external) {
    const adminUrl = process.env['DATABASE_ADMIN_URL'] ?? external;
    return { serverUrl: external, adminUrl, stop: async () => undefined };
  }
  const dataDir = await mkdtemp(join(await findRoom(), 'carillon-test-'));
  // When run as root, the cluster uses another user, who must be able to enter the directory.
  // Otherwise the cluster would be put elsewhere.
  await chmod(dataDir, 0o755);
  // Without fsync: a database that is dropped otherwise waits until all files of a checkpoint are on
  // the disk, which takes seconds on a busy machine.
  const { url, adminUrl, clusterDir, stop } = await startEmbeddedPostgres({
    dataDir,
    isDisposable: true,
    log: () => undefined,
  });
  return {
    serverUrl: url,
    adminUrl,
    async stop() {
      await stop();
      await rm(clusterDir, { recursive: true, force: true });
      await rm(dataDir, { recursive: true, force: true });
    },
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
