// Measures what work costs each process, and what other programs took from the machine meanwhile.
import {
  cpuSecondsOf,
  cpuSecondsOfMachine,
  cpuSecondsOfTree,
  listChildren,
  peakRssMbOf,
  rounded,
} from '../../rig/src/measure.ts';
import type { ServiceProcesses } from '../../rig/src/service.ts';

/** One number for each kind of Carillon's processes. */
export type ByProcess = Readonly<Record<keyof ServiceProcesses, number>>;

type ByName<Name extends string> = Readonly<Record<Name, number>>;

export interface Costs<Name extends string> {
  /** CPU seconds for a thousand units of work, by the names of the processes. */
  readonly cpu: ByName<Name>;
  /** Cores that programs outside the benchmark kept busy meanwhile. */
  readonly foreignCores: number;
}

/** Begins to measure processes. The returned function takes the units of work done since then. */
export async function watchCosts<Name extends string>(
  pids: Readonly<Record<Name, readonly number[]>>,
): Promise<(units: number) => Promise<Costs<Name>>> {
  const countOthers = await watchOthers();
  const before = await readCpuSeconds(pids);
  return async (units) => {
    const after = await readCpuSeconds(pids);
    const foreignCores = await countOthers();
    const names = Object.keys(pids) as Name[];
    const cpu = Object.fromEntries(names.map((name) => [name, ((after[name] - before[name]) / units) * 1000]));
    return { cpu: cpu as ByName<Name>, foreignCores };
  };
}

async function readCpuSeconds<Name extends string>(
  pids: Readonly<Record<Name, readonly number[]>>,
): Promise<ByName<Name>> {
  const seconds: Partial<Record<string, number>> = {};
  for (const [name, each] of Object.entries<readonly number[]>(pids)) {
    // Connections and helpers of PostgreSQL come and go; the CPU time of ended ones stays with the
    // server process.
    const read = name === 'postgres' ? cpuSecondsOfTree : cpuSecondsOf;
    seconds[name] = (await Promise.all(each.map(read))).reduce((sum, one) => sum + one, 0);
  }
  return seconds as ByName<Name>;
}

/** CPU of all of Carillon's processes together, the database included. */
export function totalOf({ api, worker, supervisor, postgres }: ByProcess): number {
  return api + worker + supervisor + postgres;
}

/**
 * Peak resident memory of the largest process of each kind, in megabytes. A connection's share of
 * the database's buffers is included.
 */
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
