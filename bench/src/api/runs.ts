// Starts the load generators, each in a process of its own, and reads their runs.

import type { Service } from '../../../rig/src/service.ts';
import { RunError, type Workbench } from '../../../rig/src/workbench.ts';
import { type Child, startChild } from '../child.ts';
import type { LoadPlan, LoadRun, Times } from './load.ts';

export type RunLoad = (plan: Omit<LoadPlan, 'port'>) => Promise<LoadRun>;

export function startLoad(workbench: Workbench, name: string, { port }: Pick<Service, 'port'>): RunLoad {
  const child: Child<LoadPlan> = startChild(workbench, name, new URL('load.ts', import.meta.url));
  return (plan) => child.ask<LoadRun>({ port, ...plan });
}

/** The times of a run in which every status must be 200. Throws when any other status came. */
export function onlyGood(what: string, { byStatus }: LoadRun): Times {
  const { 200: good, ...others } = byStatus;
  if (good && Object.keys(others).length === 0) return good;
  throw new RunError(`${what}: answered ${JSON.stringify(byStatus)}`);
}

export function perSecondOf({ byStatus, seconds }: LoadRun, status: string): number {
  return Math.round((byStatus[status]?.count ?? 0) / seconds);
}

/** Counts the answers whose status is not in `usual`. */
export function countOther({ byStatus }: LoadRun, usual: readonly string[]): number {
  return Object.entries(byStatus).reduce((sum, [status, { count }]) => sum + (usual.includes(status) ? 0 : count), 0);
}
