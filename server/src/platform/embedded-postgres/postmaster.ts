// Who serves a cluster: reads PostgreSQL's own lock file and believes it only when the server behind the socket, or the
// command line of the process, says the same. Process ids are used again, and files outlive reboots.
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { CARILLON } from './cluster.ts';
import { isAlive, readIfThere } from './unfinished.ts';

/** What `postmaster.pid` says; its lines are those of PostgreSQL's `pidfile.h`. */
export interface Postmaster {
  readonly pid: number;
  /** The first directory with a socket. */
  readonly host: string | undefined;
  readonly port: number;
  readonly tcpPort: number | undefined;
  readonly isReady: boolean;
  /** Process, directory and start: of no other server, past or present. */
  readonly identity: string;
}

/** A connection to the database `postgres` that lasts as long as the server. */
export interface Connection extends Omit<Postmaster, 'host'> {
  readonly sql: postgres.Sql;
  readonly host: string;
  /** Resolves when it ends, whoever ended it. */
  readonly lost: Promise<void>;
}

export async function readPostmaster(directory: string): Promise<Postmaster | undefined> {
  const text = await readIfThere(join(directory, 'postmaster.pid'));
  return text ? parsePostmaster(text) : undefined;
}

function parsePostmaster(text: string): Postmaster {
  const [pid, directory, startedAt, port, host, address, , status] = text.split('\n').map((line) => line.trim());
  return {
    pid: Number(pid),
    host: host || undefined,
    port: Number(port),
    tcpPort: address ? Number(port) : undefined,
    isReady: status === 'ready',
    identity: `${pid} ${directory} ${startedAt}`,
  };
}

/**
 * Connects, and makes sure that the server there is the one that wrote the file. `busy`: it is starting, recovering or
 * stopping. `silent`: nobody is there, or another cluster's server, or one that hangs. Rejects with any other word of it.
 */
export async function knock(host: string, postmaster: Postmaster): Promise<Connection | 'busy' | 'silent'> {
  let onLost = () => {};
  const lost = new Promise<void>((settle) => {
    onLost = settle;
  });
  const sql = postgres({
    host,
    port: postmaster.port,
    username: CARILLON,
    database: 'postgres',
    max: 1,
    // Locks are held on it, and the driver's habit of renewing connections would let go of them.
    max_lifetime: null,
    connect_timeout: 2,
    fetch_types: false,
    connection: { application_name: `carillon, process ${process.pid}` },
    onnotice: () => undefined,
    onclose: () => onLost(),
  });
  try {
    const [row] = await sql<{ text: string }[]>`SELECT pg_read_file('postmaster.pid') AS text`;
    const isTheSame = row && parsePostmaster(row.text).identity === postmaster.identity;
    if (isTheSame) return { ...postmaster, sql, host, lost };
    await sql.end({ timeout: 0 });
    return 'silent';
  } catch (error) {
    await sql.end({ timeout: 0 });
    if (!(error instanceof postgres.PostgresError)) return 'silent';
    if (error.code.startsWith('57P')) return 'busy';
    throw error;
  }
}

/** Whether this process is the server of this cluster: by its command line, which every user may read. */
export async function isServerOf(directory: string, pid: number): Promise<boolean> {
  const command =
    process.platform === 'linux'
      ? readFile(`/proc/${pid}/cmdline`, 'utf8').then((line) => line.replaceAll('\0', ' '))
      : promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).then(({ stdout }) => stdout);
  return (await command.catch(() => '')).includes(`/postgres -D ${directory} `);
}

/**
 * PostgreSQL itself removes the lock files of a process that is gone, but takes any process of its user for a server. After
 * a reboot, and at every start of a container, that number may be our own.
 */
export async function removeForeignLock(path: string, directory: string): Promise<void> {
  const pid = Number.parseInt((await readIfThere(path)) ?? '', 10);
  if (pid > 0 && isAlive(pid) && !(await isServerOf(directory, pid))) await rm(path, { force: true });
}
