// One node: the built service as an operator starts it, `carillon start --role …`, a supervisor with the process it looks
// after, on a database that nodes share. It can be killed, stopped and told to end; what it is told is on record.
import { once } from 'node:events';
import { join } from 'node:path';
import { carillon } from '../../../bench/src/command.ts';
import { listChildren } from '../../../bench/src/measure.ts';
import { type Program, startProgram, type Workbench } from '../../../bench/src/workbench.ts';

export interface NodeOptions {
  readonly name: string;
  readonly role: 'api' | 'worker';
  /** Everything the service is told: database, master key, providers. */
  readonly environment: Readonly<Record<string, string>>;
  /** Logs and working directory. */
  readonly directory: string;
  /** For Node itself, in every process of the node. */
  readonly nodeOptions?: readonly string[];
}

export interface ServiceNode {
  readonly name: string;
  readonly role: 'api' | 'worker';
  /** Of the supervisor. */
  readonly pid: number;
  readonly hasEnded: boolean;
  /** Resolves with its first word: it answers, or works. Rejects with the last lines of its log when it ends before. */
  ready(): Promise<void>;
  /** The process that does the work, or none where it is being replaced. */
  workerPids(): Promise<readonly number[]>;
  /** SIGKILL, to the supervisor and what it looks after. Resolves with the instant, when all is gone. */
  kill(): Promise<number>;
  /** Of the process that does the work alone; the supervisor replaces it. */
  signalWorker(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT', pids?: readonly number[]): Promise<Signaled>;
  /** SIGTERM; resolves when it has ended. */
  terminate(): Promise<{ readonly code: number | null; readonly ms: number }>;
}

export interface Signaled {
  /** Milliseconds since the epoch, just before. */
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
      // The supervisor first: what it looks after ends in order when it finds itself alone, and must have no time to.
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
    // One that was stopped hears nothing else.
    if (!hasEnded()) await node.kill();
  });
  return node;
}

/** False when there is no such process any more. */
function signal(pid: number, word: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, word);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
