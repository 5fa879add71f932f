// One run of the browser tests: its directory, the mark on its processes, and its reaper. Each run
// has its own ports, profiles, bus and database; nothing of it outlives it.

import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdtempSync, openSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withDeadline } from './deadline.ts';
import { listMarkedProcesses, type MarkedProcess, markEnvironment } from './marked-processes.ts';

const outputSuffix = '-output.txt';
const inheritedNames = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TMPDIR', 'TZ', 'USER', 'LOGNAME'] as const;

export class Run {
  readonly dir: string;
  readonly #reaper: ChildProcess;
  #profiles = 0;

  private constructor() {
    this.dir = mkdtempSync(join(tmpdir(), 'carillon-e2e-'));
    // When run as root, the database uses another user, who must be able to enter this directory.
    chmodSync(this.dir, 0o755);
    this.#reaper = fork(fileURLToPath(new URL('reaper.ts', import.meta.url)), {
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
  }

  static async open(): Promise<Run> {
    const run = new Run();
    const ready = once(run.#reaper, 'message');
    run.#reaper.send(run.dir);
    await withDeadline('the reaper to be ready', 20_000, ready);
    // From here on the channel must not keep the run alive.
    run.#reaper.unref();
    run.#reaper.channel?.unref();
    return run;
  }

  /**
   * The environment of everything this run starts. It inherits only what programs need to be found
   * and to run. The machine's display, session bus and database must not be used.
   */
  environment(more: Record<string, string> = {}): Record<string, string> {
    const inherited: Record<string, string> = {};
    for (const name of inheritedNames) {
      const value = process.env[name];
      if (value !== undefined) inherited[name] = value;
    }
    return { ...inherited, ...markEnvironment(this.dir), ...more };
  }

  /** A path for a profile or a data directory that nothing else in this run uses. */
  newPath(name: string): string {
    this.#profiles += 1;
    return join(this.dir, `${this.#profiles}-${name}`);
  }

  start(command: string, args: readonly string[], more: Record<string, string> = {}): StartedProcess {
    return new StartedProcess(
      command,
      args,
      { env: this.environment(more), cwd: this.dir },
      this.newPath(`${basename(command)}${outputSuffix}`),
    );
  }

  /** Copies the output of this run's programs so far. */
  saveOutputs(dir: string): void {
    for (const name of readdirSync(this.dir).filter((entry) => entry.endsWith(outputSuffix))) {
      copyFileSync(join(this.dir, name), join(dir, name));
    }
  }

  /** Processes that this run started and that have not ended. */
  listProcesses(): MarkedProcess[] {
    return listMarkedProcesses(this.dir);
  }

  /** Ends everything that is left and deletes the directory. */
  async close(): Promise<void> {
    if (!this.#reaper.connected) return;
    this.#reaper.ref();
    const exited = once(this.#reaper, 'exit');
    this.#reaper.disconnect();
    await withDeadline('the reaper to finish', 30_000, exited);
  }
}

interface ProcessPlace {
  env: Record<string, string>;
  cwd: string;
}

/** A program that the run started, in a process group of its own, with its output in a file. */
export class StartedProcess {
  readonly outputPath: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  constructor(command: string, args: readonly string[], where: ProcessPlace, outputPath: string) {
    this.outputPath = outputPath;
    const output = openSync(outputPath, 'w');
    this.#child = spawn(command, args, { ...where, detached: true, stdio: ['ignore', output, output] });
    this.#exited = new Promise((resolve) => {
      this.#child.once('exit', resolve);
      this.#child.once('error', resolve);
    });
  }

  get hasExited(): boolean {
    return this.#child.pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /**
   * Waits for an end that was requested in another way, and kills the whole group when it does not
   * come.
   */
  async waitForExit(graceMs: number): Promise<void> {
    try {
      await withDeadline('a process to end', graceMs, this.#exited);
    } catch {
      this.#signal('SIGKILL');
      await withDeadline('a killed process to end', 10_000, this.#exited);
    }
  }

  async stop(graceMs = 10_000): Promise<void> {
    this.#signal('SIGTERM');
    await this.waitForExit(graceMs);
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#child.pid === undefined || this.hasExited) return;
    process.kill(-this.#child.pid, signal);
  }
}
