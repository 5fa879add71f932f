// `webhooks`: how many events one healthy endpoint is told in a second; and what sends and healthy webhooks notice of endpoints that
// never answer, and of a million events that are held for a disabled one.
import { setTimeout as pause } from 'node:timers/promises';
import type { Sql } from '../../server/src/platform/db.ts';
import { webhooksChannel } from '../../server/src/webhooks/queries.ts';
import { callForJson } from './call-api.ts';
import { startChild } from './child.ts';
import { content } from './content.ts';
import { readCpuSeconds, readPeakRssMb, watchOthers } from './costs.ts';
import { makeCredentials } from './credentials.ts';
import { deviceMaker } from './devices.ts';
import { fillAudience } from './fill-audience.ts';
import { cpuSecondsOf, percentile, requireProc, rounded } from './measure.ts';
import { type Part, profileClockUs, readParts } from './profile.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { completeResult, type Result, type WebhooksMeasured } from './results.ts';
import {
  findProcesses,
  openDatabase,
  readPostgresVersion,
  type Service,
  type ServiceProcesses,
  startService,
} from './service.ts';
import type { EndpointCounts, EndpointPorts, ToEndpoints } from './webhooks/messages.ts';
import {
  fillOutbox,
  type MakeToldApp,
  setEnabled,
  settleOutbox,
  type ToldApp,
  toldAppMaker,
} from './webhooks/told-apps.ts';
import { BenchError, progress, type Workbench } from './workbench.ts';

interface Sizes {
  /** For one healthy endpoint. */
  readonly events: number;
  readonly warmUpEvents: number;
  /** Apps that send, each with a healthy webhook. */
  readonly healthy: number;
  readonly devicesEach: number;
  readonly blackHoles: number;
  readonly eventsPerBlackHole: number;
  readonly heldEvents: number;
}

const full: Sizes = {
  ...{ events: 60_000, warmUpEvents: 5_000, healthy: 50, devicesEach: 1_000 },
  ...{ blackHoles: 50, eventsPerBlackHole: 10_000, heldEvents: 1_000_000 },
};
const quick: Sizes = {
  ...{ events: 3_000, warmUpEvents: 500, healthy: 5, devicesEach: 100 },
  ...{ blackHoles: 5, eventsPerBlackHole: 200, heldEvents: 5_000 },
};

const pollMs = 50;
const withinMs = 10 * 60_000;

interface Bench {
  readonly service: Service;
  readonly sql: Sql;
  readonly processes: ServiceProcesses;
  readonly receiver: Receiver;
  readonly endpoints: Endpoints;
}

interface Endpoints {
  readonly pid: number;
  readonly healthyUrl: string;
  readonly blackHoleUrl: string;
  readonly ports: EndpointPorts;
  reset(): Promise<void>;
  counts(): Promise<EndpointCounts>;
  latencies(): Promise<readonly number[]>;
}

