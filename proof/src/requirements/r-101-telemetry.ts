// R-101: the log's destination is full, closed or unread, also on the same full disk as the
// database. Every send has the same result as otherwise, and no process ends.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { carillon } from '../../../rig/src/command.ts';
import { listChildren } from '../../../rig/src/measure.ts';
import { addDevices } from '../../../rig/src/mixed-app.ts';
import { findFreePort } from '../../../rig/src/ports.ts';
import { openDatabase, startService } from '../../../rig/src/service.ts';
import { plainEnvironment, stopChild, type Workbench } from '../../../rig/src/workbench.ts';
import { startWriting } from '../embedded/writers.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';
import { Stage } from '../stage.ts';

const destinations = ['a full disk', 'a closed pipe', 'a pipe that nobody reads'] as const;
type Destination = (typeof destinations)[number];

const devices = 200;
/** Devices that have lost their token: each of their deliveries is a line of the log. */
const deadDevices = { full: 20_000, quick: 1_000 };
const readyWithinMs = 180_000;

async function statusOf(url: string): Promise<number> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

function untilReady(url: string): Promise<boolean> {
  return until200(`${url}/readyz`);
}

async function until200(url: string): Promise<boolean> {
  const deadline = performance.now() + readyWithinMs;
  while ((await statusOf(url)) !== 200) {
    if (performance.now() > deadline) return false;
    await sleep(50);
  }
  return true;
}

/** Starts a complete service whose standard output and error go to `destination`. */
async function startTo(workbench: Workbench, stage: Stage, destination: Destination) {
  const [port, metricsPort] = [await findFreePort(), await findFreePort()];
  const full = destination === 'a full disk' ? await open('/dev/full', 'w') : undefined;
  const output = full?.fd ?? 'pipe';
  const child = spawn(process.execPath, [carillon, 'start', '--workers', '1'], {
    cwd: stage.directory,
    env: {
      ...plainEnvironment(),
      ...stage.database.environment,
      ...stage.sandbox.environment,
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      LOG_LEVEL: 'trace',
    },
    stdio: ['ignore', output, output],
  });
  workbench.onClose(() => stopChild(child, 'SIGKILL'));
  await full?.close();
  if (destination === 'a closed pipe') for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  return { child, pid: child.pid ?? 0, url: `http://127.0.0.1:${port}`, metricsUrl: `http://127.0.0.1:${metricsPort}` };
}

/** Resolves with true once no audience contains a dead device any more. */
async function areDeadRetired({ database: { sql } }: Stage): Promise<boolean> {
  const deadline = performance.now() + readyWithinMs;
  for (;;) {
    const [row] = await sql<{ active: number }[]>`SELECT count(*)::int AS active FROM devices WHERE status = 'active'`;
    if (row?.active === devices) return true;
    if (performance.now() > deadline) return false;
    await sleep(100);
  }
}

async function readDropped(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const values = [...text.matchAll(/^carillon_log_lines_dropped_total\{[^}]*\} (\d+)$/gm)].map(([, value]) =>
    Number(value),
  );
  return values.reduce((sum, value) => sum + value, 0);
}

async function proveDestination(
  { isQuick, report, workbench }: ProofOptions,
  stage: Stage,
  destination: Destination,
  expected: number,
): Promise<void> {
  const complaints: string[] = [];
  const key = destination.replaceAll(' ', '-');
  const { child, pid, url, metricsUrl } = await startTo(workbench, stage, destination);
  const ended = once(child, 'exit');
  if (!(await untilReady(url))) complaints.push('the service was never ready');
  const before = (await listChildren(pid)).join();
  const messages = isQuick ? 3 : 10;
  for (let i = 0; i < messages; i++) {
    const message = { audience: { all: true }, content: { title: `${destination} ${i}` } };
    const answer = await stage.send({ url }, `${key}-${i}`, message);
    if (answer?.status !== 201 && answer?.status !== 200)
      complaints.push(`a send was answered ${answer?.status ?? 'by nobody'}`);
    // Otherwise the next audience could contain dead devices too.
    if (!(await stage.isQuiet(300_000)) || !(await areDeadRetired(stage))) complaints.push(`message ${i} did not end`);
  }
  const [sum] = await stage.database.sql<{ sent: number; failed: number }[]>`
    SELECT coalesce(sum(sent), 0)::int AS sent, coalesce(sum(failed), 0)::int AS failed FROM batches b
    WHERE b.message_id IN (SELECT id FROM messages WHERE idempotency_key LIKE ${`${key}-%`})`;
  // A dead token is retired by its first failure, and is in no later audience.
  if (sum?.sent !== devices * messages) complaints.push(`${sum?.sent} deliveries were sent, of ${devices * messages}`);
  if (sum?.failed !== expected) complaints.push(`${sum?.failed} deliveries failed, of ${expected}`);
  if ((await listChildren(pid)).join() !== before || child.exitCode !== null) complaints.push('a process ended');
  const dropped = await readDropped(metricsUrl);
  if (!isQuick && expected > 0 && dropped === 0) complaints.push('no dropped line was counted');
  child.kill('SIGTERM');
  const [code] = (await ended) as [number | null];
  if (code !== 0) complaints.push(`it ended with ${code}`);
  report.claim(
    `with its log to ${destination}, every send ends as without it, and no process ends`,
    `${messages} messages, ${sum?.sent} sent, ${sum?.failed} failed, ${dropped} lines dropped`,
    complaints,
  );
}

