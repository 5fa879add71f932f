// Restores a backup into a data directory without a database. A file that was altered, or that this
// machine cannot use, is refused before anything is unpacked. A failure leaves nothing behind.
import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { type Cluster, fillCluster, initialize, majorVersion, runProgram } from '@carillon/postgres';
import { ifThere } from '../../ground/host/if-there.ts';
import { masterKeyId } from '../../ground/secrets/seal.ts';
import { formerFormsEndMs } from '../../ground/secrets/signed-text.ts';
import { type BackupFacts, factsName, thisArchitecture } from './backup.ts';
import { decrypted, isEncrypted } from './backup-encryption.ts';
import { judgeSignature } from './backup-signature.ts';
import { configurationFiles, kindOf } from './cluster-files.ts';
import { readTar, type TarEntry } from './tar.ts';

/** Files of a data directory that a restore does not touch. */
const mayBeThere = new Set(['master.key']);

export class RestoreError extends Error {
  override readonly name = 'RestoreError';
}

export interface RestoreOptions {
  /** One of these keys made the signature. May be empty. */
  readonly masterKeys: readonly Buffer[];
  /** Opens an encrypted file. */
  readonly identityFile: string | undefined;
  /**
   * Accepts a file without a signature, or without a key to check it with. An altered file is
   * refused in any case.
   */
  readonly acceptsUnsigned: boolean;
}

export interface Restored {
  readonly cluster: Cluster;
  readonly facts: BackupFacts;
  /** Whether the signature was checked and is valid. */
  readonly isSigned: boolean;
}

/**
 * Restores a backup and returns its cluster. Throws `RestoreError` with a sentence for an operator.
 */
export async function restoreCluster(file: string, dataDir: string, options: RestoreOptions): Promise<Restored> {
  await refuseUnlessEmpty(dataDir);
  const bytes = await findBytes(file, options.identityFile).catch(asRestoreError(file));
  const isSigned = await checkSignature(file, bytes, options).catch(asRestoreError(file));
  const entries = readTar(decompressed(bytes()));
  const facts = await readFacts(file, entries);
  const cluster = await fillCluster(dataDir, async (directory, user, home) => {
    const configuration = await makeConfiguration(() => initialize(directory, user, home), directory);
    for await (const entry of entries) await putEntry(directory, entry);
    for (const [name, content] of configuration) await writeFile(join(directory, name), content, { mode: 0o600 });
    // Checked again, because the file may have been changed after its first reading.
    if (isSigned) await checkSignature(file, bytes, options);
    if (user) await runProgram('chown', ['-R', `${user.uid}:${user.gid}`, directory], undefined);
  }).catch(asRestoreError(file));
  return { cluster, facts, isSigned };
}

/** Returns a function that reads the file's bytes as they were signed, as often as needed. */
async function findBytes(file: string, identityFile: string | undefined): Promise<() => AsyncIterable<Buffer>> {
  if (!(await isEncrypted(file))) return () => createReadStream(file, { highWaterMark: 1024 * 1024 });
  if (identityFile === undefined) {
    throw new RestoreError(`${file} is encrypted: say --identity FILE, with the age identity that opens it`);
  }
  return () => decrypted(file, identityFile);
}

async function checkSignature(
  file: string,
  bytes: () => AsyncIterable<Buffer>,
  { masterKeys, acceptsUnsigned }: RestoreOptions,
): Promise<boolean> {
  const verdict = await judgeSignature(bytes(), masterKeys, Date.now());
  switch (verdict.is) {
    case 'signed':
      return true;
    case 'altered':
      throw new RestoreError(`${file} was altered after it was made: its signature does not fit. Nothing was restored`);
    case 'ended':
      throw new RestoreError(
        `${file} is signed in a form that counted until ${new Date(formerFormsEndMs).toISOString().slice(0, 10)}: restore it with the release that made it`,
      );
    case 'unsigned':
      if (acceptsUnsigned) return false;
      throw new RestoreError(
        `${file} has no signature: an earlier Carillon made it, or somebody altered it. If you are sure of the file, say --accept-unsigned`,
      );
    case 'unknown-key': {
      if (masterKeys.length === 0 && acceptsUnsigned) return false;
      const needed = `${file} was signed with master key ${verdict.keyId}`;
      const [first] = masterKeys;
      throw new RestoreError(
        first === undefined
          ? `${needed}, which checks that nobody altered it: put that key into DATA_DIR/master.key or set MASTER_KEY, or say --accept-unsigned if you are sure of the file`
          : `${needed}, and the key given here is ${masterKeyId(first)}: put the key of that time into DATA_DIR/master.key, or set MASTER_KEY`,
      );
    }
  }
}

// The server's default configuration. The backup's settings could name programs that the server
// would run.
async function makeConfiguration(make: () => Promise<void>, directory: string): Promise<Map<string, Buffer>> {
  await make();
  const configuration = new Map<string, Buffer>();
  for (const name of configurationFiles) configuration.set(name, await readFile(join(directory, name)));
  for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true });
  return configuration;
}

async function* decompressed(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  const source = Readable.from(bytes);
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
  const names = (await ifThere(readdir(dataDir))) ?? [];
  const strangers = names.filter((name) => !mayBeThere.has(name));
  if (strangers.length === 0) return;
  throw new RestoreError(
    `${dataDir} is not empty (${strangers.slice(0, 3).join(', ')}): restore into a DATA_DIR of its own, with nothing in it but a master.key`,
  );
}

async function putEntry(directory: string, entry: TarEntry): Promise<void> {
  // Our own entries have no such paths. An altered file must not write outside of the directory.
  if (!/^[\w.-]+(\/[\w.-]+)*$/.test(entry.name) || entry.name.split('/').includes('..')) {
    throw new Error(`it names the path ${entry.name}`);
  }
  const kind = kindOf(entry.name);
  if (kind === 'configuration') return;
  if (kind === undefined) throw new Error(`it holds ${entry.name}, which is no data file of PostgreSQL`);
  const path = join(directory, entry.name);
  if (entry.isDirectory) await mkdir(path, { mode: 0o700, recursive: true });
  else await writeFile(path, entry.content, { mode: 0o600, flag: 'wx' });
}

/** Removes everything that `restoreCluster`, and a start after it, has created. */
export async function undoRestore(dataDir: string, cluster: Cluster): Promise<void> {
  await rm(cluster.directory, { recursive: true, force: true });
  for (const name of await readdir(dataDir)) {
    if (!mayBeThere.has(name)) await rm(join(dataDir, name), { recursive: true, force: true });
  }
}

function asRestoreError(file: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof RestoreError) throw error;
    throw new RestoreError(`${file} cannot be restored: ${(error as Error).message}`, { cause: error });
  };
}
