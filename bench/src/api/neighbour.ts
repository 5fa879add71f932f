// Measures what a quiet app notices of an app that floods the service. It runs alone, beside 400
// connections with the flooding app's own client keys, and beside 400 connections with random keys.
import { setTimeout as sleep } from 'node:timers/promises';
import { rounded } from '../../../rig/src/measure.ts';
import type { BesideFlood, NeighbourFigures } from '../results.ts';
import { askingOf, type FilledApp } from './fill-app.ts';
import type { LoadRun } from './load.ts';
import type { RequestKind } from './requests.ts';
import { countOther, onlyGood, perSecondOf, type RunLoad } from './runs.ts';

const floodConnections = 400;
const calmConnections = 16;
const calmPerSecond = 100;
const calmKinds: readonly RequestKind[] = ['known devices', 'events', 'users', 'config', 'message'];
/** The flood begins this long before the first measured request and ends as long after the last. */
const aheadMs = 500;

export interface NeighbourPlan {
  readonly calm: FilledApp;
  readonly flooding: FilledApp;
  readonly seconds: number;
}

export async function measureNeighbour(
  run: { readonly calm: RunLoad; readonly flood: RunLoad },
  { calm, flooding, seconds }: NeighbourPlan,
): Promise<NeighbourFigures> {
  const askings = calmKinds.map((kind) => askingOf(kind, calm));
  const ask = (): Promise<LoadRun> =>
    run.calm({ connections: calmConnections, perSecond: calmPerSecond, askings, seconds });
  const beside = async (hasRandomKeys: boolean): Promise<BesideFlood> => {
    const flood = run.flood({
      connections: floodConnections,
      askings: [askingOf('known devices', flooding)],
      perSecond: null,
      hasRandomKeys,
      seconds: seconds + (2 * aheadMs) / 1000,
    });
    await sleep(aheadMs);
    const asked = await ask();
    const flooded = await flood;
    return {
      answers: asked.byStatus['200']?.count ?? 0,
      ms_p99: rounded(asked.byStatus['200']?.msP99 ?? Number.NaN),
      unavailable: asked.byStatus['503']?.count ?? 0,
      other: countOther(asked, ['200', '503']),
      flood_per_second: Object.fromEntries(
        Object.keys(flooded.byStatus).map((status) => [status, perSecondOf(flooded, status)]),
      ),
    };
  };
  await ask();
  const alone = onlyGood('an app alone', await ask());
  return {
    alone_ms_p99: rounded(alone.msP99),
    beside_own_key: await beside(false),
    beside_random_keys: await beside(true),
  };
}
