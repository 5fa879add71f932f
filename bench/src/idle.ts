// Measures the work `idle`: what a service with many apps costs its database while there is nothing
// to do.
import { setTimeout as sleep } from 'node:timers/promises';
import { fillApps, watchAtRest, webhooksEach } from '../../rig/src/idle-world.ts';
import { progress, type Workbench } from '../../rig/src/workbench.ts';
import { watchOthers } from './costs.ts';
import { figure } from './figures.ts';
import { startOwnService } from './own-service.ts';
import type { Measured, RunOptions } from './results.ts';

const usual = { full: { apps: 1_000, processes: 4 }, quick: { apps: 20, processes: 2 } };

/**
 * Time to settle after a start: the database reports connections ten seconds late, and the first
 * upkeep comes after a minute.
 */
const settleSeconds = { full: 75, quick: 16 };
const watchedSeconds = { full: 60, quick: 12 };

interface IdleOptions extends RunOptions {
  readonly apps?: number;
  /** One API, the rest workers. */
  readonly processes?: number;
}

export async function measureIdle(workbench: Workbench, { isQuick, ...asked }: IdleOptions): Promise<Measured> {
  const size = isQuick ? 'quick' : 'full';
  const { apps, processes } = { ...usual[size], ...asked };
  const service = await startOwnService(workbench, { environment: { WORKERS: String(processes - 1) } });
  progress(`filling ${apps} apps with ${webhooksEach} webhooks each`);
  await fillApps(service.sql, apps);
  await sleep(settleSeconds[size] * 1000);
  const seconds = watchedSeconds[size];
  progress(`watching ${processes} processes for ${seconds} s`);
  const countOthers = await watchOthers();
  const rest = await watchAtRest(service.sql, { postgres: service.processes.postgres[0] ?? 0, seconds });
  return {
    name: `idle-${apps}-${processes}`,
    params: { apps, webhooks_each: webhooksEach, processes, seconds },
    figures: [
      figure('commits a second, read-only ones included', rest.commitsPerSecond, '/s'),
      figure("PostgreSQL's CPU, of a core", rest.postgresPercent, '%'),
      figure('NOTIFYs a second, all processes', rest.notifiesPerSecond, '/s'),
      figure('connections', rest.connections, ''),
    ],
    foreignCores: await countOthers(),
    postgres: service.postgres,
  };
}
