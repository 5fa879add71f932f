// A copy of the running embedded database in one file: data files as they are found, and the WAL
// written meanwhile, which makes them consistent. Source: PostgreSQL documentation, "Making a Base
// Backup Using the Low Level API". No key and no other file of the data directory is included. The
// file is signed with a key derived from the master key.
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { getRow, majorVersion, openPool, type Tx } from '@carillon/postgres';
import { ifThere } from '../../ground/host/if-there.ts';
import { encrypted } from './backup-encryption.ts';
import { signed } from './backup-signature.ts';
import { kindOf } from './cluster-files.ts';
import { tarDirectory, tarEnd, tarFile } from './tar.ts';

/** The first entry of a backup, for the person or program that restores it. */
export interface BackupFacts {
  readonly format: 1;
  readonly postgres: string;
  readonly postgres_major: string;
  /** The architecture as Node names it, because data files depend on it. */
  readonly architecture: string;
  readonly made_at: string;
}

export const factsName = 'carillon-backup.json';
export const thisArchitecture = `${process.platform}-${process.arch}`;

/** Folders whose content the server creates at every start. */
const emptied = new Set([
  'pg_dynshmem',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
  'pg_wal',
]);
/** Files of the running server, and of another backup. */
const ofTheRunningServer = /^(pg_internal\.init.*|backup_(label|manifest).*|tablespace_map.*|pgsql_tmp.*|.*\.tmp)$/;

export interface BackupOptions {
  readonly url: string;
  readonly clusterDir: string;
  /** Signs the file. */
  readonly masterKey: Buffer;
  /** An age recipient to encrypt for; undefined: the file stays unencrypted. */
  readonly recipient: string | undefined;
  /** Takes the bytes, and is ended when all are written. */
  readonly target: Writable;
  /** Interrupts the copy. */
  readonly signal?: AbortSignal;
}

/**
 * Creates a backup. Rejects as soon as the target cannot be written, and leaves no connection and
 * no replication slot behind.
 */
export async function backUp(options: BackupOptions): Promise<BackupFacts> {
  const { url, clusterDir, masterKey, recipient, target, signal } = options;
  // One connection: backup and slot belong to its session and end with it.
  const sql = openPool({ url, connectionsMax: 1, name: 'carillon backup', statementTimeoutMs: 0 });
  try {
    const session = await sql.reserve();
    const facts = await readBackupFacts(session);
    await pipeline(
      entriesOf(session, clusterDir, facts),
      createGzip({ level: 1 }),
      (bytes: AsyncIterable<Buffer>) => signed(bytes, masterKey),
      (bytes: AsyncIterable<Buffer>) => (recipient === undefined ? bytes : encrypted(bytes, recipient)),
      target,
      { signal: signal ?? new AbortController().signal },
    );
    session.release();
    return facts;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function readBackupFacts(session: Tx): Promise<BackupFacts> {
  const { postgres, madeAt } = await getRow(session<{ postgres: string; madeAt: Date }[]>`
    SELECT current_setting('server_version') AS postgres, now() AS made_at`);
  return {
    format: 1,
    postgres,
    postgres_major: majorVersion(),
    architecture: thisArchitecture,
    made_at: madeAt.toISOString(),
  };
}

async function* entriesOf(session: Tx, clusterDir: string, facts: BackupFacts): AsyncGenerator<Buffer> {
  const text = Buffer.from(`${JSON.stringify(facts)}\n`);
  yield* tarFile(factsName, text.length, [text]);
  // The slot keeps the WAL from the beginning of the backup until the end of the session.
  await session`SELECT pg_create_physical_replication_slot(${`carillon_backup_${process.pid}`}, true, true)`;
  await session`SELECT pg_backup_start('carillon backup', true)`;
  yield* directoryEntries(clusterDir, '');
  const end = await getRow(session<{ label: string; lastSegment: string }[]>`
    SELECT labelfile AS label, pg_walfile_name(lsn) AS last_segment FROM pg_backup_stop(false)`);
  yield* walEntries(clusterDir, end.label, end.lastSegment);
  const label = Buffer.from(end.label);
  yield* tarFile('backup_label', label.length, [label]);
  yield tarEnd();
}

async function* directoryEntries(clusterDir: string, path: string): AsyncGenerator<Buffer> {
  const entries = await readdir(join(clusterDir, path), { withFileTypes: true });
  if (path === 'pg_tblspc' && entries.length > 0) throw new Error('a database with tablespaces is not backed up here');
  for (const entry of entries) {
    const name = path === '' ? entry.name : `${path}/${entry.name}`;
    if (ofTheRunningServer.test(entry.name) || kindOf(name) === undefined) continue;
    if (entry.isDirectory()) {
      yield tarDirectory(name);
      if (!emptied.has(name)) yield* directoryEntries(clusterDir, name);
    } else if (name === 'global/pg_control') yield* controlFile(clusterDir, name);
    else if (entry.isFile()) yield* fileEntry(clusterDir, name);
  }
}

// The file is copied with its length at opening. It may change during the copy, because the WAL
// contains the rest. A file that does not exist was dropped after the folder was read.
async function* fileEntry(clusterDir: string, name: string): AsyncGenerator<Buffer> {
  const file = await ifThere(open(join(clusterDir, name)));
  if (!file) return;
  try {
    const { size } = await file.stat();
    yield* tarFile(name, size, file.createReadStream({ autoClose: false, highWaterMark: 1024 * 1024 }));
  } finally {
    await file.close();
  }
}

// No WAL repairs this file. The server overwrites it in place, so it is read until two reads are
// equal.
async function* controlFile(clusterDir: string, name: string): AsyncGenerator<Buffer> {
  const read = (): Promise<Buffer> => readFile(join(clusterDir, name));
  let content = await read();
  for (let again = await read(); !again.equals(content); again = await read()) content = again;
  yield* tarFile(name, content.length, [content]);
}

async function* walEntries(clusterDir: string, label: string, lastSegment: string): AsyncGenerator<Buffer> {
  const [, firstSegment = ''] = /^START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)$/m.exec(label) ?? [];
  const names = (await readdir(join(clusterDir, 'pg_wal'))).filter(
    (name) => /\.history$/.test(name) || (/^[0-9A-F]{24}$/.test(name) && name >= firstSegment && name <= lastSegment),
  );
  if (firstSegment === '' || !names.includes(firstSegment) || !names.includes(lastSegment)) {
    throw new Error('the WAL of the backup is not there');
  }
  for (const name of names.sort()) yield* fileEntry(clusterDir, `pg_wal/${name}`);
}
