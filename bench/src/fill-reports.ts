// Fills a database that no service runs on yet with ninety days of events, and brings its reports
// into the state that the service's upkeep leaves.

import { openPool, startEmbeddedPostgres } from '@carillon/postgres';
import { progress, RunError, type Workbench } from '../../rig/src/workbench.ts';
import { createClock } from '../../server/src/ground/database/clock.ts';
import { createLog } from '../../server/src/ground/host/log.ts';
import { encodeId } from '../../server/src/ground/values/ids.ts';
import { rebuildEventTotals } from '../../server/src/insight/events/rebuild-event-totals.ts';
import { classAhead } from '../../server/src/insight/reports/class-ahead.ts';
import { settleDue } from '../../server/src/insight/reports/settle.ts';
import { prepareDatabase } from '../../server/src/operation/process/prepare-database.ts';
import { createApp } from '../../server/src/teams/apps/create-app.ts';
import { serviceActor } from '../../server/src/teams/audit/actor.ts';
import { watchOthers } from './costs.ts';
import { makeWorld, type Sizes, type World } from './reports-world.ts';

/** No statement timeout: statements over all events take long. */
const noTimeout = 0;

export interface FilledReports {
  readonly appId: string;
  readonly serverKey: string;
  readonly world: World;
  readonly rebuildSeconds: number;
  readonly secondsPer100000: number;
}

export async function fillReports(workbench: Workbench, dataDir: string, sizes: Sizes): Promise<FilledReports> {
  const database = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  workbench.onClose(() => database.stop());
  const sql = openPool({ url: database.url, connectionsMax: 3, name: 'carillon bench', statementTimeoutMs: noTimeout });
  try {
    await prepareDatabase(sql);
    const clock = await createClock(sql);
    const app = await createApp({ sql, clock, by: serviceActor('bench') }, { name: 'Reports', plan: 'unlimited' });
    const world = await makeWorld(sql, app.id, createLog('silent', 'bench'), clock.nowMs(), sizes);
    const countOthers = await watchOthers();
    const rebuildSeconds = await secondsOf(() => rebuildEventTotals(sql, { appId: app.id, from: null, to: null }));
    progress(`summed up in ${rebuildSeconds.toFixed(1)} s`);
    const settled = await secondsOf(() => settleDue({ sql, clock }, undefined, ['purchase']));
    const [row] = await sql<{ count: number }[]>`SELECT count(*) AS count FROM attributions`;
    if (!row || row.count === 0) throw new RunError('no purchase was settled');
    progress(
      `${row.count} purchases classed in ${settled.toFixed(1)} s; others kept ${await countOthers()} cores busy`,
    );
    await settleDue({ sql, clock });
    const ahead = await secondsOf(() => classAhead({ sql, clock }));
    progress(`what is not settled classed ahead in ${ahead.toFixed(1)} s`);
    await sql`VACUUM (ANALYZE) attributions, credited_totals, open_credits, rollups, rollup_deltas, subject_events`;
    return {
      appId: encodeId('app', app.id),
      serverKey: app.serverKey,
      world,
      rebuildSeconds,
      secondsPer100000: (settled / row.count) * 100_000,
    };
  } finally {
    await sql.end({ timeout: 5 });
    await database.stop();
  }
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return (performance.now() - from) / 1000;
}
