// Measures the work `api`: how many requests a second the endpoints answer on two cores that also
// run the load generator. The runs are: without limits, under limits, at five times what the
// service can take, and for one app while a neighbour floods.
import { findDatabaseUrl, type Service, type ServiceProcesses } from '../../rig/src/service.ts';
import { progress, type Workbench } from '../../rig/src/workbench.ts';
import type { BareServerPlan } from './api/bare-server.ts';
import { askingOf, type FilledApp, fillApp, makeKeys } from './api/fill-app.ts';
import { measureNeighbour } from './api/neighbour.ts';
import { measureOverload } from './api/overload.ts';
import { requestKinds } from './api/requests.ts';
import { onlyGood, perSecondOf, type RunLoad, startLoad } from './api/runs.ts';
import { callForJson } from './call-api.ts';
import { startChild } from './child.ts';
import { readPeakRssMb, watchCosts, watchOthers } from './costs.ts';
import { type Figure, figure, figuresOf } from './figures.ts';
import { countProcesses, startOwnService } from './own-service.ts';
import type { Measured, RunOptions } from './results.ts';

const scales = {
  full: { seconds: 10, overloadSeconds: 60, neighbourSeconds: 30, devices: 2_000 },
  quick: { seconds: 1, overloadSeconds: 2, neighbourSeconds: 2, devices: 40 },
};
const connections = 32;
/** The most server keys that an app may have, and how many of them register devices. */
const serverKeys = 20;
const registeringKeys = 6;
/** The rate limit of one server key on the built-in plan `pro`. */
const proPerSecond = 300;
const calmDevices = 200;
/** Targets of R-85, and of a write and a read, in requests a second. */
const [writesWanted, readsWanted] = [1_500, 4_000];
const wanted: Readonly<Record<string, number>> = {
  'new devices': writesWanted,
  config: readsWanted,
  message: readsWanted,
};

export async function measureApi(
  workbench: Workbench,
  { isQuick, profile: profileDir }: RunOptions,
): Promise<Measured> {
  const { seconds, overloadSeconds, neighbourSeconds, devices } = isQuick ? scales.quick : scales.full;
  const environment = { NEW_DEVICES_PER_MINUTE: '0' };
  const { service, processes, postgres } = await startOwnService(workbench, { environment, profileDir });
  const run = startLoad(workbench, 'the load', service);
  const flood = startLoad(workbench, 'the flood', service);
  progress(`filling ${devices} devices`);
  const app = await fillApp(service, 'unlimited', devices);
  const calm = await fillApp(service, 'unlimited', Math.min(calmDevices, devices));
  const countOthers = await watchOthers();

  const rates: Record<string, number> = {};
  const figures: Figure[] = [];
  for (const kind of requestKinds) {
    const plan = { connections, askings: [askingOf(kind, app)], perSecond: null, seconds };
    const { perSecond, others } = await measureEndpoint(run, processes, kind, plan);
    progress(`${kind}: ${perSecond} a second`);
    rates[kind] = perSecond;
    figures.push(figure(kind, perSecond, '/s', { atLeast: wanted[kind] }), ...others);
  }
  const bare = {
    side: 'bare node:http, one row read',
    value: await measureBareReads(workbench, service, app, seconds),
  };
  progress(`bare node:http: ${bare.value} reads a second`);
  figures.push(
    figure('config', rates['config'] ?? Number.NaN, '/s', { beside: bare }),
    ...(await measureUnderLimits(run, service, { devices, seconds })),
    ...(await measureOverload(run, {
      service,
      app,
      capacityPerSecond: rates['known devices'] ?? 0,
      seconds: overloadSeconds,
      apiPids: processes.api,
    })),
    ...(await measureNeighbour({ calm: run, flood }, { calm, flooding: app, seconds: neighbourSeconds })),
    ...figuresOf('peak memory', await readPeakRssMb(processes), 'MB'),
  );
  const foreignCores = await countOthers();
  await service.stop();
  const params = { connections, seconds, devices, ...countProcesses(processes) };
  return { params, figures, foreignCores, postgres };
}

async function measureEndpoint(
  run: RunLoad,
  processes: ServiceProcesses,
  kind: string,
  plan: Parameters<RunLoad>[0],
): Promise<{ readonly perSecond: number; readonly others: readonly Figure[] }> {
  await run({ ...plan, seconds: plan.seconds / 5 });
  const countCosts = await watchCosts(processes);
  const asked = await run(plan);
  const good = onlyGood(kind, asked);
  // Seconds for a thousand requests are milliseconds for one.
  const { cpu } = await countCosts(good.count);
  const others = [
    figure(`${kind}: p50`, good.msP50, 'ms'),
    figure(`${kind}: p99`, good.msP99, 'ms'),
    figure(`${kind}: CPU of the API`, cpu.api, 'ms'),
    figure(`${kind}: CPU of PostgreSQL`, cpu.postgres, 'ms'),
  ];
  return { perSecond: perSecondOf(asked, '200'), others };
}

/**
 * The rate of a bare `node:http` server that reads a row by the service's driver and answers the
 * bytes of `GET /v1/config`.
 */
async function measureBareReads(
  workbench: Workbench,
  service: Service,
  app: FilledApp,
  seconds: number,
): Promise<number> {
  const config = await callForJson({ method: 'GET', url: `${service.url}/v1/config`, key: app.serverKey });
  const program = new URL('api/bare-server.ts', import.meta.url);
  const server = startChild<BareServerPlan>(workbench, 'the bare server', program);
  const databaseUrl = await findDatabaseUrl(service);
  const port = await server.ask<number>({ databaseUrl, body: JSON.stringify(config) });
  const run = startLoad(workbench, 'the load of the bare server', { port });
  const plan = { connections, askings: [askingOf('config', app)], perSecond: null };
  await run({ ...plan, seconds: seconds / 5 });
  const asked = await run({ ...plan, seconds });
  await server.stop();
  onlyGood('the bare server', asked);
  return perSecondOf(asked, '200');
}

/** Twenty server keys read and six register known devices, each as fast as it is answered. */
async function measureUnderLimits(
  run: RunLoad,
  service: Service,
  { devices, seconds }: { readonly devices: number; readonly seconds: number },
): Promise<Figure[]> {
  const pro = await fillApp(service, 'pro', devices);
  const keys = [pro.serverKey, ...(await makeKeys(service, pro, { scope: 'server', count: serverKeys - 1 }))];
  const plan = { connections, perSecond: null, seconds };
  const reads = await run({ ...plan, askings: [askingOf('config', pro, keys)] });
  const known = await run({ ...plan, askings: [askingOf('known devices', pro, keys.slice(0, registeringKeys))] });
  const allowed = (keysMade: number) => ({ side: 'what is allowed', value: keysMade * proPerSecond });
  return [
    figure('plan pro: reads', perSecondOf(reads, '200'), '/s', { beside: allowed(serverKeys) }),
    figure('plan pro: known devices', perSecondOf(known, '200'), '/s', { beside: allowed(registeringKeys) }),
  ];
}
