// Keeps what must not outlive a run: temporary directories and processes. They are removed in
// reverse order, however the run ends. Nothing else is touched.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repository = fileURLToPath(new URL('../../', import.meta.url));

/** A failure that its message explains to the person who started the run; no stack is needed. */
export class RunError extends Error {
  override readonly name = 'RunError';
}

/** A program that is not installed; the message says how to install it. */
export class MissingProgramError extends RunError {}

/** Prints progress to standard error, because standard output belongs to the result. */
export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

export class Workbench {
  readonly #closers: (() => Promise<void>)[] = [];
  #closing: Promise<void> | undefined;

  onClose(closer: () => Promise<void>): void {
    this.#closers.push(closer);
  }

  /** True from the beginning of `close`: nothing is to be started any more. */
  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  /** A workbench that may be closed before this one, and that this one closes at the latest. */
  apart(): Workbench {
    const part = new Workbench();
    this.onClose(() => part.close());
    return part;
  }

  /**
   * A directory that other users may enter: when run as root, the service gives its database to a
   * user without rights.
   */
  async makeDirectory(purpose: string): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), `carillon-rig-${purpose}-`));
    this.onClose(() => rm(path, { recursive: true, force: true }));
    await chmod(path, 0o755);
    return path;
  }

  /** Runs all registered closers, the last first. A second call waits for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    for (let closer = this.#closers.pop(); closer; closer = this.#closers.pop()) {
      await closer().catch((error: unknown) => progress(`clean-up: ${String(error)}`));
    }
  }
}

export interface Program {
  readonly child: ChildProcess;
  readonly pid: number;
  /** The end of the program's log file. */
  lastWords(): Promise<string>;
  /** Sends the signal, kills after `patienceMs`, and resolves when the program is gone. */
  stop(signal: NodeJS.Signals, patienceMs?: number): Promise<void>;
}

export interface ProgramOptions {
  readonly parameters: readonly string[];
  readonly workingDir: string;
  /** The whole environment: none of the caller's own settings reaches the measured program. */
  readonly environment: Readonly<Record<string, string>>;
  /** Receives standard error, and standard output unless `readsOutput` is set. */
  readonly logFile: string;
  readonly readsOutput?: boolean;
}

/** Starts Node on a script as a process of its own. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const { logFile, readsOutput = false } = options;
  const log = await open(logFile, 'a');
  const child = spawn(process.execPath, [...options.parameters], {
    cwd: options.workingDir,
    env: { ...plainEnvironment(), ...options.environment },
    stdio: ['ignore', readsOutput ? 'pipe' : log.fd, log.fd],
  });
  const { pid } = child;
  if (pid === undefined) throw new RunError(`${options.parameters[0]} cannot be started`);
  await log.close();
  return {
    child,
    pid,
    lastWords: async () => (await readFile(logFile, 'utf8')).trim().split('\n').slice(-30).join('\n'),
    stop: (signal, patienceMs = 30_000) => stopChild(child, signal, patienceMs),
  };
}

/** Resolves when the child is gone. The child is killed after `patienceMs`. */
export async function stopChild(child: ChildProcess, signal: NodeJS.Signals, patienceMs = 10_000): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  const late = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  await ended;
  clearTimeout(late);
}

/** The variables that any program needs, and none that configure Carillon or Node. */
export function plainEnvironment(): Record<string, string> {
  const names = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'USER'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
