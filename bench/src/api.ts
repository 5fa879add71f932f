// Measures the work `api`: how many requests a second the endpoints answer on two cores that also
// run the load generator. The runs are: without limits, under limits, at five times what the
// service can take, and for one app while a neighbour floods.
import { rounded } from '../../rig/src/measure.ts';
import {
  findDatabaseUrl,
  findProcesses,
  openDatabase,
  readPostgresVersion,
  type Service,
  type ServiceProcesses,
  startService,
} from '../../rig/src/service.ts';
import { progress, type Workbench } from '../../rig/src/workbench.ts';
import type { BareServerPlan } from './api/bare-server.ts';
import { askingOf, type FilledApp, fillApp, makeKeys } from './api/fill-app.ts';
import { measureNeighbour } from './api/neighbour.ts';
import { measureOverload } from './api/overload.ts';
import { requestKinds } from './api/requests.ts';
import { onlyGood, perSecondOf, type RunLoad, startLoad } from './api/runs.ts';
import { callForJson } from './call-api.ts';
import { startChild } from './child.ts';
import { readCpuSeconds, readPeakRssMb, watchOthers } from './costs.ts';
import { type ApiMeasured, completeResult, type EndpointFigures, type Result, type UnderLimits } from './results.ts';

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

export async function measureApi(
  workbench: Workbench,
  { isQuick, profileDir }: { readonly isQuick: boolean; readonly profileDir: string | undefined },
): Promise<Result<ApiMeasured>> {
  const { seconds, overloadSeconds, neighbourSeconds, devices } = isQuick ? scales.quick : scales.full;
  const service = await startService(workbench, await workbench.makeDirectory('data'), {
    environment: { NEW_DEVICES_PER_MINUTE: '0' },
    nodeOptions: profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`],
  });
  const sql = await openDatabase(workbench, service);
  const processes = await findProcesses(service, sql);
  const run = startLoad(workbench, 'the load', service);
  const flood = startLoad(workbench, 'the flood', service);
  progress(`filling ${devices} devices`);
  const app = await fillApp(service, 'unlimited', devices);
  const calm = await fillApp(service, 'unlimited', Math.min(calmDevices, devices));
  const countOthers = await watchOthers();

  const endpoints: Record<string, EndpointFigures> = {};
  for (const kind of requestKinds) {
    endpoints[kind] = await measureEndpoint(run, processes, kind, {
      connections,
      askings: [askingOf(kind, app)],
      perSecond: null,
      seconds,
    });
    progress(`${kind}: ${endpoints[kind].per_second} a second`);
  }
  const bareReads = await measureBareReads(workbench, service, app, seconds);
  progress(`bare node:http: ${bareReads} reads a second`);
  const underLimits = await measureUnderLimits(run, service, { devices, seconds });
  progress(`pro: ${underLimits.reads_per_second} reads, ${underLimits.known_devices_per_second} devices a second`);
  const overload = await measureOverload(run, {
    service,
    app,
    capacityPerSecond: endpoints['known devices']?.per_second ?? 0,
    seconds: overloadSeconds,
    apiPids: processes.api,
  });
  progress(`overload: ${overload.admitted_per_second} of ${overload.offered_per_second} a second admitted`);
  const neighbour = await measureNeighbour({ calm: run, flood }, { calm, flooding: app, seconds: neighbourSeconds });

  const foreignCores = await countOthers();
  const rssMb = await readPeakRssMb(processes);
  const postgres = await readPostgresVersion(sql);
  await service.stop();
  return completeResult(
    {
      work: 'api',
      params: { connections, seconds, devices, quick: isQuick },
      ours: {
        endpoints,
        processes: { api: processes.api.length, worker: processes.worker.length },
        foreign_cores: foreignCores,
        rss_mb: rssMb,
      },
      bare_reads_per_second: bareReads,
      under_limits: underLimits,
      overload,
      neighbour,
    },
    postgres,
  );
}

async function measureEndpoint(
  run: RunLoad,
  processes: ServiceProcesses,
  kind: string,
  plan: Parameters<RunLoad>[0],
): Promise<EndpointFigures> {
  await run({ ...plan, seconds: plan.seconds / 5 });
  const before = await readCpuSeconds(processes);
  const asked = await run(plan);
  const after = await readCpuSeconds(processes);
  const good = onlyGood(kind, asked);
  const cpuMs = (of: 'api' | 'postgres'): number => rounded(((after[of] - before[of]) / good.count) * 1000);
  return {
    per_second: perSecondOf(asked, '200'),
    ms_p50: rounded(good.msP50),
    ms_p99: rounded(good.msP99),
    api_cpu_ms: cpuMs('api'),
    postgres_cpu_ms: cpuMs('postgres'),
  };
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
  const config = await callForJson({ method: 'GET', url: `${service.url}/v1/config`, key: app.server_key });
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
): Promise<UnderLimits> {
  const pro = await fillApp(service, 'pro', devices);
  const keys = [pro.server_key, ...(await makeKeys(service, pro, { scope: 'server', count: serverKeys - 1 }))];
  const plan = { connections, perSecond: null, seconds };
  const reads = await run({ ...plan, askings: [askingOf('config', pro, keys)] });
  const known = await run({ ...plan, askings: [askingOf('known devices', pro, keys.slice(0, registeringKeys))] });
  return {
    plan: 'pro',
    reads_per_second: perSecondOf(reads, '200'),
    reads_per_second_allowed: serverKeys * proPerSecond,
    known_devices_per_second: perSecondOf(known, '200'),
    known_devices_per_second_allowed: registeringKeys * proPerSecond,
  };
}