export async function measureWebhooks(
  workbench: Workbench,
  { isQuick, profileDir }: { readonly isQuick: boolean; readonly profileDir: string | undefined },
): Promise<{ result: Result<WebhooksMeasured>; workerParts: readonly Part[] }> {
  await requireProc();
  const sizes = isQuick ? quick : full;
  const receiver = await startReceiver(workbench);
  const endpoints = await startEndpoints(workbench);
  const allowPorts = [receiver.environment['OUTBOUND_ALLOW_PORTS'], ...Object.values(endpoints.ports)].join(',');
  const service = await startService(workbench, await workbench.makeDirectory('data'), {
    environment: { ...receiver.environment, OUTBOUND_ALLOW_PORTS: allowPorts, SEND_WAIT_MS: '0' },
    nodeOptions: profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`],
  });
  const sql = await openDatabase(workbench, service);
  const credentials = makeCredentials(receiver.address);
  const makeToldApp = await toldAppMaker(sql, service, credentials, allowPorts);
  const bench = { service, sql, receiver, endpoints, processes: await findProcesses(service, sql) };

  const one = await makeToldApp(endpoints.healthyUrl);
  await tellOne(bench, one, sizes.warmUpEvents);
  const told = await tellOne(bench, one, sizes.events);
  progress(`one endpoint: ${Math.round(told.perSecond)} requests a second`);

  const senders: ToldApp[] = [];
  for (let i = 0; i < sizes.healthy; i++) {
    const app = await makeToldApp(endpoints.healthyUrl);
    await fillAudience(sql, app, deviceMaker('webpush', receiver.address), receiver, sizes.devicesEach);
    senders.push(app);
  }
  const send = () => sendAll(bench, senders, sizes.devicesEach);
  await send();
  const alone = await send();
  progress(
    `healthy webhooks only: ${Math.round(alone.sendPerSecond)} pushes a second, p99 ${Math.round(alone.p99Ms)} ms`,
  );
  const holes = await digBlackHoles(bench, makeToldApp, sizes);
  for (const hole of holes) await setEnabled(sql, hole, true);
  const beside = await send();
  progress(
    `beside black holes: ${Math.round(beside.sendPerSecond)} pushes a second, p99 ${Math.round(beside.p99Ms)} ms`,
  );
  for (const hole of holes) await setEnabled(sql, hole, false);
  await sql`TRUNCATE webhook_events`;
  await settleOutbox(sql);
  // Again without any: what the machine does by then.
  const after = await send();
  const [held] = holes;
  if (held) await fillOutbox(sql, held, sizes.heldEvents);
  await settleOutbox(sql);
  const besideHeld = await send();
  progress(
    `beside held events: ${Math.round(besideHeld.sendPerSecond)} pushes a second, ${Math.round(after.sendPerSecond)} without`,
  );

  const postgres = await readPostgresVersion(sql);
  const rssMb = await readPeakRssMb(bench.processes);
  await service.stop();
  const workerParts =
    profileDir === undefined
      ? []
      : (
          await Promise.all(bench.processes.worker.map((pid) => readParts(profileDir, pid, told.span, told.workerUs)))
        ).flat();
  const measured: WebhooksMeasured = {
    work: 'webhooks',
    params: { ...sizes, quick: isQuick },
    ours: {
      per_second: Math.round(told.perSecond),
      ms_p50: rounded(alone.p50Ms),
      ms_p99: rounded(alone.p99Ms),
      processes: { api: bench.processes.api.length, worker: bench.processes.worker.length },
      cpu_seconds_per_1000: rounded(told.cpu.worker + told.cpu.postgres + told.cpu.api + told.cpu.supervisor),
      cpu_seconds_per_1000_by_process: told.cpu,
      receiver_cpu_seconds_per_1000: told.receiverCpu,
      rss_mb: rssMb,
      foreign_cores: told.foreignCores,
    },
    black_holes: {
      requests: beside.blackHoleRequests,
      ms_p99: rounded(beside.p99Ms),
      ms_p99_without: rounded(alone.p99Ms),
      send_per_second: Math.round(beside.sendPerSecond),
      send_per_second_without: Math.round(alone.sendPerSecond),
      ratio_send: rounded(beside.sendPerSecond / alone.sendPerSecond),
      foreign_cores: beside.foreignCores,
    },
    held: {
      ms_p99: rounded(besideHeld.p99Ms),
      send_per_second: Math.round(besideHeld.sendPerSecond),
      send_per_second_without: Math.round(after.sendPerSecond),
      ratio_send: rounded(besideHeld.sendPerSecond / after.sendPerSecond),
      ratio_told: rounded(besideHeld.toldPerSecond / after.toldPerSecond),
      foreign_cores: besideHeld.foreignCores,
    },
  };
  return { result: completeResult(measured, postgres), workerParts };
}

async function startEndpoints(workbench: Workbench): Promise<Endpoints> {
  const program = new URL('./webhooks/endpoints-main.ts', import.meta.url);
  const child = startChild<ToEndpoints>(workbench, 'the endpoints', program);
  const ports = await child.ask<EndpointPorts>({ type: 'where' });
  return {
    pid: child.pid,
    ports,
    healthyUrl: `https://localhost:${ports.healthy}/hooks`,
    blackHoleUrl: `https://localhost:${ports.blackHole}/hooks`,
    reset: () => child.ask({ type: 'reset' }),
    counts: () => child.ask<EndpointCounts>({ type: 'counts' }),
    latencies: () => child.ask<readonly number[]>({ type: 'latencies' }),
  };
}

/** Fills an outbox while its webhook is disabled, enables it, and waits until all of it was told. */
async function tellOne({ sql, endpoints, processes }: Bench, app: ToldApp, events: number) {
  await setEnabled(sql, app, false);
  await fillOutbox(sql, app, events);
  await settleOutbox(sql);
  await endpoints.reset();
  const fromUs = profileClockUs();
  const countOthers = await watchOthers();
  const before = await readCpuSeconds(processes);
  const receiverBefore = await cpuSecondsOf(endpoints.pid);
  await setEnabled(sql, app, true);
  await sql`SELECT pg_notify(${webhooksChannel}, '')`;
  const { firstAtMs, lastAtMs } = await untilTold(endpoints, events);
  await untilEmpty(sql, app);
  const after = await readCpuSeconds(processes);
  const foreignCores = await countOthers();
  const receiverCpu = rounded((((await cpuSecondsOf(endpoints.pid)) - receiverBefore) / events) * 1000);
  const per1000 = (name: keyof typeof before): number => rounded(((after[name] - before[name]) / events) * 1000);
  const cpu = {
    ...{ api: per1000('api'), worker: per1000('worker') },
    ...{ supervisor: per1000('supervisor'), postgres: per1000('postgres') },
  };
  const span = { fromUs, toUs: profileClockUs() };
  const perSecond = (events / (lastAtMs - firstAtMs)) * 1000;
  return { perSecond, cpu, receiverCpu, foreignCores, span, workerUs: cpu.worker * 1000 };
}

async function untilTold(endpoints: Endpoints, events: number): Promise<EndpointCounts> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const counts = await endpoints.counts();
    if (counts.healthy >= events) {
      if (counts.healthy > events) throw new BenchError(`${counts.healthy} requests came for ${events} events`);
      return counts;
    }
    if (performance.now() > deadline) throw new BenchError(`only ${counts.healthy} of ${events} events were told`);
    await pause(pollMs);
  }
}

