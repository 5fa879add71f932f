// `send`: one message to many devices, from its request to the commit of its last delivery, against the library that people
// would use instead and against a bare loop, all in one run and at one receiver.
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import type { Sql } from '../../server/src/platform/db.ts';
import { callForJson } from './call-api.ts';
import { content, payloadOfOne, ttlSeconds } from './content.ts';
import { fillAudience } from './fill-audience.ts';
import {
  cpuSecondsOf,
  cpuSecondsOfMachine,
  cpuSecondsOfTree,
  listChildren,
  peakRssMbOf,
  requireProc,
  rounded,
} from './measure.ts';
import { makeApp, type OwnApp } from './own-app.ts';
import { inFlight } from './peers/peer.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { type ByProcess, completeResult, type Result, type SendFigures, type SendMeasured } from './results.ts';
import { type PeerRun, runPeer } from './run-peer.ts';
import { findProcesses, openDatabase, type Service, type ServiceProcesses, startService } from './service.ts';
import { BenchError, progress, type Workbench } from './workbench.ts';

export interface SendOptions {
  readonly devices: number;
  readonly isQuick: boolean;
}

/** Enough for a steady rate of a peer that does 700 a second. */
const peerPushes = { full: 20_000, quick: 1_000 };
/** Compiles what is hot, opens connections, and is counted on neither side. */
const warmUpPushes = 1_000;
const pollMs = 200;
const sendWithinMs = 30 * 60_000;

export async function measureSend(workbench: Workbench, options: SendOptions): Promise<Result<SendMeasured>> {
  await requireProc();
  const { devices, isQuick } = options;
  const receiver = await startReceiver(workbench);
  const payload = payloadOfOne().toString('utf8');
  const pushes = isQuick ? peerPushes.quick : peerPushes.full;
  const setup = { address: receiver.address, subscriptions: Math.min(pushes, 5_000), payload, ttlSeconds };
  const plan = { setup, pushes, warmUpPushes: isQuick ? 200 : warmUpPushes };
  // The peers first: then nothing of ours is there to slow them.
  const library = await runPeer(workbench, receiver, {
    ...plan,
    name: 'web-push',
    program: new URL('./peers/web-push.ts', import.meta.url),
  });
  const loop = await runPeer(workbench, receiver, {
    ...plan,
    name: 'bare loop',
    program: new URL('./peers/bare-loop.ts', import.meta.url),
  });
  const { ours, foreignCpu, postgres } = await measureOurs(workbench, receiver, options);

  const measured: SendMeasured = {
    work: 'send',
    params: { channel: 'webpush', devices, peer_pushes: pushes, payload_bytes: payload.length, quick: isQuick },
    ours,
    peers: [
      {
        name: 'web-push',
        version: versionOf('web-push'),
        ...presentPeer(library),
        processes: 1,
        note: `keep-alive agent, ${inFlight} in flight, sends only`,
      },
    ],
    limit: { name: 'bare node:http2 loop that encrypts', ...presentPeer(loop) },
    ratio_best_peer: rounded(ours.per_second / library.perSecond),
    ratio_best_peer_cpu: rounded(library.cpuSecondsPer1000 / ours.cpu_seconds_per_1000),
    ratio_limit: rounded(ours.per_second / loop.perSecond),
    foreign_cpu: foreignCpu,
  };
  return completeResult(measured, postgres);
}

function presentPeer({ perSecond, cpuSecondsPer1000, receiverCpuSecondsPer1000 }: PeerRun) {
  return {
    per_second: Math.round(perSecond),
    cpu_seconds_per_1000: rounded(cpuSecondsPer1000),
    receiver_cpu_seconds_per_1000: rounded(receiverCpuSecondsPer1000),
  };
}

function versionOf(name: string): string {
  const { version } = createRequire(import.meta.url)(`${name}/package.json`) as { version: string };
  return version;
}

interface OurRun {
  readonly ours: SendFigures;
  readonly foreignCpu: number;
  readonly postgres: string;
}

async function measureOurs(workbench: Workbench, receiver: Receiver, { devices }: SendOptions): Promise<OurRun> {
  const dataDir = await workbench.makeDirectory('data');
  const service = await startService(workbench, dataDir, receiver.environment);
  const app = await makeApp(service);
  const sql = await openDatabase(workbench, service);
  progress(`filling ${devices} devices`);
  await fillAudience(sql, app, receiver, devices);
  const processes = await findProcesses(service, sql);

  await sendTo(service, app, await listSome(service, app, Math.min(devices, warmUpPushes)));
  await receiver.reset();
  const before = await readCosts(processes, receiver);
  const sent = await sendTo(service, app, { all: true });
  const after = await readCosts(processes, receiver);
  await receiver.expectAccepted(devices);
  expectAllSent(sent.message, devices);
  progress(`carillon: ${Math.round(devices / sent.seconds)} pushes a second`);

  const costOf = (name: keyof Costs): number => ((after[name] - before[name]) / devices) * 1000;
  const byProcess = forEachProcess((name) => rounded(costOf(name)));
  const total = costOf('api') + costOf('worker') + costOf('supervisor') + costOf('postgres');
  const foreign = (costOf('machine') - total - costOf('receiver') - costOf('bench')) * (devices / 1000);
  const [server] = await sql<{ version: string }[]>`SELECT current_setting('server_version') AS version`;
  const ours = {
    per_second: Math.round(devices / sent.seconds),
    processes: { api: processes.api.length, worker: processes.worker.length },
    cpu_seconds_per_1000: rounded(total),
    cpu_seconds_per_1000_by_process: byProcess,
    receiver_cpu_seconds_per_1000: rounded(costOf('receiver')),
    rss_mb: await readPeakRss(processes),
    bytes_per_delivery: await readBytesPerDelivery(sql),
    seconds: rounded(sent.seconds),
  };
  return {
    ours,
    foreignCpu: rounded(Math.max(0, foreign) / (after.at - before.at), 2),
    postgres: server?.version ?? 'unknown',
  };
}

