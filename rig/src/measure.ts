// Reads what processes cost from Linux's /proc, and computes percentiles of times. Measures nothing
// by itself: callers take two readings and subtract.
import { readdir, readFile, readlink } from 'node:fs/promises';
import { RunError } from './workbench.ts';

/** USER_HZ, the unit of CPU times in /proc: 100 on every architecture that Node supports. */
const ticksPerSecond = 100;

interface Stat {
  readonly parentPid: number;
  readonly ownSeconds: number;
  /** CPU time of children that have ended and were waited for. */
  readonly childrenSeconds: number;
}

/**
 * Reads /proc/PID/stat (proc_pid_stat(5)). The name in parentheses may itself hold spaces and
 * parentheses, so fields are counted after the last parenthesis.
 */
async function readStat(pid: number): Promise<Stat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  return {
    parentPid: field(4),
    ownSeconds: (field(14) + field(15)) / ticksPerSecond,
    childrenSeconds: (field(16) + field(17)) / ticksPerSecond,
  };
}

/**
 * CPU seconds of one process since it began: user and system, all threads, without its children.
 */
export async function cpuSecondsOf(pid: number): Promise<number> {
  return (await readStat(pid))?.ownSeconds ?? 0;
}

/** CPU seconds of a process and of all its descendants, including descendants that have ended. */
export async function cpuSecondsOfTree(pid: number): Promise<number> {
  let total = 0;
  for (const each of [pid, ...(await listDescendants(pid))]) {
    const stat = await readStat(each);
    total += (stat?.ownSeconds ?? 0) + (stat?.childrenSeconds ?? 0);
  }
  return total;
}

/**
 * CPU seconds of the whole machine since it booted, by any process: all time that was neither idle
 * nor waiting.
 */
export async function cpuSecondsOfMachine(): Promise<number> {
  const [line = ''] = (await readFile('/proc/stat', 'utf8')).split('\n');
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softirq + steal) / ticksPerSecond;
}

/** Resident memory of a process now, in megabytes. */
export async function rssMbOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}

/** Peak resident memory of a process, in megabytes. */
export async function peakRssMbOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}

export async function parentOf(pid: number): Promise<number | undefined> {
  return (await readStat(pid))?.parentPid;
}

export async function listChildren(pid: number): Promise<number[]> {
  return (await listParents()).filter(([, parentPid]) => parentPid === pid).map(([child]) => child);
}

async function listDescendants(pid: number): Promise<number[]> {
  const parents = await listParents();
  const found = [pid];
  // `found` grows during the loop, so that children of children are found too.
  for (const each of found) found.push(...parents.filter(([, parent]) => parent === each).map(([child]) => child));
  return found.slice(1);
}

async function listParents(): Promise<[pid: number, parentPid: number][]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const pairs = await Promise.all(names.map(async (name) => [Number(name), await parentOf(Number(name))] as const));
  return pairs.flatMap(([pid, parentPid]) => (parentPid === undefined ? [] : [[pid, parentPid] as [number, number]]));
}

/** Whether a process has a listening TCP socket on this IPv4 port. */
export async function isListeningOn(pid: number, port: number): Promise<boolean> {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  const sockets = new Set<string>();
  for (const line of (await readFile('/proc/net/tcp', 'utf8')).split('\n').slice(1)) {
    const fields = line.trim().split(/\s+/);
    // State 0A is TCP_LISTEN.
    if (fields[1]?.endsWith(`:${wanted}`) && fields[3] === '0A') sockets.add(`socket:[${fields[9]}]`);
  }
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const targets = await Promise.all(descriptors.map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
  return targets.some((target) => sockets.has(target));
}

/** Throws on a system without /proc, where the figures would be missing. */
export async function requireProc(): Promise<void> {
  if ((await readStat(process.pid)) === undefined)
    throw new RunError('CPU and memory are read from /proc: run it on Linux');
}

/** The smallest value that at least `share` of the values do not exceed (nearest rank). */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Rounds to `digits` significant digits: more would claim a precision that was not measured. */
export function rounded(value: number, digits = 3): number {
  return Number(value.toPrecision(digits));
}

/**
 * CPU milliseconds of one process so far, all threads, to the nanosecond. Threads that have ended
 * are not included.
 */
export async function cpuMsOf(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const texts = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0')),
  );
  return texts.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0) / 1e6;
}
