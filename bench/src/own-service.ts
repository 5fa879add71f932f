// Starts the service that a work measures.
import {
  findProcesses,
  openDatabase,
  readPostgresVersion,
  type ServiceProcesses,
  startService,
} from '../../rig/src/service.ts';
import type { Workbench } from '../../rig/src/workbench.ts';

/** A service with its database, its processes and the database's version. */
export type OwnService = Awaited<ReturnType<typeof startOwnService>>;

interface OwnServiceOptions {
  /** Absent: a new directory. */
  readonly dataDir?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The directory for CPU profiles. Taking profiles makes the run slower. */
  readonly profileDir?: string | undefined;
  /** Milliseconds of a benchmark's own statement. 0: no timeout. */
  readonly statementTimeoutMs?: number;
}

export async function startOwnService(
  workbench: Workbench,
  { dataDir, environment = {}, profileDir, statementTimeoutMs }: OwnServiceOptions = {},
) {
  const service = await startService(workbench, dataDir ?? (await workbench.makeDirectory('data')), {
    environment,
    nodeOptions: profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`],
  });
  const sql = await openDatabase(workbench, service, statementTimeoutMs);
  const processes = await findProcesses(service, sql);
  return { service, sql, processes, postgres: await readPostgresVersion(sql) };
}

/** The number of processes, for the conditions of a run. */
export function countProcesses({ api, worker }: ServiceProcesses): Readonly<Record<string, number>> {
  return { api_processes: api.length, worker_processes: worker.length };
}
