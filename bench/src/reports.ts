// Measures the work `reports`: how long a revenue report of ninety days takes from stored sums,
// beside the same sums computed from the events. It also measures how long the attribution of
// purchases takes.

import { median } from '../../rig/src/measure.ts';
import type { Workbench } from '../../rig/src/workbench.ts';
import { callForJson } from './call-api.ts';
import { watchOthers } from './costs.ts';
import { figure, percentiles } from './figures.ts';
import { fillReports } from './fill-reports.ts';
import { startOwnService } from './own-service.ts';
import type { Measured, RunOptions } from './results.ts';

const full = { events: 10_000_000, people: 100_000, reached: 10_000, rounds: 30 };
const quick = { events: 10_000, people: 1_000, reached: 500, rounds: 2 };

export async function measureReports(workbench: Workbench, { isQuick }: RunOptions): Promise<Measured> {
  const { rounds, ...sizes } = isQuick ? quick : full;
  const dataDir = await workbench.makeDirectory('data');
  const { serverKey, world, ...stored } = await fillReports(workbench, dataDir, sizes);

  const { service, sql, postgres } = await startOwnService(workbench, { dataDir });
  const countOthers = await watchOthers();
  const ask = async (report: string): Promise<number[]> => {
    const times: number[] = [];
    for (let round = 0; round <= rounds; round++) {
      const from = performance.now();
      // The range reaches up to the present, which is not summed up yet.
      const range = `from=${new Date(world.fromMs).toISOString()}&to=${new Date().toISOString()}`;
      await callForJson({ method: 'GET', url: `${service.url}/v1/reports/${report}${range}`, key: serverKey });
      times.push(performance.now() - from);
    }
    // The first request opens a connection, so it is left out.
    return times.slice(1);
  };
  const revenue = await ask('revenue?');
  const byDay = await ask('revenue?group=day&tz=Europe/Berlin&');
  const events = await ask('events?');
  const foreignCores = await countOthers();
  const raw: number[] = [];
  for (let round = 0; round < 3; round++) {
    const from = performance.now();
    await sql`
      SELECT name, currency, count(*), sum(amount) FROM events
      WHERE name IN ('purchase', 'install', 'session_start')
        AND at >= ${new Date(world.fromMs)} AND at < ${new Date()}
      GROUP BY 1, 2`;
    raw.push(performance.now() - from);
  }
  const beside = { side: 'the same sums from the events, unclassed', value: median(raw) };
  return {
    params: { ...sizes, purchases: world.purchases, rounds },
    figures: [
      ...percentiles('revenue by class', revenue, [0.5, 0.95]),
      figure('revenue by class: p50', median(revenue), 'ms', { beside }),
      ...percentiles('revenue by day', byDay, [0.5]),
      ...percentiles('events by name', events, [0.5]),
      figure('100,000 purchases are classed in', stored.secondsPer100000, 's'),
      figure('all sums are built again in', stored.rebuildSeconds, 's'),
    ],
    foreignCores,
    postgres,
  };
}
