// Finds and ends the processes of one run. Every process of a run carries the run's directory in
// its environment, and so do its descendants, even detached ones. A process without this mark is
// never touched.

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const variable = 'CARILLON_E2E_RUN';

export interface MarkedProcess {
  pid: number;
  command: string;
}

export function markEnvironment(runDir: string): Record<string, string> {
  return { [variable]: runDir };
}

/** The living processes of this run without the calling one. Linux only, as all browser tests. */
export function listMarkedProcesses(runDir: string): MarkedProcess[] {
  const found: MarkedProcess[] = [];
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const command = readProcessFile(pid, 'cmdline').replaceAll('\0', ' ').trim();
    const isInherited = readProcessFile(pid, 'environ').split('\0').includes(`${variable}=${runDir}`);
    // Chromium overwrites its environment with its title, but its options contain its profile.
    if (isInherited || command.includes(`=${runDir}/`)) found.push({ pid, command });
  }
  return found;
}

/**
 * Ends every process of this run. It first sends SIGTERM, so that a database can close its files,
 * and kills the rest after `graceMs`.
 */
export async function endMarkedProcesses(runDir: string, graceMs: number): Promise<void> {
  const endsAt = performance.now() + graceMs;
  signalAll(runDir, 'SIGTERM');
  while (performance.now() < endsAt && listMarkedProcesses(runDir).length > 0) await waitABit();
  // A process may start another while the list is read, so this repeats until none is left.
  for (let round = 0; round < 20 && signalAll(runDir, 'SIGKILL') > 0; round += 1) await waitABit();
}

function signalAll(runDir: string, signal: NodeJS.Signals): number {
  const processes = listMarkedProcesses(runDir);
  for (const { pid } of processes) {
    try {
      process.kill(pid, signal);
    } catch {
      // The process ended by itself meanwhile.
    }
  }
  return processes.length;
}

async function waitABit(): Promise<void> {
  await sleep(50);
}

function readProcessFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