const diskMb = 400;
const call = promisify(execFile);

async function proveFullDisk({ isQuick, seed, report, workbench }: ProofOptions): Promise<void> {
  const claim = 'with log and database on one full disk, no process ends, and nothing acknowledged is lost';
  const disk = await workbench.makeDirectory('disk');
  try {
    await call('mount', ['-t', 'tmpfs', '-o', `size=${diskMb}m,mode=755`, 'tmpfs', disk]);
  } catch {
    // Reached without root, or as root of a container that may not mount.
    return report.missing(claim, 'Run it as root of a machine: it mounts a small file system.');
  }
  workbench.onClose(async () => void (await call('umount', ['-l', disk])));
  const service = await startService(workbench, disk, { environment: { LOG_LEVEL: 'trace', WORKERS: '1' } });
  const app = await service.run<{ server_key: string }>('app', 'create', 'Proof', '--plan', 'unlimited');
  const writers = startWriting(app.server_key, seed);
  writers.goOnAt(service.url);
  while (writers.acknowledged < 100) await sleep(20);
  const processes = async () => {
    const children = await listChildren(service.supervisorPid);
    return [...(await Promise.all(children.map(async (pid) => ((await listChildren(pid)).length === 0 ? pid : 0))))]
      .filter((pid) => pid > 0)
      .join();
  };
  const before = await processes();
  const complaints: string[] = [];
  const times = isQuick ? 1 : 5;
  for (let time = 0; time < times; time++) {
    const filler = join(disk, 'filler');
    await writeFile(filler, Buffer.alloc(diskMb * 1_048_576)).catch(() => undefined);
    await sleep(isQuick ? 5_000 : 20_000);
    if (!(await until200(`${service.url}/healthz`))) complaints.push('/healthz did not answer on the full disk');
    await rm(filler);
    if (!(await untilReady(service.url)))
      complaints.push(`not ready ${readyWithinMs / 1000} s after there was room again`);
    const acknowledged = writers.acknowledged;
    const deadline = performance.now() + readyWithinMs;
    while (writers.acknowledged < acknowledged + 100 && performance.now() < deadline) await sleep(20);
    if (writers.acknowledged < acknowledged + 100)
      complaints.push('no write was acknowledged after there was room again');
  }
  if ((await processes()) !== before) complaints.push(`a process ended: ${before} before, ${await processes()} after`);
  await writers.stop();
  const sql = await openDatabase(workbench, service);
  complaints.push(...(await writers.listLost(sql)));
  await sql.end({ timeout: 1 });
  await service.stop();
  report.claim(
    claim,
    `${times} times full, ${writers.acknowledged.toLocaleString('en')} writes acknowledged`,
    complaints,
  );
}

async function run(options: ProofOptions): Promise<void> {
  const { isQuick, seed, workbench } = options;
  const stage = await Stage.set({ workbench, purpose: 'telemetry', devices, seed });
  const dead = isQuick ? deadDevices.quick : deadDevices.full;
  await stage.sandbox.setFaults([
    { id: 'dead', match: { token_prefix: 'dead' }, action: { type: 'status', status: 410 } },
  ]);
  for (const destination of destinations) {
    const plan = { count: dead, platform: 'web', seed: `${destination} ${seed}`, tokenPrefix: 'dead' } as const;
    await addDevices(stage.database.sql, stage.app, stage.sandbox, plan, () => undefined);
    await proveDestination(options, stage, destination, dead);
  }
  await proveFullDisk(options);
}

export const requirement: Requirement = {
  number: 'R-101',
  title: 'Telemetry that cannot be written',
  leftOut: 'starts a whole service for each destination and fills a disk, which takes more than a minute',
  run,
};
