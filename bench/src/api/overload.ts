// Offers five times the requests that the service can take. Measures how fast admitted requests are
// answered, how fast the rest are refused, what that costs in memory, and how soon the service
// recovers.

import { rssMbOf } from '../../../rig/src/measure.ts';
import type { Service } from '../../../rig/src/service.ts';
import { progress, RunError } from '../../../rig/src/workbench.ts';
import { callForJson } from '../call-api.ts';
import { type Figure, figure } from '../figures.ts';
import { askingOf, type FilledApp } from './fill-app.ts';
import { countOther, perSecondOf, type RunLoad } from './runs.ts';

const times = 5;
/** More connections than the service admits, so that the rest are refused for lack of room. */
const connections = 1_200;
const usualMs = 100;
const usualInARow = 3;
const recoversWithinMs = 60_000;
/** Targets. */
const [admittedMsMost, refusedMsMost, recoverySecondsMost] = [1_000, 100, 10];

export interface OverloadPlan {
  readonly service: Service;
  readonly app: FilledApp;
  /** Registrations a second that the service could take, as measured before. */
  readonly capacityPerSecond: number;
  readonly seconds: number;
  readonly apiPids: readonly number[];
}

export async function measureOverload(run: RunLoad, plan: OverloadPlan): Promise<Figure[]> {
  const { service, app, capacityPerSecond, seconds, apiPids } = plan;
  const asked = { connections, askings: [askingOf('known devices', app)], perSecond: times * capacityPerSecond };
  const rssMb = async (): Promise<number> => Math.round(Math.max(...(await Promise.all(apiPids.map(rssMbOf)))));
  await run({ ...asked, seconds: seconds / 6 });
  const before = await rssMb();
  const over = await run({ ...asked, seconds });
  const after = await rssMb();
  const recoveredIn = await untilUsual(service, app);
  const admitted = perSecondOf(over, '200');
  const offered = countOther(over, []) / over.seconds;
  progress(`overload: ${admitted} of ${Math.round(offered)} a second admitted`);
  const p99 = (status: string): number => over.byStatus[status]?.msP99 ?? Number.NaN;
  return [
    // The generator may not keep up.
    figure('overload: offered', offered, '/s', { beside: { side: 'what was meant', value: asked.perSecond } }),
    figure('overload: admitted', admitted, '/s'),
    figure('overload: admitted, p99', p99('200'), 'ms', { atMost: admittedMsMost }),
    figure('overload: refused with 503', perSecondOf(over, '503'), '/s'),
    figure('overload: refused, p99', p99('503'), 'ms', { atMost: refusedMsMost }),
    figure('overload: other answers and lost connections', countOther(over, ['200', '503']), ''),
    figure('overload: memory of the API before', before, 'MB'),
    figure('overload: memory of the API after', after, 'MB'),
    figure('overload: usual again', recoveredIn, 's', { atMost: recoverySecondsMost }),
  ];
}

/** Seconds until `usualInARow` requests in a row are answered within `usualMs`. */
async function untilUsual(service: Service, app: FilledApp): Promise<number> {
  const startedAt = performance.now();
  for (let inARow = 0; inARow < usualInARow; ) {
    if (performance.now() - startedAt > recoversWithinMs) throw new RunError('the service did not recover');
    const askedAt = performance.now();
    const isAnswered = await callForJson({ method: 'GET', url: `${service.url}/v1/config`, key: app.serverKey }).then(
      () => true,
      () => false,
    );
    inARow = isAnswered && performance.now() - askedAt < usualMs ? inARow + 1 : 0;
  }
  return (performance.now() - startedAt) / 1000;
}
