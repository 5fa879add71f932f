// Carillon's side of `send`: starts a service with an app full of devices, sends one message to
// all, and measures the cost.
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuSecondsOf, rounded } from '../../rig/src/measure.ts';
import {
  findProcesses,
  openDatabase,
  readPostgresVersion,
  type Service,
  type ServiceProcesses,
  startService,
} from '../../rig/src/service.ts';
import { progress, RunError, type Workbench } from '../../rig/src/workbench.ts';
import type { Sql } from '../../server/src/database/db.ts';
import { callForJson } from './call-api.ts';
import { sharesOf, type Way } from './channels.ts';
import { content } from './content.ts';
import { readCpuSeconds, readPeakRssMb, watchOthers } from './costs.ts';
import type { Credentials } from './credentials.ts';
import { deviceMaker } from './devices.ts';
import { fillAudience } from './fill-audience.ts';
import { makeApp, type OwnApp } from './own-app.ts';
import { type Part, profileClockUs, readParts, type Span } from './profile.ts';
import type { Receiver } from './receiver.ts';
import type { ByProcess, SendFigures } from './results.ts';

export interface OurPlan {
  readonly way: Way;
  readonly devices: number;
  readonly credentials: Credentials;
  /**
   * The latency of the push services. When it is not 0, sends with it and sends without alternate,
   * to compare.
   */
  readonly latencyMs: number;
  readonly warmUpPushes: number;
  /**
   * One in this many tokens is gone; 0 means none. Otherwise sends to them and sends without
   * refusals alternate, to compare.
   */
  readonly refuseEvery: number;
  /** Worker processes. Undefined: the service's default. */
  readonly workers: number | undefined;
  /** The directory for CPU profiles. Taking profiles makes the run slower. */
  readonly profileDir: string | undefined;
}

/** Sends with a latency or refusals, which alternate with plain sends. */
export interface Compared {
  /** Mean pushes a second of the plain sends. */
  readonly perSecondPlain: number;
  /** The mean rate of the compared sends, divided by the plain one. */
  readonly ratio: number;
  /** The rate of the first compared send, whose code was not compiled, divided likewise. */
  readonly ratioFirst: number;
}

export interface OurRun {
  /** In a comparison: the compared send whose rate is the median. */
  readonly ours: SendFigures;
  /** Dead tokens of the send of `ours`. */
  readonly refused: number;
  /** Undefined without latency and refusals. */
  readonly compared: Compared | undefined;
  /**
   * The rate of the same send once more, with the buffers filled and the code compiled; undefined
   * with latency or refusals, whose send is not the first anyway.
   */
  readonly again: number | undefined;
  readonly postgres: string;
  /** The parts of the worker's time; empty unless a profile was requested. */
  readonly workerParts: readonly Part[];
}

/** Sends of each kind in a comparison. One takes two seconds, and the machine is not steady. */
const rounds = 10;
const pollMs = 200;
const sendWithinMs = 60 * 60_000;