/** The devices of a warm-up, by id. */
async function listSome(service: Service, app: OwnApp, count: number): Promise<{ device_ids: string[] }> {
  const ids: string[] = [];
  for (let cursor = ''; ids.length < count; ) {
    const page: { data: { id: string }[]; next_cursor: string | null } = await callForJson({
      method: 'GET',
      url: `${service.url}/v1/devices?limit=200${cursor}`,
      key: app.serverKey,
    });
    ids.push(...page.data.map((device) => device.id));
    if (page.next_cursor === null) break;
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
  return { device_ids: ids.slice(0, count) };
}

interface SentMessage {
  readonly finished_at: string | null;
  readonly report: {
    readonly accepted: number;
    readonly sent: number;
    readonly failed: number;
    readonly skipped: number;
  };
}

/** Sends, waits until every delivery is final, and says how long that took by the database's own record of it. */
async function sendTo(
  service: Service,
  app: OwnApp,
  audience: object,
): Promise<{ message: SentMessage; seconds: number }> {
  const key = app.serverKey;
  const startedAtMs = Date.now();
  const { id } = await callForJson<{ id: string }>({
    method: 'POST',
    url: `${service.url}/v1/messages`,
    key,
    body: { audience, content },
  });
  for (;;) {
    const message = await callForJson<SentMessage>({ method: 'GET', url: `${service.url}/v1/messages/${id}`, key });
    if (message.finished_at !== null) {
      return { message, seconds: (Date.parse(message.finished_at) - startedAtMs) / 1000 };
    }
    if (Date.now() - startedAtMs > sendWithinMs) {
      throw new BenchError(
        `the message is not finished after ${sendWithinMs / 60_000} minutes: ${JSON.stringify(message)}`,
      );
    }
    await pause(pollMs);
  }
}

function expectAllSent({ report }: SentMessage, devices: number): void {
  if (report.accepted === devices && report.sent === devices) return;
  throw new BenchError(`not all ${devices} were sent: ${JSON.stringify(report)}`);
}

interface Costs extends ByProcess {
  readonly receiver: number;
  readonly bench: number;
  readonly machine: number;
  /** In seconds. */
  readonly at: number;
}

/** CPU seconds of everything so far. */
async function readCosts(processes: ServiceProcesses, receiver: Receiver): Promise<Costs> {
  const sumOf = async (pids: readonly number[]): Promise<number> =>
    (await Promise.all(pids.map(cpuSecondsOf))).reduce((sum, each) => sum + each, 0);
  const trees = await Promise.all(processes.postgres.map(cpuSecondsOfTree));
  return {
    api: await sumOf(processes.api),
    worker: await sumOf(processes.worker),
    supervisor: await sumOf(processes.supervisor),
    postgres: trees.reduce((sum, each) => sum + each, 0),
    receiver: await cpuSecondsOf(receiver.pid),
    bench: await cpuSecondsOf(process.pid),
    machine: await cpuSecondsOfMachine(),
    at: performance.now() / 1000,
  };
}

async function readPeakRss(processes: ServiceProcesses): Promise<ByProcess> {
  const largest = async (pids: readonly number[]): Promise<number> =>
    Math.ceil(Math.max(0, ...(await Promise.all(pids.map(peakRssMbOf)))));
  const connections = (await Promise.all(processes.postgres.map(listChildren))).flat();
  return {
    api: await largest(processes.api),
    worker: await largest(processes.worker),
    supervisor: await largest(processes.supervisor),
    postgres: await largest([...processes.postgres, ...connections]),
  };
}

function forEachProcess(value: (name: keyof ByProcess) => number): ByProcess {
  return { api: value('api'), worker: value('worker'), supervisor: value('supervisor'), postgres: value('postgres') };
}

/** What all partitions hold, by the rows they hold: the pages as they lie on disk, free space included. */
async function readBytesPerDelivery(sql: Sql): Promise<SendFigures['bytes_per_delivery']> {
  const [sizes] = await sql<{ rows: number; heap: number; key: number; person: number }[]>`
    WITH parts AS (SELECT inhrelid AS part FROM pg_inherits WHERE inhparent = 'deliveries'::regclass)
    SELECT (SELECT count(*) FROM deliveries) AS rows,
      sum(pg_relation_size(part)) AS heap,
      sum((SELECT sum(pg_relation_size(indexrelid)) FROM pg_index WHERE indrelid = part AND indisprimary)) AS key,
      sum((SELECT sum(pg_relation_size(indexrelid)) FROM pg_index WHERE indrelid = part AND NOT indisprimary)) AS person
    FROM parts`;
  if (sizes === undefined) throw new BenchError('there are no deliveries');
  const [rows, heap, key, person] = [sizes.rows, sizes.heap, sizes.key, sizes.person].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  return { row_and_key: Math.round((heap + key) / rows), with_person_index: Math.round((heap + key + person) / rows) };
}
