// The cluster of a data directory on disk: its location, its owner, and its creation. Runs no
// server, and changes nothing that it refuses.
import { randomBytes } from 'node:crypto';
import { chown, link, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { findDataDirectory, makeDataDirectory } from './data-directory.ts';
import { memoryOfProcess, sharedBuffersMb } from './memory.ts';
import { owner } from './owner.ts';
import * as programs from './programs.ts';
import { makeUnfinished, moveInto, readIfThere, sweep, unless } from './unfinished.ts';

export interface Cluster {
  /**
   * The data directory, without symbolic links. Its file `database` names the cluster, relative to
   * it.
   */
  readonly dataDir: string;
  readonly directory: string;
  readonly user: programs.ProgramUser | undefined;
}

/**
 * Finds the cluster of a data directory; undefined when there is none yet. Rejects when this
 * process cannot run it.
 */
export async function findCluster(path: string): Promise<Cluster | undefined> {
  const dataDir = await findDataDirectory(path);
  if (dataDir === undefined) return undefined;
  const recorded = (await readIfThere(join(dataDir, 'database')))?.trim();
  const directory = resolve(dataDir, recorded || 'postgres');
  const holder = await stat(directory).catch(unless('ENOENT'));
  const self = process.getuid?.();
  if (holder && self !== 0 && holder.uid !== self) {
    throw new Error(
      `The database in ${directory} belongs to user ${holder.uid}: run ${owner.title} as that user or as root, or choose another folder with DATA_DIR=…`,
    );
  }
  const version = (await readIfThere(join(directory, 'PG_VERSION')))?.trim();
  if (version === undefined) {
    if (!recorded) return undefined;
    // If the database is only not mounted, an empty one in its place would look like a loss of
    // data, and soon become one.
    throw new Error(
      `${join(dataDir, 'database')} names ${directory}, where there is no database: bring it back, or remove that file to begin with an empty one.`,
    );
  }
  const ours = programs.majorVersion();
  if (version !== ours) {
    throw new Error(
      `The database in ${directory} is of PostgreSQL ${version}, and this ${owner.title} brings PostgreSQL ${ours}: start it with the release that made it.`,
    );
  }
  if (self !== 0) return { dataDir, directory, user: undefined };
  // Root runs the server as the owner of its files, because the user postgres may have been
  // installed after the files were created.
  const user = holder?.uid ? { uid: holder.uid, gid: holder.gid } : await programs.getProgramUser();
  return { dataDir, directory, user };
}

/**
 * Creates the cluster of a data directory that has none. When two processes do so at once, one
 * cluster is kept and both return it.
 */
export async function makeCluster(path: string): Promise<Cluster> {
  return fillCluster(path, initialize);
}

/** Creates an empty database in an empty directory. */
export async function initialize(
  directory: string,
  user: programs.ProgramUser | undefined,
  dataDir: string,
): Promise<void> {
  const initdb = join(await programs.findPrograms(user, dataDir), 'bin/initdb');
  await programs.runProgram(initdb, initdbParameters(directory), user);
}

type Fill = (directory: string, user: programs.ProgramUser | undefined, dataDir: string) => Promise<void>;

/**
 * Creates the cluster by `fill`, which fills an empty directory. When `fill` fails, the directory
 * is removed.
 */
export async function fillCluster(path: string, fill: Fill): Promise<Cluster> {
  const dataDir = await makeDataDirectory(path);
  const user = await programs.getProgramUser();
  const isInside = await programs.canReach(user, dataDir);
  const home = isInside ? dataDir : await programs.makeSystemDirectory();
  await sweep(dataDir);
  await sweep(home);

  const directory = join(home, isInside ? 'postgres' : randomBytes(8).toString('hex'));
  const unfinished = await makeUnfinished(directory);
  if (user) await chown(unfinished, user.uid, user.gid);
  try {
    await fill(unfinished, user, dataDir);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
  await moveInto(unfinished, directory);
  await record(dataDir, isInside ? 'postgres' : directory);

  const cluster = await findCluster(dataDir);
  if (!cluster) throw new Error(`${directory} was removed while it was made.`);
  if (cluster.directory !== directory) await rm(directory, { recursive: true });
  return cluster;
}

/**
 * Records the location of the cluster, atomically and once: a location that is already recorded
 * stays.
 */
async function record(dataDir: string, place: string): Promise<void> {
  const path = join(dataDir, 'database');
  const unfinished = await makeUnfinished(path);
  await writeFile(join(unfinished, 'database'), `${place}\n`, { flush: true });
  await link(join(unfinished, 'database'), path).catch(unless('EEXIST'));
  await rm(unfinished, { recursive: true });
}

function initdbParameters(directory: string): string[] {
  // An operator may change these settings in postgresql.conf. Settings that safety depends on are
  // on the server's command line instead.
  const defaults = [
    'max_connections=100',
    `shared_buffers=${sharedBuffersMb(memoryOfProcess())}MB`,
    'wal_level=replica',
    'max_wal_size=2GB',
    'checkpoint_timeout=15min',
    'timezone=UTC',
    'log_timezone=UTC',
    // Higher than WARNING and ERROR, because messages at those levels may quote the content of a
    // refused row.
    'log_min_messages=log',
  ];
  return [
    `--pgdata=${directory}`,
    `--username=${owner.name}`,
    // No other user can enter the socket's directory. Nothing listens on TCP.
    '--auth-local=trust',
    '--auth-host=reject',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
    ...defaults.map((setting) => `--set=${setting}`),
  ];
}
