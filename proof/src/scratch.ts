// A directory for foreign servers and the processes that use it. Both are gone when the workbench
// closes at the latest. Nothing else is touched.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Workbench } from '../../rig/src/workbench.ts';

export class Scratch {
  readonly directory: string;
  readonly #programs: Program[] = [];

  private constructor(directory: string) {
    this.directory = directory;
  }

  static async make(workbench: Workbench, purpose: string): Promise<Scratch> {
    const scratch = new Scratch(await mkdtemp(join(tmpdir(), `carillon-proof-${purpose}-`)));
    workbench.onClose(() => scratch.close());
    // A server that is started as root changes to another user, who must be able to enter the
    // directory.
    await chmod(scratch.directory, 0o755);
    return scratch;
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  /** Starts a program whose output goes into `NAME.log`. Rejects when it cannot be started. */
  async start(command: string, parameters: readonly string[], options: SpawnOptions = {}): Promise<Program> {
    const logFile = this.path(`program-${this.#programs.length}.log`);
    const log = await open(logFile, 'w');
    const stdio = ['ignore', log.fd, log.fd, ...(Array.isArray(options.stdio) ? options.stdio : [])] as const;
    const child = spawn(command, [...parameters], { cwd: this.directory, ...options, stdio: [...stdio] });
    try {
      await once(child, 'spawn');
    } finally {
      await log.close();
    }
    const program = new Program(child, logFile);
    this.#programs.push(program);
    return program;
  }

  /** May be called again. */
  async close(): Promise<void> {
    // SIGTERM and not SIGKILL at first: a server with several processes has to end them.
    for (const program of this.#programs.splice(0).reverse()) await program.stop('SIGTERM');
    await rm(this.directory, { recursive: true, force: true });
  }
}

export class Program {
  readonly child: ChildProcess;
  readonly #logFile: string;

  constructor(child: ChildProcess, logFile: string) {
    this.child = child;
    this.#logFile = logFile;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Everything that the program printed. */
  async words(): Promise<string> {
    return await readFile(this.#logFile, 'utf8');
  }

  /** Resolves when the program is gone. It is killed after `patienceMs`. */
  async stop(signal: NodeJS.Signals, patienceMs = 10_000): Promise<void> {
    if (this.hasEnded) return;
    const ended = once(this.child, 'exit');
    this.child.kill(signal);
    const late = setTimeout(() => this.child.kill('SIGKILL'), patienceMs);
    await ended;
    clearTimeout(late);
  }

  /**
   * Resolves when the port accepts connections. Rejects with the program's last words when the
   * program ends before.
   */
  async listensOn(port: number, withinMs = 20_000): Promise<void> {
    const deadline = performance.now() + withinMs;
    while (!(await accepts(port))) {
      if (this.hasEnded || performance.now() > deadline) {
        const words = (await this.words()).trim().split('\n').slice(-20).join('\n');
        throw new Error(`${this.child.spawnfile} ${this.hasEnded ? 'ended' : 'does not listen'}:\n${words}`);
      }
      await sleep(20);
    }
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => {
      // When no process listens, a connection may get this very port as its local port and then
      // reach itself.
      const isItself = socket.localPort === port;
      socket.destroy();
      resolve(!isItself);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Servers are in directories that only root's PATH contains. */
const systemDirectories = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

/** The path of the first of these programs that this machine has. */
export function findProgram(...names: readonly string[]): string | undefined {
  const directories = [...(process.env['PATH'] ?? '').split(delimiter), ...systemDirectories];
  return names
    .flatMap((name) => directories.map((directory) => join(directory, name)))
    .find((path) => existsSync(path));
}
