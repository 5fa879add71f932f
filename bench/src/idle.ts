// Measures the work `idle`: what a service with many apps costs its database while there is nothing
// to do.
import { setTimeout as sleep } from 'node:timers/promises';
import { fillApps, watchAtRest, webhooksEach } from '../../rig/src/idle-world.ts';
import { requireProc, rounded } from '../../rig/src/measure.ts';
import { findProcesses, openDatabase, readPostgresVersion, startService } from '../../rig/src/service.ts';
import { progress, type Workbench } from '../../rig/src/workbench.ts';
import { watchOthers } from './costs.ts';
import { completeResult, type IdleMeasured, type Result } from './results.ts';

export const idleUsual = { apps: 1_000, processes: 4 };

/**
 * Time to settle after a start: the database reports connections ten seconds late, and the first
 * upkeep comes after a minute.
 */
const settleSeconds = { full: 75, quick: 16 };
const watchedSeconds = { full: 60, quick: 12 };

/** The name of the file that a result is kept in. */
export function idleName({ apps, processes }: { readonly apps: number; readonly processes: number }): string {
  return `idle-${apps}-${processes}`;
}

/** Measures a service of `processes` processes: one API, the rest workers. */
export async function measureIdle(
  workbench: Workbench,
  { apps, processes, isQuick }: { readonly apps: number; readonly processes: number; readonly isQuick: boolean },
): Promise<Result<IdleMeasured>> {
  await requireProc();
  const size = isQuick ? 'quick' : 'full';
  const service = await startService(workbench, await workbench.makeDirectory('data'), {
    environment: { WORKERS: String(processes - 1) },
  });
  const sql = await openDatabase(workbench, service);
  progress(`filling ${apps} apps with ${webhooksEach} webhooks each`);
  await fillApps(sql, apps);
  const { postgres } = await findProcesses(service, sql);
  await sleep(settleSeconds[size] * 1000);
  const seconds = watchedSeconds[size];
  progress(`watching ${processes} processes for ${seconds} s`);
  const countOthers = await watchOthers();
  const rest = await watchAtRest(sql, { postgres: postgres[0] ?? 0, seconds });
  const measured: IdleMeasured = {
    work: 'idle',
    params: { apps, webhooks_each: webhooksEach, processes, seconds, quick: isQuick },
    ours: {
      commits_per_second: rounded(rest.commitsPerSecond),
      postgres_cpu_percent: rounded(rest.postgresPercent),
      notifies_per_second: rounded(rest.notifiesPerSecond),
      connections: rest.connections,
      foreign_cores: await countOthers(),
    },
  };
  return completeResult(measured, await readPostgresVersion(sql));
}
