// A copy of the embedded database while it runs, in one file: data files as they are found, and the WAL that was written
// meanwhile, which makes them agree (PostgreSQL documentation, "Making a Base Backup Using the Low Level API"). No key and no
// other file of the data directory goes in.
import { createWriteStream } from 'node:fs';
import { link, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { openPool } from '../db.ts';
import { majorVersion } from './programs.ts';
import { TarWriter } from './tar.ts';

/** What stands first in a backup, for whoever is to restore it. */
export interface BackupFacts {
  readonly format: 1;
  readonly postgres: string;
  readonly postgres_major: string;
  /** Data files are those of a machine: as Node names them. */
  readonly architecture: string;
  readonly made_at: string;
}

export const factsName = 'carillon-backup.json';
export const thisArchitecture = `${process.platform}-${process.arch}`;

/** Folders whose content the server makes anew. */
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
const left =
  /^(postmaster\.(pid|opts)|pg_internal\.init.*|backup_(label|manifest).*|tablespace_map.*|current_logfiles.*|\.s\.PGSQL\..*|pgsql_tmp.*|.*\.tmp)$/;

export interface BackupOptions {
  readonly url: string;
  readonly clusterDir: string;
  /** Must not be there yet; is there when all of it is. */
  readonly file: string;
}

/** Backs up. Leaves nothing behind where it fails. */
export async function backUp({ url, clusterDir, file }: BackupOptions): Promise<BackupFacts & { bytes: number }> {
  const unfinished = `${file}.unfinished-${process.pid}`;
  // One connection: backup and slot belong to its session, and end with it.
  const sql = openPool({ url, connectionsMax: 1, name: 'carillon backup', statementTimeoutMs: 0 });
  try {
    const session = await sql.reserve();
    const gzip = createGzip({ level: 1 });
    const written = pipeline(gzip, createWriteStream(unfinished, { mode: 0o600, flags: 'wx', flush: true }));
    // Told below, where it is waited for.
    written.catch(() => undefined);
    const tar = new TarWriter(gzip);
    const [row] = await session<{ postgres: string; madeAt: Date }[]>`
      SELECT current_setting('server_version') AS postgres, now() AS made_at`;
    const facts: BackupFacts = {
      format: 1,
      postgres: row?.postgres ?? '',
      postgres_major: majorVersion(),
      architecture: thisArchitecture,
      made_at: row?.madeAt.toISOString() ?? '',
    };
    const text = Buffer.from(`${JSON.stringify(facts)}\n`);
    await tar.addFile(factsName, text.length, [text]);
    // The slot keeps the WAL from its beginning until the end of the session.
    await session`SELECT pg_create_physical_replication_slot(${`carillon_backup_${process.pid}`}, true, true)`;
    await session`SELECT pg_backup_start('carillon backup', true)`;
    await addDirectory(tar, clusterDir, '');
    const [end] = await session<{ label: string; lastSegment: string }[]>`
      SELECT labelfile AS label, pg_walfile_name(lsn) AS last_segment FROM pg_backup_stop(false)`;
    if (!end) throw new Error('the database did not end the backup');
    await addWal(tar, clusterDir, end.label, end.lastSegment);
    const label = Buffer.from(end.label);
    await tar.addFile('backup_label', label.length, [label]);
    await tar.end();
    gzip.end();
    await written;
    session.release();
    await link(unfinished, file);
    return { ...facts, bytes: (await stat(file)).size };
  } finally {
    await sql.end({ timeout: 1 });
    await rm(unfinished, { force: true });
  }
}

async function addDirectory(tar: TarWriter, clusterDir: string, path: string): Promise<void> {
  const entries = await readdir(join(clusterDir, path), { withFileTypes: true });
  if (path === 'pg_tblspc' && entries.length > 0) throw new Error('a database with tablespaces is not backed up here');
  for (const entry of entries) {
    const name = path === '' ? entry.name : `${path}/${entry.name}`;
    if (left.test(entry.name)) continue;
    if (entry.isDirectory()) {
      await tar.addDirectory(name);
      if (!emptied.has(name)) await addDirectory(tar, clusterDir, name);
    } else if (name === 'global/pg_control') await addControlFile(tar, clusterDir, name);
    else if (entry.isFile()) await addFile(tar, clusterDir, name);
  }
}

// As long as it is when it is opened. It may grow, shrink or be written to meanwhile: the WAL has the rest. One that is gone was
// dropped since the folder was read.
async function addFile(tar: TarWriter, clusterDir: string, name: string): Promise<void> {
  const file = await open(join(clusterDir, name)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!file) return;
  try {
    const { size } = await file.stat();
    await tar.addFile(name, size, file.createReadStream({ autoClose: false, highWaterMark: 1024 * 1024 }));
  } finally {
    await file.close();
  }
}

// The one file that no WAL makes whole again: written in place, and read here until it stands still.
async function addControlFile(tar: TarWriter, clusterDir: string, name: string): Promise<void> {
  const read = (): Promise<Buffer> => readFile(join(clusterDir, name));
  let content = await read();
  for (let again = await read(); !again.equals(content); again = await read()) content = again;
  await tar.addFile(name, content.length, [content]);
}

async function addWal(tar: TarWriter, clusterDir: string, label: string, lastSegment: string): Promise<void> {
  const [, firstSegment = ''] = /^START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)$/m.exec(label) ?? [];
  const names = (await readdir(join(clusterDir, 'pg_wal'))).filter(
    (name) => /\.history$/.test(name) || (/^[0-9A-F]{24}$/.test(name) && name >= firstSegment && name <= lastSegment),
  );
  if (firstSegment === '' || !names.includes(firstSegment) || !names.includes(lastSegment)) {
    throw new Error('the WAL of the backup is not there');
  }
  for (const name of names.sort()) await addFile(tar, clusterDir, `pg_wal/${name}`);
}
