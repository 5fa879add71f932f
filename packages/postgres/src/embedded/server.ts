// The server of an embedded cluster: connects to a running one, starts one, stops it. Knows nothing
// about its users.
import { spawn } from 'node:child_process';
import { chmod, open, readFile, rm, rmdir, stat, symlink } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeAccess } from './access.ts';
import type { Cluster } from './cluster.ts';
import { owner } from './owner.ts';
import {
  type Connection,
  isServerOf,
  knock,
  type Postmaster,
  readPostmaster,
  removeForeignLock,
} from './postmaster.ts';
import { findPrograms, runAs, runProgram } from './programs.ts';
import { warnOfNeighbours } from './shared-user.ts';
import {
  claimDirectory,
  claimSocketDirectory,
  fitsSocket,
  isPrivate,
  isSocketDirectory,
  linkName,
} from './socket-directory.ts';
import { unless } from './unfinished.ts';

/** The number in the name of the socket's file. Nothing listens on TCP. */
const port = 5432;

/** Milliseconds without an answer after which a server counts as hung. */
const silenceMs = 6_000;

/**
 * Milliseconds for which a start waits for others to make way. Another start writes its lock file
 * soon. The children of a killed server hold shared memory until their statements end.
 */
const occupiedMsMax = 20_000;
/**
 * PostgreSQL's messages in three cases. Another start was faster, and may not have written its lock
 * file yet. Processes of a killed server are still ending. A stop removed the still empty directory
 * of the socket, which the next try makes again.
 */
const occupied = /already exists|is empty|still in use|lock file "[^"]*\.s\.PGSQL\.\d+\.lock": No such file/;

const logBytesMax = 10_000_000;

/**
 * SIGINT is a fast shutdown. SIGQUIT is an immediate one: the next start recovers from the WAL, and
 * nothing is lost.
 */
const inOrder = [
  { signal: 'SIGINT', patienceMs: 60_000 },
  { signal: 'SIGQUIT', patienceMs: 2_000 },
  { signal: 'SIGKILL', patienceMs: 5_000 },
] as const;
const atOnce = inOrder.slice(1);

interface Child {
  readonly pid: number | undefined;
  readonly hasEnded: boolean;
  lastWords(): Promise<string>;
}

export interface EmbeddedServerOptions {
  /** Connections at least; `postgresql.conf` may allow more. */
  readonly connections?: number | undefined;
  /** A crash of the machine may lose the cluster. */
  readonly isDisposable?: boolean | undefined;
}

export class EmbeddedServer {
  readonly #cluster: Cluster;
  readonly #log: (line: string) => void;
  readonly #connections: number | undefined;
  readonly #durability: 'on' | 'off';
  /** The private directory of the socket, once it is known. */
  #socketDirectory: string | undefined;

  constructor(cluster: Cluster, log: (line: string) => void, options: EmbeddedServerOptions = {}) {
    this.#cluster = cluster;
    this.#log = log;
    this.#connections = options.connections;
    this.#durability = options.isDisposable ? 'off' : 'on';
  }

