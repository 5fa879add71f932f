// One node: the built service as an operator starts it (`carillon start --role …`), a supervisor
// with its working process, on a database that nodes share. A node can be killed, stopped and told
// to end.
import { once } from 'node:events';
import { join } from 'node:path';
import { carillon } from './command.ts';
import { listChildren } from './measure.ts';
import { type Program, startProgram, type Workbench } from './workbench.ts';

export interface NodeOptions {
  readonly name: string;
  readonly role: 'api' | 'worker';
  /** The service's complete configuration: database, master key, providers. */
  readonly environment: Readonly<Record<string, string>>;
  /** The directory of logs, which is also the working directory. */
  readonly directory: string;
  /** Options for Node itself, in every process of the node. */
  readonly nodeOptions?: readonly string[];
}

export interface ServiceNode {
  readonly name: string;
  readonly role: 'api' | 'worker';
  /** The supervisor's pid. */
  readonly pid: number;
  readonly hasEnded: boolean;
  /**
   * Resolves when the node answers or works. Rejects with the last lines of its log when it ends
   * before.
   */
  ready(): Promise<void>;
  /** The pids of the working process; empty while it is being replaced. */
  workerPids(): Promise<readonly number[]>;
  /**
   * Sends SIGKILL to the supervisor and its processes. Resolves with the instant when all are gone.
   */
  kill(): Promise<number>;
  /** Sends a signal to the working process alone; the supervisor replaces it. */
  signalWorker(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT', pids?: readonly number[]): Promise<Signaled>;
  /** Sends SIGTERM and resolves when the node has ended. */
  terminate(): Promise<{ readonly code: number | null; readonly ms: number }>;
}

export interface Signaled {
  /** Milliseconds since the epoch, just before the signal. */
  readonly at: number;
  readonly pids: readonly number[];
}

export async function startNode(workbench: Workbench, options: NodeOptions): Promise<ServiceNode> {
  const { name, role, directory } = options;
  const program = await startProgram({
    parameters: [...(options.nodeOptions ?? []), carillon, 'start', '--role', role, '--workers', '1', '--json'],
    workingDir: directory,
    environment: { LOG_LEVEL: 'info', ...options.environment },
    logFile: join(directory, `${name}.log`),
    readsOutput: true,
  });
  return watch(workbench, program, name, role);
}

function watch(workbench: Workbench, program: Program, name: string, role: 'api' | 'worker'): ServiceNode {
  const { child, pid } = program;
  const ended = once(child, 'exit');
  const spoke = once(child.stdout ?? child, 'data');
  spoke.catch(() => undefined);
  const workerPids = (): Promise<readonly number[]> => listChildren(pid);
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;

  const node: ServiceNode = {
    name,
    role,
    pid,
    get hasEnded() {
      return hasEnded();
    },
    async ready() {
      const end = ended.then(async () => {
        throw new Error(`${name} ended before it was ready:\n${await program.lastWords()}`);
      });
      end.catch(() => undefined);
      await Promise.race([spoke, end]);
    },
    workerPids,
    async kill() {
      const pids = await workerPids();
      const at = Date.now();
      // The supervisor is killed first. A working process without a supervisor ends in order, and
      // it must not have time for that.
      if (!hasEnded()) child.kill('SIGKILL');
      for (const each of pids) signal(each, 'SIGKILL');
      await ended;
      return at;
    },
    async signalWorker(word, given) {
      const pids = given ?? (await workerPids());
      const at = Date.now();
      return { at, pids: pids.filter((each) => signal(each, word)) };
    },
    async terminate() {
      const startedAt = performance.now();
      child.kill('SIGTERM');
      const [code] = (await ended) as [number | null];
      return { code, ms: performance.now() - startedAt };
    },
  };
  workbench.onClose(async () => {
    // A stopped node hears no other signal.
    if (!hasEnded()) await node.kill();
  });
  return node;
}

/** False when the process no longer exists. */
function signal(pid: number, word: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, word);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