/** The last acknowledgement is written, too. */
async function untilEmpty(sql: Sql, { appId, webhookId }: ToldApp): Promise<void> {
  for (;;) {
    const left = await sql`SELECT 1 FROM webhook_events WHERE app_id = ${appId} AND webhook_id = ${webhookId} LIMIT 1`;
    if (left.length === 0) return;
    await pause(pollMs);
  }
}

interface Sent {
  readonly sendPerSecond: number;
  readonly toldPerSecond: number;
  /** From an outcome to its request. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly blackHoleRequests: number;
  readonly foreignCores: number;
}

/** Each app sends to all of its devices, all at once; until every outcome has been told. */
async function sendAll(bench: Bench, senders: readonly ToldApp[], devicesEach: number): Promise<Sent> {
  const { service, sql, receiver, endpoints } = bench;
  const pushes = senders.length * devicesEach;
  await receiver.reset();
  await endpoints.reset();
  const countOthers = await watchOthers();
  const startedAtMs = Date.now();
  const asked = senders.map(({ serverKey: key }) =>
    callForJson<{ id: string }>({
      ...{ method: 'POST', url: `${service.url}/v1/messages`, key },
      body: { audience: { all: true }, content },
    }),
  );
  await Promise.all(asked);
  const counts = await untilTold(endpoints, pushes);
  const latenciesMs = await endpoints.latencies();
  const [row] = await sql<{ open: number; finishedAt: Date }[]>`
    SELECT count(*) FILTER (WHERE status = 'sending') AS open, max(finished_at) AS finished_at FROM messages`;
  if (!row || row.open > 0) throw new BenchError('messages are under way whose outcomes have all been told');
  const foreignCores = await countOthers();
  await receiver.expectPushes({ webpush: pushes });
  return {
    sendPerSecond: (pushes / (row.finishedAt.getTime() - startedAtMs)) * 1000,
    toldPerSecond: (pushes / (counts.lastAtMs - startedAtMs)) * 1000,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    blackHoleRequests: counts.blackHole,
    foreignCores,
  };
}

/** Webhooks that will never be answered, disabled until all of them are there, each with a full outbox. */
async function digBlackHoles({ sql, endpoints }: Bench, make: MakeToldApp, sizes: Sizes): Promise<ToldApp[]> {
  const holes: ToldApp[] = [];
  for (let i = 0; i < sizes.blackHoles; i++) {
    const hole = await make(endpoints.blackHoleUrl);
    await setEnabled(sql, hole, false);
    await fillOutbox(sql, hole, sizes.eventsPerBlackHole);
    holes.push(hole);
  }
  await settleOutbox(sql);
  return holes;
}
