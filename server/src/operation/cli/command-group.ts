// Runs a command in a process group of its own. A stop signals the whole group, because npm and the
// shell that npm starts pass no signal on to the program behind them. `runCommandGroup` never
// returns while a program that was told to stop still runs.
import { type ChildProcess, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError } from './answer.ts';

/** A stopped service drains for up to 25 s (operating). The group is killed 5 s after that. */
const patienceMs = 30_000;
/** Guess: a person at a terminal does not notice a tenth of a second. */
const lookEveryMs = 100;

/**
 * The signals that are passed on, each with the signal that is sent. SIGHUP, from a closed
 * terminal, asks for a stop. It is sent as SIGTERM, because programs that drain on SIGTERM are
 * killed by SIGHUP.
 */
const passedOn = { SIGINT: 'SIGINT', SIGTERM: 'SIGTERM', SIGHUP: 'SIGTERM' } as const;

/**
 * Runs a command and resolves with its exit status, or with null where a signal ended it. A signal
 * to this process stops the command and everything that the command started; the promise then waits
 * for their end. Rejects where the program cannot be run.
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

/**
 * Resolves with a program's exit status, or with null where a signal ended it. Rejects with a
 * `CommandError` where the program cannot be run.
 */
export function untilEnded(child: ChildProcess): Promise<number | null> {
  return new Promise<number | null>((resolve, reject) => {
    child.on('error', (error) => reject(new CommandError(`${child.spawnfile} cannot be run: ${error.message}`)));
    child.on('exit', resolve);
  });
}

/**
 * Waits until no process of the group runs. Kills the processes that run for longer than `waitMs`.
 */
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
    // ESRCH: the group is empty. EPERM: no process of the group can be signalled, because all of
    // them run as another user or, on macOS, are dead.
    if (['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/**
 * Returns whether a process of the group still runs. A dead process stays in its group until its
 * parent reads its status, which no parent does in a container without an init process. On Linux
 * the state of each process is therefore read; elsewhere the group's existence decides.
 */
async function isGroupRunning(groupId: number): Promise<boolean> {
  if (!signalGroup(groupId, 0)) return false;
  const files = await readdir('/proc').catch(() => undefined);
  const pids = files?.filter((file) => /^\d+$/.test(file));
  if (!pids?.length) return true;
  const states = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')));
  return states.some((stat) => {
    // proc(5): `pid (name) state parent group …`. The name may hold brackets and spaces.
    const [state = '', , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(group) === groupId && !['', 'Z', 'X'].includes(state);
  });
}
