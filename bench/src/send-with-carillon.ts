// Carillon's side of `send`: starts a service with an app full of devices, sends one message to
// all, and measures the cost.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '@carillon/postgres';
import type { Service } from '../../rig/src/service.ts';
import { progress, RunError, type Workbench } from '../../rig/src/workbench.ts';
import { callForJson } from './call-api.ts';
import { sharesOf, type Way } from './channels.ts';
import { content } from './content.ts';
import { type ByProcess, type Costs, readPeakRssMb, totalOf, watchCosts } from './costs.ts';
import type { Credentials } from './credentials.ts';
import { deviceMaker } from './devices.ts';
import { type Figure, figure, figuresOf } from './figures.ts';
import { fillAudience } from './fill-audience.ts';
import { makeApp, type OwnApp } from './own-app.ts';
import { countProcesses, type OwnService, startOwnService } from './own-service.ts';
import { profileClockUs, readParts, type Span } from './profile.ts';
import type { Receiver } from './receiver.ts';

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
interface Compared {
  /** The number of compared sends. */
  readonly rounds: number;
  /** Mean pushes a second of the compared sends, and of the plain ones. */
  readonly perSecond: number;
  readonly perSecondPlain: number;
  /** The rate of the first compared send, whose code was not compiled. */
  readonly perSecondFirst: number;
}

export interface OurRun {
  /** In a comparison, of the compared send whose rate is the median; so are the costs. */
  readonly perSecond: number;
  /** For a thousand pushes: the CPU of all of Carillon's processes, the database included. */
  readonly cpuSeconds: number;
  readonly foreignCores: number;
  /** The CPU and the memory of the send, by process. */
  readonly costs: readonly Figure[];
  readonly processCounts: Readonly<Record<string, number>>;
  /** Undefined without latency and refusals. */
  readonly compared: Compared | undefined;
  /**
   * The rate of the same send once more, with the buffers filled and the code compiled; undefined
   * with latency or refusals, whose send is not the first anyway.
   */
  readonly again: number | undefined;
  readonly postgres: string;
}

/** Sends of each kind in a comparison. One takes two seconds, and the machine is not steady. */
const rounds = 10;
const pollMs = 200;
const sendWithinMs = 60 * 60_000;

export async function sendWithCarillon(workbench: Workbench, receiver: Receiver, plan: OurPlan): Promise<OurRun> {
  const { way, devices, credentials, latencyMs, warmUpPushes, refuseEvery, workers, profileDir } = plan;
  const own = await startOwnService(workbench, {
    // With SEND_WAIT_MS 0 the request is answered when the message is accepted and does not wait
    // for the send's end.
    environment: {
      ...receiver.environment,
      SEND_WAIT_MS: '0',
      ...(workers !== undefined && { WORKERS: String(workers) }),
    },
    profileDir,
  });
  const { service, sql, processes, postgres } = own;
  const app = await makeApp(workbench, service, { way, credentials });
  progress(`filling ${devices} devices`);
  await fillAudience(sql, app, deviceMaker(way, receiver.address), receiver, devices);
  await sendTo(service, app, await listSome(service, app, Math.min(devices, warmUpPushes)));

  const bench: Bench = { ...own, app, receiver, way, devices };
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
    const compared = {
      rounds,
      perSecond: meanRate(sends),
      perSecondPlain: meanRate(plain),
      perSecondFirst: first.perSecond,
    };
    sends.sort((a, b) => a.perSecond - b.perSecond);
    return { ...(sends[Math.floor(rounds / 2)] ?? first), compared, again: undefined };
  };
  const measure = async () => ({
    ...(await send(latencyMs)),
    compared: undefined,
    again: (await sendPlainly()).perSecond,
  });
  const { perSecond, cpu, foreignCores, compared, again, ...sent } = await (isCompared ? compare() : measure());
  // Processes write their profiles when they end.
  await service.stop();
  const usPerPush = cpu.worker * 1000;
  const parts = await readParts({ directory: profileDir, pids: processes.worker, span: sent.span, usPerPush });
  return {
    perSecond,
    cpuSeconds: totalOf(cpu),
    foreignCores,
    costs: [
      ...figuresOf('CPU for 1,000', cpu, 's'),
      ...figuresOf('peak memory', sent.rssMb, 'MB'),
      // In this run the answer waits for no delivery.
      figure('accepted after', sent.acceptMs, 'ms'),
      ...figuresOf('a delivery', sent.bytesPerDelivery, 'B'),
      ...(refuseEvery > 0 ? [figure('dead tokens', sent.refused, '')] : []),
      ...parts,
    ],
    processCounts: countProcesses(processes),
    compared,
    again,
    postgres,
  };
}

/** The fixtures of a measured send. */
interface Bench extends OwnService {
  readonly app: OwnApp;
  readonly receiver: Receiver;
  readonly way: Way;
  readonly devices: number;
}

interface SendToAll extends Costs<keyof OwnService['processes'] | 'the receiver'> {
  readonly perSecond: number;
  readonly rssMb: ByProcess;
  /** The span of the send, for a profile. */
  readonly span: Span;
  /** Time until `POST /v1/messages` was answered. */
  readonly acceptMs: number;
  readonly bytesPerDelivery: Readonly<Record<string, number>>;
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
  const countCosts = await watchCosts({ ...processes, 'the receiver': [receiver.pid] });
  const { message, seconds, acceptMs } = await sendTo(service, app, { all: true });
  const costs = await countCosts(devices);
  const span = { fromUs, toUs: profileClockUs() };
  await receiver.expectPushes(sharesOf(way, devices));
  const refused = await receiver.refused();
  expectAllSent(message, devices, refused);
  const rate = `${Math.round(devices / seconds)} pushes a second at a latency of ${latencyMs} ms, ${refused} refused`;
  progress(`carillon: ${rate}, others on ${costs.foreignCores} cores`);

  return {
    perSecond: devices / seconds,
    ...costs,
    rssMb: await readPeakRssMb(processes),
    span,
    acceptMs,
    bytesPerDelivery: await readBytesPerDelivery(sql),
    refused,
  };
}

function meanRate(sends: readonly SendToAll[]): number {
  return sends.reduce((sum, { perSecond }) => sum + perSecond, 0) / sends.length;
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
async function readBytesPerDelivery(sql: Sql): Promise<Record<string, number>> {
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
  return { 'row and key': rowAndKey, 'with the index for its person': rowAndKey + person };
}