export async function sendWithCarillon(workbench: Workbench, receiver: Receiver, plan: OurPlan): Promise<OurRun> {
  const { way, devices, credentials, latencyMs, warmUpPushes, refuseEvery, workers, profileDir } = plan;
  const service = await startService(workbench, await workbench.makeDirectory('data'), {
    // With SEND_WAIT_MS 0 the request is answered when the message is accepted and does not wait
    // for the send's end.
    environment: {
      ...receiver.environment,
      SEND_WAIT_MS: '0',
      ...(workers !== undefined && { WORKERS: String(workers) }),
    },
    nodeOptions: profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`],
  });
  const app = await makeApp(workbench, service, { way, credentials });
  const sql = await openDatabase(workbench, service);
  progress(`filling ${devices} devices`);
  await fillAudience(sql, app, deviceMaker(way, receiver.address), receiver, devices);
  const processes = await findProcesses(service, sql);
  await sendTo(service, app, await listSome(service, app, Math.min(devices, warmUpPushes)));

  const bench: Bench = { service, app, sql, receiver, processes, way, devices };
  const isCompared = latencyMs > 0 || refuseEvery > 0;
  // Refused devices are retired, so each later send has as many fewer.
  let left = devices;
  const send = async (ms: number, every = 0): Promise<SendToAll> => {
    const sent = await sendToAll({ ...bench, devices: left }, ms, every);
    left -= sent.refused;
    if (every > 0) await expectRetired(sql, devices - left);
    return sent;
  };
  /** A send to compare with: without refusals, or else without latency. */
  const sendPlainly = () => send(refuseEvery > 0 ? latencyMs : 0);
  const compare = async () => {
    // The first send to everybody fills the database's buffers. The first send with refusals or a
    // latency compiles their code in each worker. No comparison counts these two sends.
    await sendPlainly();
    const first = await send(latencyMs, refuseEvery);
    const plain = [await sendPlainly()];
    const sends: SendToAll[] = [];
    for (let round = 0; round < rounds; round++) {
      sends.push(await send(latencyMs, refuseEvery));
      plain.push(await sendPlainly());
    }
    const perSecondPlain = meanRate(plain);
    const compared = {
      perSecondPlain: Math.round(perSecondPlain),
      ratio: meanRate(sends) / perSecondPlain,
      ratioFirst: first.ours.per_second / perSecondPlain,
    };
    sends.sort((a, b) => a.ours.per_second - b.ours.per_second);
    return { ...(sends[Math.floor(rounds / 2)] ?? first), compared, again: undefined };
  };
  const measure = async () => ({
    ...(await send(latencyMs)),
    compared: undefined,
    again: (await sendPlainly()).ours.per_second,
  });
  const { span, cpuOfWorkerUs, ours, refused, compared, again } = await (isCompared ? compare() : measure());
  const postgres = await readPostgresVersion(sql);
  // Processes write their profiles when they end.
  await service.stop();
  const profiles =
    profileDir === undefined ? [] : processes.worker.map((pid) => readParts(profileDir, pid, span, cpuOfWorkerUs));
  return {
    ours,
    refused,
    compared,
    again,
    postgres,
    workerParts: (await Promise.all(profiles)).flat(),
  };
}

/** The fixtures of a measured send. */
interface Bench {
  readonly service: Service;
  readonly app: OwnApp;
  readonly sql: Sql;
  readonly receiver: Receiver;
  readonly processes: ServiceProcesses;
  readonly way: Way;
  readonly devices: number;
}

interface SendToAll {
  readonly ours: SendFigures;
  /** The span of the send, for a profile. */
  readonly span: Span;
  /** CPU microseconds of the worker per push. */
  readonly cpuOfWorkerUs: number;
  readonly refused: number;
}

/**
 * Sends one message to everybody. Rejects unless each device was pushed to exactly once and
 * accepted, or was meant to be refused.
 */
async function sendToAll(bench: Bench, latencyMs: number, refuseEvery = 0): Promise<SendToAll> {
  const { service, app, sql, receiver, processes, way, devices } = bench;
  await receiver.reset({ latencyMs, refuseEvery });
  const fromUs = profileClockUs();
  const countOthers = await watchOthers();
  const before = { ...(await readCpuSeconds(processes)), receiver: await cpuSecondsOf(receiver.pid) };
  const { message, seconds, acceptMs } = await sendTo(service, app, { all: true });
  const after = { ...(await readCpuSeconds(processes)), receiver: await cpuSecondsOf(receiver.pid) };
  const foreignCores = await countOthers();
  const span = { fromUs, toUs: profileClockUs() };
  await receiver.expectPushes(sharesOf(way, devices));
  const refused = await receiver.refused();
  expectAllSent(message, devices, refused);
  const rate = `${Math.round(devices / seconds)} pushes a second at a latency of ${latencyMs} ms, ${refused} refused`;
  progress(`carillon: ${rate}, others on ${foreignCores} cores`);

  const per1000 = (name: keyof typeof before): number => ((after[name] - before[name]) / devices) * 1000;
  const cpu = {
    api: per1000('api'),
    worker: per1000('worker'),
    supervisor: per1000('supervisor'),
    postgres: per1000('postgres'),
  };
  const ours = {
    per_second: Math.round(devices / seconds),
    processes: { api: processes.api.length, worker: processes.worker.length },
    cpu_seconds_per_1000: rounded(cpu.api + cpu.worker + cpu.supervisor + cpu.postgres),
    cpu_seconds_per_1000_by_process: roundEach(cpu),
    receiver_cpu_seconds_per_1000: rounded(per1000('receiver')),
    foreign_cores: foreignCores,
    rss_mb: await readPeakRssMb(processes),
    bytes_per_delivery: await readBytesPerDelivery(sql),
    accept_ms: rounded(acceptMs),
    seconds: rounded(seconds),
  };
  return { ours, span, cpuOfWorkerUs: cpu.worker * 1000, refused };
}

function meanRate(sends: readonly SendToAll[]): number {
  return sends.reduce((sum, { ours }) => sum + ours.per_second, 0) / sends.length;
}

function roundEach({ api, worker, supervisor, postgres }: ByProcess): ByProcess {
  return { api: rounded(api), worker: rounded(worker), supervisor: rounded(supervisor), postgres: rounded(postgres) };
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

/**
 * Sends, waits until every delivery is final, and takes the duration from the message's own
 * `finished_at`.
 */
async function sendTo(
  service: Service,
  app: OwnApp,
  audience: object,
): Promise<{ message: SentMessage; seconds: number; acceptMs: number }> {
  const key = app.serverKey;
  const startedAtMs = Date.now();
  const askedAt = performance.now();
  const { id } = await callForJson<{ id: string }>({
    method: 'POST',
    url: `${service.url}/v1/messages`,
    key,
    body: { audience, content },
  });
  const acceptMs = performance.now() - askedAt;
  for (;;) {
    const message = await callForJson<SentMessage>({ method: 'GET', url: `${service.url}/v1/messages/${id}`, key });
    // The database runs on this machine, so its clock is the clock that the start was read from.
    if (message.finished_at !== null) {
      return { message, seconds: (Date.parse(message.finished_at) - startedAtMs) / 1000, acceptMs };
    }
    if (Date.now() - startedAtMs > sendWithinMs) {
      throw new RunError(`the message is not finished after ${sendWithinMs / 60_000} minutes`);
    }
    await sleep(pollMs);
  }
}

function expectAllSent({ report }: SentMessage, devices: number, refused: number): void {
  if (report.accepted === devices && report.sent === devices - refused && report.failed === refused) return;
  throw new RunError(`not all ${devices - refused} were sent: ${JSON.stringify(report)}`);
}

const retiredWithinMs = 30_000;

/** Rejects unless every refused device was retired in the database. */
async function expectRetired(sql: Sql, refused: number): Promise<void> {
  const deadline = performance.now() + retiredWithinMs;
  for (;;) {
    const [row] = await sql<
      { retired: number }[]
    >`SELECT count(*)::int AS retired FROM devices WHERE status = 'invalid'`;
    if (row?.retired === refused) return;
    if (performance.now() > deadline)
      throw new RunError(`${row?.retired} devices are retired where ${refused} were refused`);
    await sleep(pollMs);
  }
}

/** Bytes on disk of all partitions, free space included, divided by the rows in them. */
async function readBytesPerDelivery(sql: Sql): Promise<SendFigures['bytes_per_delivery']> {
  const [sizes] = await sql<{ rowAndKey: number; person: number }[]>`
    WITH parts AS (
      SELECT inhrelid AS part FROM pg_inherits WHERE inhparent = 'deliveries'::regclass
    ), indexes AS (
      SELECT pg_relation_size(indexrelid) AS bytes, indisprimary FROM pg_index JOIN parts ON indrelid = part
    ), deliveries_made AS (
      SELECT count(*) AS count FROM deliveries
    )
    SELECT
      ((SELECT sum(pg_relation_size(part)) FROM parts) + (SELECT sum(bytes) FROM indexes WHERE indisprimary))::float8
        / count AS row_and_key,
      (SELECT sum(bytes) FROM indexes WHERE NOT indisprimary)::float8 / count AS person
    FROM deliveries_made`;
  if (sizes === undefined) throw new RunError('there are no deliveries');
  const { rowAndKey, person } = sizes;
  return { row_and_key: Math.round(rowAndKey), with_person_index: Math.round(rowAndKey + person) };
}
