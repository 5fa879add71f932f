// Finds and ends the processes of one run. Everything a run starts carries the run's directory in its environment, and
// so do the children of children, however they detach themselves; nothing without that mark is ever touched.

import { readdirSync, readFileSync } from 'node:fs';

const VARIABLE = 'CARILLON_E2E_RUN';

export interface MarkedProcess {
  pid: number;
  command: string;
}

export function markEnvironment(runDir: string): Record<string, string> {
  return { [VARIABLE]: runDir };
}

/** The living processes of this run, except the asking one. Linux only, as the browser tests are. */
export function listMarkedProcesses(runDir: string): MarkedProcess[] {
  const found: MarkedProcess[] = [];
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const command = readProcessFile(pid, 'cmdline').replaceAll('\0', ' ').trim();
    const isInherited = readProcessFile(pid, 'environ').split('\0').includes(`${VARIABLE}=${runDir}`);
    // Chromium writes its title over its environment; its profile stands among its options.
    if (isInherited || command.includes(`=${runDir}/`)) found.push({ pid, command });
  }
  return found;
}

/**
 * Ends every process of this run: asks first, so that a database can close its files, and kills what is still there
 * after `graceMs`.
 */
export async function endMarkedProcesses(runDir: string, graceMs: number): Promise<void> {
  const endsAt = performance.now() + graceMs;
  signalAll(runDir, 'SIGTERM');
  while (performance.now() < endsAt && listMarkedProcesses(runDir).length > 0) await pause();
  // A process may be born of another while the list is read, so look again until there is none.
  for (let round = 0; round < 20 && signalAll(runDir, 'SIGKILL') > 0; round += 1) await pause();
}

function signalAll(runDir: string, signal: NodeJS.Signals): number {
  const processes = listMarkedProcesses(runDir);
  for (const { pid } of processes) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended by itself in between.
    }
  }
  return processes.length;
}

async function pause(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 50));
}

function readProcessFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
