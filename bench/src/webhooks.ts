// Measures the work `webhooks`: how many events a second one healthy endpoint is told. It also
// measures what sends and healthy webhooks notice of endpoints that never answer, and of a million
// events that are held for a disabled webhook.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';
import { percentile, rounded } from '../../rig/src/measure.ts';
import { progress, RunError, type Workbench } from '../../rig/src/workbench.ts';
import { encodeId, type Uuid } from '../../server/src/ground/values/ids.ts';
import { bringForgottenForward } from '../../server/src/sending/webhooks/work-queries.ts';
import { callForJson } from './call-api.ts';
import { startChild } from './child.ts';
import { content } from './content.ts';
import { readPeakRssMb, totalOf, watchCosts } from './costs.ts';
import { makeCredentials } from './credentials.ts';
import { deviceMaker } from './devices.ts';
import { type Figure, figure, figuresOf, percentiles } from './figures.ts';
import { fillAudience } from './fill-audience.ts';
import { countProcesses, type OwnService, startOwnService } from './own-service.ts';
import { profileClockUs, readParts } from './profile.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import type { Measured, RunOptions } from './results.ts';
import type { EndpointCounts, EndpointPorts, ToEndpoints } from './webhooks/messages.ts';
import {
  fillOutbox,
  type MakeToldApp,
  setEnabled,
  settleOutbox,
  type ToldApp,
  toldAppMaker,
} from './webhooks/told-apps.ts';

interface Sizes {
  /** Events for one healthy endpoint. */
  readonly events: number;
  readonly warmUpEvents: number;
  /** The number of apps that send, each with a healthy webhook. */
  readonly healthy: number;
  readonly devicesEach: number;
  /** Devices of each app in the slow runs, which send `slowPerSecond` and measure latencies. */
  readonly slowDevicesEach: number;
  readonly slowPerSecond: number;
  readonly blackHoles: number;
  readonly eventsPerBlackHole: number;
  readonly heldEvents: number;
}

const full: Sizes = {
  events: 60_000,
  warmUpEvents: 5_000,
  healthy: 50,
  devicesEach: 1_000,
  slowDevicesEach: 200,
  slowPerSecond: 10,
  blackHoles: 50,
  eventsPerBlackHole: 10_000,
  heldEvents: 1_000_000,
};
const quick: Sizes = {
  events: 1_000,
  warmUpEvents: 200,
  healthy: 5,
  devicesEach: 100,
  slowDevicesEach: 50,
  slowPerSecond: 10,
  blackHoles: 5,
  eventsPerBlackHole: 100,
  heldEvents: 5_000,
};

const pollMs = 50;
const withinMs = 10 * 60_000;