  /**
   * Connects to the server, and starts one when none runs. Rejects with PostgreSQL's own message
   * when it does not start.
   */
  async start(): Promise<Connection> {
    const { directory } = this.#cluster;
    const startedAt = performance.now();
    let heardAt = startedAt;
    let child: Child | undefined;
    for (;;) {
      const postmaster = await readPostmaster(directory);
      // Our own child's file says when it is ready. Any other server is asked, because the file of
      // a killed one says "ready" forever.
      const answer =
        postmaster && (postmaster.pid !== child?.pid || postmaster.isReady) && (await this.#ask(postmaster));
      if (typeof answer === 'object') {
        const how = child ? `started in ${Math.round(performance.now() - startedAt)} ms` : 'was running already';
        this.#log(`PostgreSQL ${how}; the database lies in ${directory}`);
        return answer;
      }
      if (answer === 'busy' || (child && !child.hasEnded)) {
        heardAt = performance.now();
        await sleep(answer === 'busy' ? 20 : 5);
      } else if (child) {
        // Any other message is for the operator.
        const words = await child.lastWords();
        const isOccupied = occupied.test(words) && performance.now() - startedAt < occupiedMsMax;
        if (!isOccupied) throw new Error(`PostgreSQL does not start on ${directory}: ${words}`);
        child = undefined;
        await sleep(200);
      } else if (postmaster && (await isServerOf(directory, postmaster.pid))) {
        if (performance.now() - heardAt > silenceMs) {
          this.#log(`PostgreSQL (process ${postmaster.pid}) does not answer: it is stopped and started again`);
          await this.stop(atOnce);
          heardAt = performance.now();
        }
        await sleep(20);
      } else {
        child = await this.#spawn();
      }
    }
  }

  /** Connects to the server if one runs. */
  async find(): Promise<Connection | undefined> {
    for (;;) {
      const postmaster = await readPostmaster(this.#cluster.directory);
      const answer = postmaster && (await this.#ask(postmaster));
      if (answer !== 'busy') return answer === 'silent' ? undefined : answer;
      await sleep(20);
    }
  }

  /** Stops the server and resolves when its process is gone. */
  async stop(signals: readonly (typeof inOrder)[number][] = inOrder): Promise<void> {
    const { directory } = this.#cluster;
    const pid = (await readPostmaster(directory))?.pid;
    for (const { signal, patienceMs } of signals) {
      if (pid === undefined || !(await isServerOf(directory, pid))) break;
      process.kill(pid, signal);
      const until = performance.now() + patienceMs;
      while (performance.now() < until && (await isServerOf(directory, pid))) await sleep(5);
    }
    // Only our own link is removed, and the directory only if it is empty then.
    if (this.#socketDirectory) {
      await rm(join(this.#socketDirectory, linkName), { force: true });
      await rmdir(this.#socketDirectory).catch(unless('ENOENT', 'ENOTEMPTY', 'EEXIST'));
    }
  }

  /**
   * Asks the server for a connection. It listens in two places: in the directory that its file
   * names, and in the cluster. Another container, or a shell beside a service with a private
   * temporary folder (systemd's PrivateTmp), can reach only the second. Without the second place
   * they would take a running server for a dead one.
   */
  async #ask(postmaster: Postmaster): Promise<Connection | 'busy' | 'silent'> {
    const { user } = this.#cluster;
    if (postmaster.host && isAbsolute(postmaster.host) && (await isPrivate(postmaster.host, user))) {
      const answer = await knock(postmaster.host, postmaster);
      // A server that was started by hand may listen in another user's directory.
      if (typeof answer === 'object' && isSocketDirectory(postmaster.host)) this.#socketDirectory = postmaster.host;
      if (answer !== 'silent') return answer;
    }
    const inCluster = await this.#clusterSocketDirectory();
    return inCluster === undefined ? 'silent' : knock(inCluster, postmaster);
  }

  async #clusterSocketDirectory(): Promise<string | undefined> {
    const { directory } = this.#cluster;
    if (fitsSocket(directory)) return directory;
    const home = await this.#claimSocketDirectory();
    if (home === undefined) return undefined;
    const link = join(home, linkName);
    await symlink(directory, link).catch(unless('EEXIST'));
    return link;
  }

  async #claimSocketDirectory(): Promise<string | undefined> {
    // Claimed again at every start, because temporary folders are emptied. The same directory is
    // kept, because its name was given to users.
    this.#socketDirectory = this.#socketDirectory
      ? await claimDirectory(this.#socketDirectory, this.#cluster.user)
      : await claimSocketDirectory(this.#cluster);
    return this.#socketDirectory;
  }

  /** Raises the number of connections, unless the operator's configuration has more. */
  async #roomFor(programs: string): Promise<{ max_connections?: number }> {
    const { directory, user } = this.#cluster;
    if (this.#connections === undefined) return {};
    const configured = await runProgram(
      join(programs, 'bin/postgres'),
      ['-D', directory, '-C', 'max_connections'],
      user,
    );
    return Number(configured) >= this.#connections ? {} : { max_connections: this.#connections };
  }

  async #spawn(): Promise<Child> {
    const { dataDir, directory, user } = this.#cluster;
    const programs = await findPrograms(user, dataDir);
    // Files that root copied or restored belong to root, and PostgreSQL requires that they belong
    // to its own user.
    if (user && (await stat(directory)).uid === 0) {
      await runProgram('chown', ['-R', `${user.uid}:${user.gid}`, directory], undefined);
    }
    await chmod(directory, 0o700);
    const sockets = await this.#claimSocketDirectory();
    if (sockets === undefined && !fitsSocket(directory)) {
      throw new Error(
        `The path ${directory} is too long for a socket, and no temporary folder can be used: set TMPDIR.`,
      );
    }
    for (const path of [directory, ...(sockets ? [sockets] : [])]) {
      await removeForeignLock(join(path, `.s.PGSQL.${port}.lock`), directory);
    }
    await removeForeignLock(join(directory, 'postmaster.pid'), directory);

    const settings = {
      fsync: this.#durability,
      full_page_writes: this.#durability,
      port,
      listen_addresses: '',
      unix_socket_directories: sockets ? `"${sockets.replaceAll('"', '""')}", .` : '.',
      unix_socket_permissions: '0700',
      ...(await this.#roomFor(programs)),
    };
    const parameters = [
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ...(await writeAccess(directory, [owner.name, owner.serviceRole], user)),
    ];
    const warning = await warnOfNeighbours(user, directory);
    if (warning) this.#log(warning);
    return launch(
      join(programs, 'bin/postgres'),
      ['-D', directory, ...parameters],
      user,
      join(dataDir, 'postgres.log'),
    );
  }
}

/**
 * Starts the program detached, because Ctrl-C goes to our process group and the service must drain
 * before its database stops. The output goes to a file, because a pipe would end with this process.
 */
async function launch(program: string, parameters: string[], user: Cluster['user'], logPath: string): Promise<Child> {
  const output = await open(logPath, 'a', 0o600);
  if ((await output.stat()).size > logBytesMax) await output.truncate();
  const { size } = await output.stat();
  const child = spawn(program, parameters, {
    ...runAs(user),
    detached: true,
    stdio: ['ignore', output.fd, output.fd],
  });
  child.unref();
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  await output.close();
  return {
    pid: child.pid,
    get hasEnded() {
      return failure !== undefined || child.exitCode !== null || child.signalCode !== null;
    },
    async lastWords() {
      const text = (await readFile(logPath)).subarray(size).toString().trim();
      return failure?.message ?? (text || `it ended with ${child.signalCode ?? child.exitCode}`);
    },
  };
}
