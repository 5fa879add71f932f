// Measures the work `start`: from the launch of the built service until it is ready, on an empty
// data directory and on one that the service has used before.
import { median } from '../../rig/src/measure.ts';
import { openDatabase, readPostgresVersion, startService } from '../../rig/src/service.ts';
import { progress, type Workbench } from '../../rig/src/workbench.ts';
import { figure } from './figures.ts';
import type { Measured, RunOptions } from './results.ts';

const rounds = { full: 3, quick: 1 };

export async function measureStart(workbench: Workbench, { isQuick }: RunOptions): Promise<Measured> {
  const count = isQuick ? rounds.quick : rounds.full;
  const first: number[] = [];
  const later: number[] = [];
  let postgres = 'unknown';
  for (let round = 1; round <= count; round++) {
    const dataDir = await workbench.makeDirectory('data');
    const made = await startService(workbench, dataDir);
    await made.stop();
    const again = await startService(workbench, dataDir);
    const sql = await openDatabase(workbench, again);
    postgres = await readPostgresVersion(sql);
    await sql.end({ timeout: 1 });
    await again.stop();
    first.push(made.startedInSeconds);
    later.push(again.startedInSeconds);
    progress(
      `round ${round}: first ${made.startedInSeconds.toFixed(2)} s, later ${again.startedInSeconds.toFixed(2)} s`,
    );
  }
  return {
    params: { rounds: count },
    figures: [
      figure('first start, makes its database', median(first), 's', { atMost: 10 }),
      figure('later start', median(later), 's', { atMost: 2 }),
    ],
    postgres,
  };
}