interface Bench extends OwnService {
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
  { isQuick, profile: profileDir }: RunOptions,
): Promise<Measured> {
  const sizes = isQuick ? quick : full;
  const receiver = await startReceiver(workbench);
  const endpoints = await startEndpoints(workbench);
  const allowPorts = [receiver.environment['OUTBOUND_ALLOW_PORTS'], ...Object.values(endpoints.ports)].join(',');
  const environment = { ...receiver.environment, OUTBOUND_ALLOW_PORTS: allowPorts, SEND_WAIT_MS: '0' };
  const own = await startOwnService(workbench, { environment, profileDir });
  const { service, sql, processes, postgres } = own;
  const credentials = makeCredentials(receiver.address);
  const makeToldApp = await toldAppMaker(sql, service, credentials, allowPorts);
  const bench = { ...own, receiver, endpoints };

  const one = await makeToldApp(endpoints.healthyUrl);
  await tellAll(bench, [one], sizes.warmUpEvents);
  const told = await tellAll(bench, [one], sizes.events);
  progress(`one endpoint: ${Math.round(told.perSecond)} requests a second`);

  const senders: ToldApp[] = [];
  for (let i = 0; i < sizes.healthy; i++) {
    const app = await makeToldApp(endpoints.healthyUrl);
    await fillAudience(sql, app, deviceMaker('webpush', receiver.address), receiver, sizes.devicesEach);
    senders.push(app);
  }
  const toldMany = await tellAll(bench, senders, sizes.events);
  progress(`${senders.length} endpoints: ${Math.round(toldMany.perSecond)} requests a second`);

  // The baseline comes first, after one run that warms up. The order is fixed, because earlier
  // sends leave connections open.
  await sendAll(bench, senders, sizes);
  const calm = await sendSlowly(bench, senders, sizes);
  const alone = { ...(await sendAll(bench, senders, sizes)), latencies: calm };
  progress(`nothing beside: ${describeRun(alone)}`);
  const holes = await digBlackHoles(bench, makeToldApp, sizes);
  for (const hole of holes) await setEnabled(sql, hole, true);
  const late = await sendSlowly(bench, senders, sizes);
  const holesCalled = (await endpoints.counts()).blackHole;
  // Enables the webhooks again with no failures, as if their endpoints had answered until now.
  for (const hole of holes) await setEnabled(sql, hole, true);
  const beside = { ...(await sendAll(bench, senders, sizes)), latencies: late };
  progress(`beside black holes: ${describeRun(beside)}`);
  for (const hole of holes) await setEnabled(sql, hole, false);
  await sql`DELETE FROM webhook_events`;
  const [held] = holes;
  if (held) await fillOutbox(sql, held, sizes.heldEvents);
  await settleOutbox(sql);
  const heldLatencies = await sendSlowly(bench, senders, sizes);
  const besideHeld = { ...(await sendAll(bench, senders, sizes)), latencies: heldLatencies };
  progress(`beside held events: ${describeRun(besideHeld)}`);

  const rssMb = await readPeakRssMb(processes);
  await service.stop();
  const { cpu, span } = told;
  return {
    params: { ...sizes, ...countProcesses(processes) },
    figures: [
      figure('requests a second: one endpoint', told.perSecond, '/s', { atLeast: 2_000 }),
      figure('requests a second: as many endpoints as senders', toldMany.perSecond, '/s'),
      ...percentiles('event to request', alone.latencies),
      figure('pushes a second', alone.sendPerSecond, '/s'),
      figure('CPU for 1,000 pushes', alone.cpuSecondsPer1000, 's'),
      ...compare('black holes', beside, alone, 0.95),
      figure('black holes: requests', holesCalled, ''),
      ...compare('held events', besideHeld, alone),
      figure('CPU for 1,000', totalOf(cpu), 's'),
      ...figuresOf('CPU for 1,000', cpu, 's'),
      ...figuresOf('peak memory', rssMb, 'MB'),
      ...(await readParts({ directory: profileDir, pids: processes.worker, span, usPerPush: cpu.worker * 1000 })),
    ],
    foreignCores: Math.max(...[told, alone, beside, besideHeld].map((run) => run.foreignCores)),
    postgres,
  };
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

/**
 * Fills outboxes while their webhooks are disabled, enables them, and waits until all events were
 * told.
 */
async function tellAll({ sql, endpoints, processes }: Bench, apps: readonly ToldApp[], events: number) {
  for (const app of apps) {
    await setEnabled(sql, app, false);
    await fillOutbox(sql, app, Math.ceil(events / apps.length));
  }
  const all = Math.ceil(events / apps.length) * apps.length;
  await settleOutbox(sql);
  await endpoints.reset();
  const fromUs = profileClockUs();
  const countCosts = await watchCosts({ ...processes, 'the endpoint': [endpoints.pid] });
  for (const app of apps) await setEnabled(sql, app, true);
  await bringForgottenForward(sql);
  const { firstAtMs, lastAtMs } = await untilTold(endpoints, all);
  await untilEmpty(sql);
  const { cpu, foreignCores } = await countCosts(all);
  const span = { fromUs, toUs: profileClockUs() };
  const perSecond = (all / (lastAtMs - firstAtMs)) * 1000;
  return { perSecond, cpu, foreignCores, span };
}

async function untilTold(endpoints: Endpoints, events: number): Promise<EndpointCounts> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const counts = await endpoints.counts();
    if (counts.healthy >= events) {
      if (counts.healthy > events) throw new RunError(`${counts.healthy} requests came for ${events} events`);
      return counts;
    }
    if (performance.now() > deadline) throw new RunError(`only ${counts.healthy} of ${events} events were told`);
    await sleep(pollMs);
  }
}

/**
 * Waits until the last acknowledgement is stored, too. At this point only enabled webhooks have
 * events.
 */
async function untilEmpty(sql: Sql): Promise<void> {
  for (;;) {
    const left = await sql`SELECT 1 FROM webhook_events LIMIT 1`;
    if (left.length === 0) return;
    await sleep(pollMs);
  }
}

interface Sent {
  readonly sendPerSecond: number;
  /**
   * CPU seconds for a thousand pushes with the requests that tell of them, all of Carillon's
   * processes together.
   */
  readonly cpuSecondsPer1000: number;
  readonly toldPerSecond: number;
  readonly foreignCores: number;
}

interface Run extends Sent {
  /** From an outcome to its request, while events come no faster than they can be told. */
  readonly latencies: readonly number[];
}

