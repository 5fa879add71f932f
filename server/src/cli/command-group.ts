// A command with a process group of its own. A stop is told to the whole group, because npm and the shell that npm starts
// hand no signal on to the program behind them. Must never return while a program that was told to stop is still running.
import { type ChildProcess, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError } from './command-error.ts';

/** A stopped service drains for up to 25 s (operating). The group is killed 5 s after that. */
const patienceMs = 30_000;
/** Guess: a person at a terminal does not notice a tenth of a second. */
const lookEveryMs = 100;

/** A closed terminal is a request to stop. Programs that drain wait for SIGTERM, and die of SIGHUP. */
const passedOn = { SIGINT: 'SIGINT', SIGTERM: 'SIGTERM', SIGHUP: 'SIGTERM' } as const;

/**
 * Runs a command and resolves with its exit status; null where a signal ended it. A signal for this process stops the
 * command and everything that it started, and then the promise waits for their end. Rejects where the program cannot be run.
 */
export async function runCommandGroup(
  [program = '', ...parameters]: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number | null> {
  const child = spawn(program, parameters, { stdio: 'inherit', env, detached: true });
  let isStopping = false;
  const pass = (signal: NodeJS.Signals): void => {
    isStopping = true;
    if (child.pid !== undefined) signalGroup(child.pid, passedOn[signal as keyof typeof passedOn]);
  };
  for (const signal of Object.keys(passedOn)) process.on(signal, pass);
  try {
    const code = await untilEnded(child);
    if (isStopping && child.pid !== undefined) await endGroup(child.pid, patienceMs);
    return code;
  } finally {
    for (const signal of Object.keys(passedOn)) process.off(signal, pass);
  }
}

/** Resolves with a program's exit status. Rejects, in words for an operator, where it cannot be run. */
export function untilEnded(child: ChildProcess): Promise<number | null> {
  return new Promise<number | null>((resolve, reject) => {
    child.on('error', (error) => reject(new CommandError(`${child.spawnfile} cannot be run: ${error.message}`)));
    child.on('exit', resolve);
  });
}

/** Waits until no process of the group runs. Kills the processes that run for longer than `waitMs`. */
export async function endGroup(groupId: number, waitMs: number): Promise<void> {
  const deadline = performance.now() + waitMs;
  while (await isGroupRunning(groupId)) {
    if (performance.now() >= deadline) {
      signalGroup(groupId, 'SIGKILL');
      return;
    }
    await sleep(lookEveryMs);
  }
}

function signalGroup(groupId: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-groupId, signal);
  } catch (error) {
    // ESRCH: the group is empty. EPERM: nobody in it can be told, because they run as another user or, on macOS, are dead.
    if (['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/**
 * A dead process stays in its group until its parent asks for its status. In a container without an init process nobody
 * does, so Linux is asked for the state of each process; elsewhere the group's existence decides.
 */
async function isGroupRunning(groupId: number): Promise<boolean> {
  if (!signalGroup(groupId, 0)) return false;
  const files = await readdir('/proc').catch(() => undefined);
  const pids = files?.filter((file) => /^\d+$/.test(file));
  if (!pids?.length) return true;
  const states = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')));
  return states.some((stat) => {
    // proc(5): pid (name) state parent group …; the name may hold brackets and spaces.
    const [state = '', , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(group) === groupId && !['', 'Z', 'X'].includes(state);
  });
}
