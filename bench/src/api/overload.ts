// Offers five times the requests that the service can take. Measures how fast admitted requests are
// answered, how fast the rest are refused, what that costs in memory, and how soon the service
// recovers.

import { rounded, rssMbOf } from '../../../rig/src/measure.ts';
import type { Service } from '../../../rig/src/service.ts';
import { RunError } from '../../../rig/src/workbench.ts';
import { callForJson } from '../call-api.ts';
import type { OverloadFigures } from '../results.ts';
import { askingOf, type FilledApp } from './fill-app.ts';
import { countOther, perSecondOf, type RunLoad } from './runs.ts';

const times = 5;
/** More connections than the service admits, so that the rest are refused for lack of room. */
const connections = 1_200;
const usualMs = 100;
const usualInARow = 3;
const recoversWithinMs = 60_000;

export interface OverloadPlan {
  readonly service: Service;
  readonly app: FilledApp;
  /** Registrations a second that the service could take, as measured before. */
  readonly capacityPerSecond: number;
  readonly seconds: number;
  readonly apiPids: readonly number[];
}

export async function measureOverload(run: RunLoad, plan: OverloadPlan): Promise<OverloadFigures> {
  const { service, app, capacityPerSecond, seconds, apiPids } = plan;
  const asked = { connections, askings: [askingOf('known devices', app)], perSecond: times * capacityPerSecond };
  const rssMb = async (): Promise<number> => Math.round(Math.max(...(await Promise.all(apiPids.map(rssMbOf)))));
  await run({ ...asked, seconds: seconds / 6 });
  const before = await rssMb();
  const over = await run({ ...asked, seconds });
  const after = await rssMb();
  const recoveredIn = await untilUsual(service, app);
  return {
    meant_per_second: asked.perSecond,
    offered_per_second: Math.round(countOther(over, []) / over.seconds),
    admitted_per_second: perSecondOf(over, '200'),
    admitted_ms_p99: rounded(over.byStatus['200']?.msP99 ?? Number.NaN),
    refused_per_second: perSecondOf(over, '503'),
    refused_ms_p99: rounded(over.byStatus['503']?.msP99 ?? Number.NaN),
    other: countOther(over, ['200', '503']),
    rss_mb_before: before,
    rss_mb_after: after,
    recovery_seconds: rounded(recoveredIn),
  };
}

/** Seconds until `usualInARow` requests in a row are answered within `usualMs`. */
async function untilUsual(service: Service, app: FilledApp): Promise<number> {
  const startedAt = performance.now();
  for (let inARow = 0; inARow < usualInARow; ) {
    if (performance.now() - startedAt > recoversWithinMs) throw new RunError('the service did not recover');
    const askedAt = performance.now();
    const isAnswered = await callForJson({ method: 'GET', url: `${service.url}/v1/config`, key: app.server_key }).then(
      () => true,
      () => false,
    );
    inARow = isAnswered && performance.now() - askedAt < usualMs ? inARow + 1 : 0;
  }
  return (performance.now() - startedAt) / 1000;
}
