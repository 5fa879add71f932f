// Identifies the server of a cluster. PostgreSQL's own lock file is believed only when the server
// behind the socket, or the command line of the process, confirms it: process ids are reused, and
// files survive reboots.
import { execFile } from 'node:child_process';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { getValue } from '../answer.ts';
import { connect, isOfServer, type Reserved, type Tx } from '../db.ts';
import { owner } from './owner.ts';
import { isAlive, readIfThere } from './unfinished.ts';

/** Milliseconds. A server on the same machine answers at once, or hangs. */
const connectMs = 2000;

/** The content of `postmaster.pid`; its lines are those of PostgreSQL's `pidfile.h`. */
export interface Postmaster {
  readonly pid: number;
  /** The first directory with a socket. */
  readonly host: string | undefined;
  readonly port: number;
  readonly isReady: boolean;
  /**
   * Process, directory and start time, which identify this server among all others, past or
   * present.
   */
  readonly identity: string;
}

/** A connection to the database `postgres` that lasts as long as the server. */
export interface Connection extends Omit<Postmaster, 'host'> {
  readonly sql: Tx;
  readonly host: string;
  /** Resolves when the connection is closed, whichever side ended it. */
  readonly lost: Promise<unknown>;
  /** Resolves when the connection is closed. */
  end(): Promise<unknown>;
}

export async function readPostmaster(directory: string): Promise<Postmaster | undefined> {
  const text = await readIfThere(join(directory, 'postmaster.pid'));
  return text ? parsePostmaster(text) : undefined;
}

function parsePostmaster(text: string): Postmaster {
  const [pid, directory, startedAt, port, host, , , status] = text.split('\n').map((line) => line.trim());
  return {
    pid: Number(pid),
    host: host || undefined,
    port: Number(port),
    isReady: status === 'ready',
    identity: `${pid} ${directory} ${startedAt}`,
  };
}

/**
 * Connects, and verifies that the server is the one that wrote the file. `busy`: the server is
 * starting, recovering or stopping. `silent`: no server, another cluster's server, or one that
 * hangs. Rejects with any other error of the server.
 */
export async function knock(host: string, postmaster: Postmaster): Promise<Connection | 'busy' | 'silent'> {
  const url = `postgres://${owner.name}@localhost:${postmaster.port}/postgres?host=${encodeURIComponent(host)}`;
  let sql: Reserved | undefined;
  try {
    sql = await connect({ url, name: `${owner.name}, process ${process.pid}`, statementTimeoutMs: 0, connectMs });
    const { whenLost: lost, release } = sql;
    const end = (): Promise<unknown> => {
      release();
      return lost;
    };
    const text = await getValue<string>(sql`SELECT pg_read_file('postmaster.pid')`);
    if (parsePostmaster(text).identity === postmaster.identity) return { ...postmaster, sql, host, lost, end };
    await end();
    return 'silent';
  } catch (error) {
    sql?.release();
    if (!isOfServer(error)) return 'silent';
    if (error.code.startsWith('57P')) return 'busy';
    throw error;
  }
}

/**
 * Returns whether this process is the server of this cluster, by its command line, which every user
 * may read.
 */
export async function isServerOf(directory: string, pid: number): Promise<boolean> {
  const command =
    process.platform === 'linux'
      ? readFile(`/proc/${pid}/cmdline`, 'utf8').then((line) => line.replaceAll('\0', ' '))
      : promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).then(({ stdout }) => stdout);
  return (await command.catch(() => '')).includes(`/postgres -D ${directory} `);
}

/**
 * Milliseconds after which an empty lock file is the remnant of a crash (a guess). A server that
 * starts writes into its file at once.
 */
const emptyForMs = 5_000;

/**
 * Removes a lock file that would stop PostgreSQL although no server has it. PostgreSQL itself
 * removes the lock files of a dead process, but takes any process of its user for a server. After a
 * reboot, and at every start of a container, the id may be our own. An empty lock file also stops
 * PostgreSQL. It is left by a crash between the creation of the file and its first write.
 */
export async function removeForeignLock(path: string, directory: string): Promise<void> {
  const text = await readIfThere(path);
  if (text === undefined) return;
  const pid = Number.parseInt(text, 10);
  const isForeign =
    text === '' ? await isOlderThan(path, emptyForMs) : pid > 0 && isAlive(pid) && !(await isServerOf(directory, pid));
  if (isForeign) await rm(path, { force: true });
}

async function isOlderThan(path: string, ms: number): Promise<boolean> {
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
  return Date.now() - mtimeMs > ms;
}
