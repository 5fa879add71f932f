// Measures the work `http2`: CPU time per request of the HTTP/2 client alone, beside a bare loop
// over `node:http2` to the same receiver. The two run in turn, so that a busy machine favours
// neither.

import { median, requireProc, rounded } from '../../rig/src/measure.ts';
import { progress, type Workbench } from '../../rig/src/workbench.ts';
import { startChild } from './child.ts';
import { watchOthers } from './costs.ts';
import { type ClientName, inFlight, type Measured, type ToClient } from './http2/plan.ts';
import { startReceiver } from './receiver.ts';
import { completeResult, type Http2Measured, type Result } from './results.ts';

const clientProgram = new URL('./http2/client.ts', import.meta.url);

const rounds = { full: 5, quick: 1 };
const requests = { own: { full: 300_000, quick: 20_000 }, node: { full: 60_000, quick: 5_000 } };

export async function measureHttp2(
  workbench: Workbench,
  { isQuick }: { readonly isQuick: boolean },
): Promise<Result<Http2Measured>> {
  await requireProc();
  const size = isQuick ? 'quick' : 'full';
  const receiver = await startReceiver(workbench);
  const runs: Record<ClientName, Measured[]> = { own: [], node: [] };
  const countOthers = await watchOthers();
  for (let round = 1; round <= rounds[size]; round++) {
    for (const name of ['node', 'own'] as const) {
      const count = requests[name][size];
      const client = startChild<ToClient>(workbench, `the client ${name}`, clientProgram, [name]);
      const measured = await client.ask<Measured>({ port: receiver.address.ports.apns, warmUp: count / 5, count });
      await client.stop();
      runs[name].push(measured);
      progress(`round ${round}, ${name}: ${rounded(measured.cpuUs)} µs of CPU a request`);
    }
  }
  const foreignCores = await countOthers();
  const figuresOf = (name: ClientName) => ({
    cpu_us_per_request: rounded(median(runs[name].map(({ cpuUs }) => cpuUs))),
    per_second: rounded(median(runs[name].map(({ perSecond }) => perSecond))),
  });
  const [ours, limit] = [figuresOf('own'), figuresOf('node')];
  return completeResult(
    {
      work: 'http2',
      params: { rounds: rounds[size], requests: requests.own[size], in_flight: inFlight, quick: isQuick },
      ours: { ...ours, foreign_cores: foreignCores },
      limit: { name: 'bare node:http2 loop', ...limit },
      ratio_cpu: rounded(limit.cpu_us_per_request / ours.cpu_us_per_request),
      ratio_rate: rounded(ours.per_second / limit.per_second),
    },
    null,
  );
}
