// Where a run keeps what must not outlive it: temporary directories and processes, removed in reverse order however the run
// ends. Touches nothing that it did not make.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repository = fileURLToPath(new URL('../../', import.meta.url));

/** A failure in words for the person who runs the benchmark; it needs no stack. */
export class BenchError extends Error {
  override readonly name = 'BenchError';
}

/** Says what is under way, on standard error: standard output belongs to the result. */
export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

export class Workbench {
  readonly #closers: (() => Promise<void>)[] = [];
  #closing: Promise<void> | undefined;

  onClose(closer: () => Promise<void>): void {
    this.#closers.push(closer);
  }

  /** One that may be closed before this one, and is at the latest with it. */
  apart(): Workbench {
    const part = new Workbench();
    this.onClose(() => part.close());
    return part;
  }

  /** A directory that another user may enter: run as root, the service gives its database to one without rights. */
  async makeDirectory(purpose: string): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), `carillon-bench-${purpose}-`));
    this.onClose(() => rm(path, { recursive: true, force: true }));
    await chmod(path, 0o755);
    return path;
  }

  /** Runs everything that was asked for, the last first. Calling it again waits for the same end. */
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
  /** The end of what it wrote to its log file. */
  lastWords(): Promise<string>;
  /** Asks it to end, insists after `patienceMs`, and resolves when it is gone. */
  stop(signal: NodeJS.Signals, patienceMs?: number): Promise<void>;
}

export interface ProgramOptions {
  readonly parameters: readonly string[];
  readonly workingDir: string;
  /** All of it: nothing of the caller's own settings reaches what is measured. */
  readonly environment: Readonly<Record<string, string>>;
  /** Takes standard error, and standard output unless that is read. */
  readonly logFile: string;
  readonly readsOutput?: boolean;
}

/** Starts Node on a script, as a process of its own. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const { logFile, readsOutput = false } = options;
  const log = await open(logFile, 'a');
  const child = spawn(process.execPath, [...options.parameters], {
    cwd: options.workingDir,
    env: { ...plainEnvironment(), ...options.environment },
    stdio: ['ignore', readsOutput ? 'pipe' : log.fd, log.fd],
  });
  const { pid } = child;
  if (pid === undefined) throw new BenchError(`${options.parameters[0]} cannot be started`);
  await log.close();
  return {
    child,
    pid,
    lastWords: async () => (await readFile(logFile, 'utf8')).trim().split('\n').slice(-30).join('\n'),
    stop: (signal, patienceMs = 30_000) => stopChild(child, signal, patienceMs),
  };
}

/** Resolves when the child is gone; after `patienceMs` it is killed. */
export async function stopChild(child: ChildProcess, signal: NodeJS.Signals, patienceMs = 10_000): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  const late = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  await ended;
  clearTimeout(late);
}

/** What any program needs of its surroundings, and nothing that configures Carillon or Node. */
export function plainEnvironment(): Record<string, string> {
  const names = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'USER'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}
