// Makes a database of a backup, in a data directory that has none. What cannot be opened here is refused before anything is
// touched; what fails on the way leaves nothing behind.
import { createReadStream } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { type BackupFacts, factsName, thisArchitecture } from './backup.ts';
import { type Cluster, fillCluster } from './cluster.ts';
import { majorVersion, runProgram } from './programs.ts';
import { readTar, type TarEntry } from './tar.ts';
import { unless } from './unfinished.ts';

/** Of a data directory, a database's neighbours that a restore leaves as they are. */
const mayBeThere = new Set(['master.key']);

export class RestoreError extends Error {
  override readonly name = 'RestoreError';
}

/** Restores, and returns where. Throws `RestoreError` in words for an operator. */
export async function restoreCluster(file: string, dataDir: string): Promise<{ cluster: Cluster; facts: BackupFacts }> {
  const entries = readTar(decompressed(file));
  const facts = await readFacts(file, entries);
  await refuseUnlessEmpty(dataDir);
  const cluster = await fillCluster(dataDir, async (directory, user) => {
    for await (const entry of entries) await putEntry(directory, entry);
    if (user) await runProgram('chown', ['-R', `${user.uid}:${user.gid}`, directory], undefined);
  }).catch(asRestoreError(file));
  return { cluster, facts };
}

async function* decompressed(file: string): AsyncGenerator<Buffer> {
  const source = createReadStream(file, { highWaterMark: 1024 * 1024 });
  const gunzip = createGunzip();
  source.on('error', (error) => gunzip.destroy(error));
  yield* source.pipe(gunzip) as AsyncIterable<Buffer>;
}

async function readFacts(file: string, entries: AsyncGenerator<TarEntry>): Promise<BackupFacts> {
  const { value: first } = await entries.next().catch(asRestoreError(file));
  if (first?.name !== factsName) throw new RestoreError(`${file} is no backup of Carillon`);
  const text: Buffer[] = [];
  for await (const chunk of first.content) text.push(chunk);
  const facts = JSON.parse(Buffer.concat(text).toString()) as BackupFacts;
  if (facts.format !== 1) throw new RestoreError(`${file} was made by a newer Carillon: restore it with that one`);
  if (facts.postgres_major !== majorVersion()) {
    throw new RestoreError(
      `${file} is of PostgreSQL ${facts.postgres_major}, and this Carillon brings PostgreSQL ${majorVersion()}: restore it with the release that made it`,
    );
  }
  if (facts.architecture !== thisArchitecture) {
    throw new RestoreError(
      `${file} was made on ${facts.architecture}, and this is ${thisArchitecture}: data files cannot be read here`,
    );
  }
  return facts;
}

async function refuseUnlessEmpty(dataDir: string): Promise<void> {
  const names = (await readdir(dataDir).catch(unless('ENOENT'))) ?? [];
  const strangers = names.filter((name) => !mayBeThere.has(name));
  if (strangers.length === 0) return;
  throw new RestoreError(
    `${dataDir} is not empty (${strangers.slice(0, 3).join(', ')}): restore into a DATA_DIR of its own, with nothing in it but a master.key`,
  );
}

async function putEntry(directory: string, entry: TarEntry): Promise<void> {
  // Names of ours have none of it; a file that was altered shall not reach out of the directory.
  if (!/^[\w.-]+(\/[\w.-]+)*$/.test(entry.name) || entry.name.split('/').includes('..')) {
    throw new Error(`it names the path ${entry.name}`);
  }
  const path = join(directory, entry.name);
  if (entry.isDirectory) await mkdir(path, { mode: 0o700, recursive: true });
  else await writeFile(path, entry.content, { mode: 0o600, flag: 'wx' });
}

/** Takes back what `restoreCluster` has made. */
export async function undoRestore(dataDir: string, cluster: Cluster): Promise<void> {
  await rm(cluster.directory, { recursive: true, force: true });
  await rm(join(dataDir, 'database'), { force: true });
}

function asRestoreError(file: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof RestoreError) throw error;
    throw new RestoreError(`${file} cannot be restored: ${(error as Error).message}`, { cause: error });
  };
}
