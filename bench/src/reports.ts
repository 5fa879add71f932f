// Measures the work `reports`: how long a revenue report of ninety days takes from stored sums,
// beside the same sums computed from the events. It also measures how long the attribution of
// purchases takes.

import { percentile, requireProc, rounded } from '../../rig/src/measure.ts';
import { openDatabase, readPostgresVersion, startService } from '../../rig/src/service.ts';
import type { Workbench } from '../../rig/src/workbench.ts';
import { callForJson } from './call-api.ts';
import { watchOthers } from './costs.ts';
import { fillReports } from './fill-reports.ts';
import { completeResult, type ReportsMeasured, type Result } from './results.ts';

const full = { events: 10_000_000, people: 100_000, reached: 10_000, rounds: 30 };
const quick = { events: 10_000, people: 1_000, reached: 500, rounds: 2 };

export async function measureReports(
  workbench: Workbench,
  { isQuick }: { readonly isQuick: boolean },
): Promise<Result<ReportsMeasured>> {
  await requireProc();
  const { rounds, ...sizes } = isQuick ? quick : full;
  const dataDir = await workbench.makeDirectory('data');
  const { serverKey, world, ...stored } = await fillReports(workbench, dataDir, sizes);

  const service = await startService(workbench, dataDir);
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
  const sql = await openDatabase(workbench, service);
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
  const ms = rounded(percentile(revenue, 0.5));
  const rawMs = rounded(percentile(raw, 0.5));
  return completeResult(
    {
      work: 'reports',
      params: { ...sizes, purchases: world.purchases, rounds, quick: isQuick },
      ours: {
        revenue_ms_p50: ms,
        revenue_ms_p95: rounded(percentile(revenue, 0.95)),
        revenue_by_day_ms_p50: rounded(percentile(byDay, 0.5)),
        events_ms_p50: rounded(percentile(events, 0.5)),
        seconds_per_100000_purchases: rounded(stored.secondsPer100000),
        rebuild_seconds: rounded(stored.rebuildSeconds),
        foreign_cores: foreignCores,
      },
      raw: { name: 'the same sums from the events, unclassed', ms: rawMs },
      ratio_raw: rounded(rawMs / ms),
    },
    await readPostgresVersion(sql),
  );
}