/** A repeated run beside something that should cost nothing. */
function compare(name: string, run: Run, alone: Run, atLeast?: number): Figure[] {
  const beside = (value: number) => ({ side: 'alone', value });
  return [
    figure(`${name}: pushes a second`, run.sendPerSecond, '/s', { beside: beside(alone.sendPerSecond), atLeast }),
    figure(`${name}: events told a second`, run.toldPerSecond, '/s', { beside: beside(alone.toldPerSecond) }),
    figure(`${name}: CPU for 1,000 pushes`, run.cpuSecondsPer1000, 's'),
    figure(`${name}: event to request, p99`, percentile(run.latencies, 0.99), 'ms'),
  ];
}

function describeRun({ sendPerSecond, toldPerSecond, cpuSecondsPer1000, latencies }: Run): string {
  const p99 = Math.round(percentile(latencies, 0.99));
  return `${Math.round(sendPerSecond)} pushes and ${Math.round(toldPerSecond)} events a second, ${rounded(cpuSecondsPer1000)} CPU s / 1,000; p99 ${p99} ms`;
}

/**
 * All apps send to all of their devices at once, as fast as they can. Ends when every outcome has
 * been told.
 */
async function sendAll(bench: Bench, senders: readonly ToldApp[], { devicesEach }: Sizes): Promise<Sent> {
  const { sql, receiver, endpoints, processes } = bench;
  const pushes = senders.length * devicesEach;
  await receiver.reset();
  await endpoints.reset();
  const countCosts = await watchCosts(processes);
  const startedAtMs = Date.now();
  await Promise.all(senders.map((app) => post(bench, app, { audience: { all: true }, content })));
  const counts = await untilTold(endpoints, pushes);
  const [row] = await sql<{ open: number; finishedAt: Date }[]>`
    SELECT count(*) FILTER (WHERE status = 'sending') AS open, max(finished_at) AS finished_at FROM messages`;
  if (!row || row.open > 0) throw new RunError('messages are under way whose outcomes have all been told');
  const { cpu, foreignCores } = await countCosts(pushes);
  try {
    await receiver.expectPushes({ webpush: pushes });
  } catch (error) {
    throw new RunError(`${(error as Error).message}; ${await describeRepeats(sql)}`);
  }
  return {
    sendPerSecond: (pushes / (row.finishedAt.getTime() - startedAtMs)) * 1000,
    toldPerSecond: (pushes / (counts.lastAtMs - startedAtMs)) * 1000,
    cpuSecondsPer1000: totalOf(cpu),
    foreignCores,
  };
}

/** Describes, from the timelines, why pushes were made again. */
async function describeRepeats(sql: Sql): Promise<string> {
  const reasons = await sql<{ code: string; error: string | null; count: number }[]>`
    SELECT entry ->> 'error_code' AS code, entry -> 'provider' ->> 'transport_error' AS error, count(*) AS count
    FROM deliveries CROSS JOIN LATERAL json_array_elements(timeline) AS entry
    WHERE attempts > 1 AND entry ->> 'outcome' = 'retry' GROUP BY 1, 2 ORDER BY 3 DESC`;
  if (reasons.length === 0) return 'no delivery had a second attempt';
  return reasons.map(({ code, error, count }) => `${count} were tried again for ${error ?? code}`).join(', ');
}

/**
 * Each app sends to some devices, at a rate that leaves time to tell of each outcome. Returns the
 * time from each outcome to its request.
 */
async function sendSlowly(
  bench: Bench,
  senders: readonly ToldApp[],
  { slowDevicesEach, slowPerSecond }: Sizes,
): Promise<readonly number[]> {
  const { sql, endpoints } = bench;
  await endpoints.reset();
  await Promise.all(
    senders.map(async (app) => {
      const rows = await sql<{ id: Uuid }[]>`
        SELECT id FROM devices WHERE app_id = ${app.appId} ORDER BY id LIMIT ${slowDevicesEach}`;
      const audience = { device_ids: rows.map(({ id }) => encodeId('dev', id)) };
      await post(bench, app, { audience, content, per_second: slowPerSecond });
    }),
  );
  await untilTold(endpoints, senders.length * slowDevicesEach);
  return endpoints.latencies();
}

async function post({ service }: Bench, { serverKey: key }: ToldApp, body: object): Promise<void> {
  await callForJson<{ id: string }>({ method: 'POST', url: `${service.url}/v1/messages`, key, body });
}

/**
 * Makes webhooks that will never get an answer, each with a full outbox. They are disabled until
 * all of them exist.
 */
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
