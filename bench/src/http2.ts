// Measures the work `http2`: CPU time per request of the HTTP/2 client alone, beside a bare loop
// over `node:http2` to the same receiver. The two run in turn, so that a busy machine favours
// neither.

import { median, rounded } from '../../rig/src/measure.ts';
import { progress, type Workbench } from '../../rig/src/workbench.ts';
import { startChild } from './child.ts';
import { watchOthers } from './costs.ts';
import { figure } from './figures.ts';
import { type ClientName, type ClientRun, inFlight, type ToClient } from './http2/plan.ts';
import { startReceiver } from './receiver.ts';
import type { Measured, RunOptions } from './results.ts';

const clientProgram = new URL('./http2/client.ts', import.meta.url);

const rounds = { full: 5, quick: 1 };
const requests = { own: { full: 300_000, quick: 20_000 }, node: { full: 60_000, quick: 5_000 } };

export async function measureHttp2(workbench: Workbench, { isQuick }: RunOptions): Promise<Measured> {
  const size = isQuick ? 'quick' : 'full';
  const receiver = await startReceiver(workbench);
  const runs: Record<ClientName, ClientRun[]> = { own: [], node: [] };
  const countOthers = await watchOthers();
  for (let round = 1; round <= rounds[size]; round++) {
    for (const name of ['node', 'own'] as const) {
      const count = requests[name][size];
      const client = startChild<ToClient>(workbench, `the client ${name}`, clientProgram, [name]);
      const measured = await client.ask<ClientRun>({ port: receiver.address.ports.apns, warmUp: count / 5, count });
      await client.stop();
      runs[name].push(measured);
      progress(`round ${round}, ${name}: ${rounded(measured.cpuUs)} µs of CPU a request`);
    }
  }
  const foreignCores = await countOthers();
  const [cpuUs, bareCpuUs] = [median(runs.own.map((run) => run.cpuUs)), median(runs.node.map((run) => run.cpuUs))];
  const [rate, bareRate] = [
    median(runs.own.map((run) => run.perSecond)),
    median(runs.node.map((run) => run.perSecond)),
  ];
  const side = 'a bare node:http2 loop';
  return {
    params: { rounds: rounds[size], requests: requests.own[size], in_flight: inFlight },
    figures: [
      figure('CPU of a request', cpuUs, 'µs', { atMost: 10 }),
      figure('CPU of a request', cpuUs, 'µs', { beside: { side, value: bareCpuUs } }),
      figure('requests a second', rate, '/s', { beside: { side, value: bareRate } }),
    ],
    foreignCores,
    postgres: null,
  };
}
