// Measures what a send costs each process, and what other programs took from the machine meanwhile.
// Callers subtract a reading before from a reading after.
import {
  cpuSecondsOf,
  cpuSecondsOfMachine,
  cpuSecondsOfTree,
  listChildren,
  peakRssMbOf,
  rounded,
} from '../../rig/src/measure.ts';
import type { ServiceProcesses } from '../../rig/src/service.ts';
import type { ByProcess } from './results.ts';

/** CPU seconds of each kind of Carillon's processes since the processes began. */
export async function readCpuSeconds(processes: ServiceProcesses): Promise<ByProcess> {
  const sumOf = async (pids: readonly number[], read = cpuSecondsOf): Promise<number> =>
    (await Promise.all(pids.map(read))).reduce((sum, each) => sum + each, 0);
  return {
    api: await sumOf(processes.api),
    worker: await sumOf(processes.worker),
    supervisor: await sumOf(processes.supervisor),
    // Connections and helpers come and go; the CPU time of ended ones stays with the server
    // process.
    postgres: await sumOf(processes.postgres, cpuSecondsOfTree),
  };
}

/** Peak resident memory of the largest process of each kind, in megabytes. */
export async function readPeakRssMb(processes: ServiceProcesses): Promise<ByProcess> {
  const largest = async (pids: readonly number[]): Promise<number> =>
    Math.ceil(Math.max(0, ...(await Promise.all(pids.map(peakRssMbOf)))));
  const connections = (await Promise.all(processes.postgres.map(listChildren))).flat();
  return {
    api: await largest(processes.api),
    worker: await largest(processes.worker),
    supervisor: await largest(processes.supervisor),
    postgres: await largest([...processes.postgres, ...connections]),
  };
}

/**
 * Begins to watch the machine. The returned function says how many cores were kept busy since then
 * by processes outside the benchmark. Every process of a benchmark descends from its own process.
 */
export async function watchOthers(): Promise<() => Promise<number>> {
  const read = async () => ({
    others: (await cpuSecondsOfMachine()) - (await cpuSecondsOfTree(process.pid)),
    at: performance.now() / 1000,
  });
  const before = await read();
  return async () => {
    const after = await read();
    return rounded(Math.max(0, (after.others - before.others) / (after.at - before.at)), 2);
  };
}
