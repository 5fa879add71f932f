// Measures what a quiet app notices of an app that floods the service. It runs alone, beside 400
// connections with the flooding app's own client keys, and beside 400 connections with random keys.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Figure, figure } from '../figures.ts';
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
/** The target of a p99 beside a flood, unless twice the p99 alone is more. */
const besideMsMost = 100;

export interface NeighbourPlan {
  readonly calm: FilledApp;
  readonly flooding: FilledApp;
  readonly seconds: number;
}

export async function measureNeighbour(
  run: { readonly calm: RunLoad; readonly flood: RunLoad },
  { calm, flooding, seconds }: NeighbourPlan,
): Promise<Figure[]> {
  const askings = calmKinds.map((kind) => askingOf(kind, calm));
  const ask = (): Promise<LoadRun> =>
    run.calm({ connections: calmConnections, perSecond: calmPerSecond, askings, seconds });
  await ask();
  const { msP99: aloneMs } = onlyGood('an app alone', await ask());
  const beside = async (name: string, hasRandomKeys: boolean): Promise<Figure[]> => {
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
    const ms = asked.byStatus['200']?.msP99 ?? Number.NaN;
    return [
      figure(`${name}: p99`, ms, 'ms', { atMost: Math.max(2 * aloneMs, besideMsMost) }),
      figure(`${name}: 503 and others`, countOther(asked, ['200']), '', { atMost: 0 }),
      ...Object.keys(flooded.byStatus).map((status) =>
        figure(`${name}: the flood's ${status}`, perSecondOf(flooded, status), '/s'),
      ),
    ];
  };
  return [
    figure('neighbour alone: p99', aloneMs, 'ms'),
    ...(await beside('neighbour beside a flood with a key', false)),
    ...(await beside('neighbour beside random keys', true)),
  ];
}
