// A chaos run from an empty database to the checker's verdict. Nodes are separate processes on one
// database, phones and browsers live at the sandbox, messages have all sizes, and one trouble after
// another hits the nodes. Everything but the machine's pace follows from the seed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startDatabaseProxy } from '../../../rig/src/database-proxy.ts';
import type { FaultProxy } from '../../../rig/src/fault-proxy.ts';
import { addDevices, type MadeDevice, type MixedApp, makeMixedApp, type RunPlace } from '../../../rig/src/mixed-app.ts';
import { findFreePort } from '../../../rig/src/ports.ts';
import { createRandom, type Random } from '../../../rig/src/random.ts';
import { type RunDatabase, startRunDatabase } from '../../../rig/src/run-database.ts';
import { type SandboxProcess, startSandboxProcess } from '../../../rig/src/sandbox-process.ts';
import { progress, type Workbench } from '../../../rig/src/workbench.ts';
import { decodeId, mintUuid } from '../../../server/src/ground/values/ids.ts';
import type { Verdict } from './check-history.ts';
import { collect } from './collect.ts';
import { type DeviceLine, fileNames, type LineWriter, writeLines } from './history-files.ts';
import { type Nodes, startNodes } from './nodes.ts';
import { type Sender, startSending } from './send-messages.ts';
import { watchClaims } from './watch-claims.ts';
import { watchWaits } from './watch-waits.ts';

export interface RunPlan {
  readonly devices: number;
  readonly seed: number;
  /** A directory to keep the run's files in. Undefined: they are deleted with the run. */
  readonly keepDir: string | undefined;
  readonly faults: 'some' | 'none';
  /** Whether nodes reach the database through a proxy. */
  readonly isProxied?: boolean;
  /**
   * Devices of a second app beside the busy one. Messages to it show whether the service is back.
   */
  readonly probeDevices?: number;
  /** The troubles that happen while messages are sent. */
  readonly trouble: (stage: Stage) => Promise<void>;
}

/** Everything that a trouble may act on. */
export interface Stage {
  readonly nodes: Nodes;
  readonly sender: Sender;
  readonly database: RunDatabase;
  /** The proxy before the database, when the plan asks for one. */
  readonly proxy: FaultProxy | undefined;
  readonly app: MixedApp;
  /** The app for probe messages, when the plan asks for one. */
  readonly probe: MixedApp | undefined;
  readonly apiUrl: string;
}

/** The sandbox's latency, so that pushes are in flight when something happens. */
const providerMs = 40;
/** pushes of this long may be repeated when a process dies. */
const windowMs = 500;
const quietWithinMs = 10 * 60_000;

export async function runChaos(workbench: Workbench, plan: RunPlan): Promise<Verdict> {
  const { seed } = plan;
  const directory = plan.keepDir ?? (await workbench.makeDirectory('chaos'));
  await mkdir(directory, { recursive: true });
  progress(`seed ${seed}, files in ${directory}`);
  const database = await startRunDatabase(workbench);
  const sandbox = await startSandboxProcess(workbench, directory);
  const port = await findFreePort();
  const apiUrl = `http://127.0.0.1:${port}`;
  const place: RunPlace = {
    directory,
    environment: { ...database.environment, ...sandbox.environment, PORT: String(port), SEND_WAIT_MS: '2000' },
  };
  const app = await makeMixedApp(place, sandbox, 'Chaos');
  const probe = plan.probeDevices === undefined ? undefined : await makeMixedApp(place, sandbox, 'Probe');
  const apps = [app, ...(probe ? [probe] : [])];
  for (const each of apps) await addHoldingWebhook(database, each);
  const lines = writeLines<DeviceLine>(directory, fileNames.devices);
  const devices = await makeDevices(database, app, sandbox, lines, plan);
  const probeDevices = probe ? await makeProbeDevices(database, probe, sandbox, lines, plan) : [];
  await lines.close();
  await sandbox.setFaults(plan.faults === 'some' ? [...someFaults, slowness] : [slowness]);

  const way = plan.isProxied ? await startDatabaseProxy(database.url) : undefined;
  if (way) workbench.onClose(() => way.proxy.close());
  const nodes = await startNodes(workbench, {
    place: { ...place, environment: { ...place.environment, DATABASE_URL: way?.url ?? database.url } },
    roles: ['api', 'worker', 'worker', 'worker'],
  });
  const claims = watchClaims(database.sql, directory);
  const waits = watchWaits(database.sql, directory);
  const sender = startSending({
    directory,
    apiUrl,
    serverKey: app.serverKey,
    seed,
    random: createRandom(seed ^ 0x5e4d),
    devices,
    probe: probe && { serverKey: probe.serverKey, devices: probeDevices },
    sql: database.sql,
  });
  await plan.trouble({ nodes, sender, database, proxy: way?.proxy, app, probe, apiUrl });
  while (sender.addressed < devices.length) await sleep(100);
  await sender.stop();
  progress(`${sender.requested} messages asked for; waiting for quiet`);
  await untilQuiet(database, sender);
  await nodes.close();
  await Promise.all([claims.stop(), waits.stop()]);
  const facts = { windowMs, requested: sender.requested };
  await collect({ directory, sql: database.sql, apps, apiUrl, facts });
  await sandbox.stop();
  return check(directory);
}

/**
 * Adds a webhook that is disabled from the start. It holds every event, so its outbox records
 * everything that would be told.
 */
async function addHoldingWebhook({ sql }: RunDatabase, app: MixedApp): Promise<void> {
  await sql`
    INSERT INTO webhooks (app_id, id, endpoint, state, disabled_at, secret, created_at)
    VALUES (${decodeId('app', app.id) ?? ''}, ${mintUuid()}, 'https://hooks.shop.example/', 'disabled', now(), 'none', now())`;
}

/**
 * Makes devices of three kinds, mixed in their order. One in a hundred is called gone by its
 * provider.
 */
async function makeDevices(
  database: RunDatabase,
  app: MixedApp,
  sandbox: SandboxProcess,
  lines: LineWriter<DeviceLine>,
  { devices: count, seed, faults }: RunPlan,
): Promise<MadeDevice[]> {
  const made: MadeDevice[] = [];
  const gone = faults === 'some' ? Math.floor(count / 100) : 0;
  const share = Math.floor((count - gone) / 3);
  const kinds = [
    { platform: 'web', count: count - gone - 2 * share },
    { platform: 'ios', count: share },
    { platform: 'android', count: share },
    { platform: 'web', count: gone, tokenPrefix: 'gone' },
  ] as const;
  for (const kind of kinds.filter((each) => each.count > 0)) {
    await addDevices(database.sql, app, sandbox, { ...kind, seed: `chaos ${seed} ${kind.count}` }, async (some) => {
      for (const device of some) {
        made.push(device);
        await lines.write([device.id, device.token]);
      }
    });
  }
  progress(`${made.length} devices`);
  return shuffle(made, createRandom(seed ^ 0xdeca));
}

async function makeProbeDevices(
  database: RunDatabase,
  probe: MixedApp,
  sandbox: SandboxProcess,
  lines: LineWriter<DeviceLine>,
  { probeDevices: count = 0, seed }: RunPlan,
): Promise<MadeDevice[]> {
  const made: MadeDevice[] = [];
  await addDevices(database.sql, probe, sandbox, { count, platform: 'web', seed: `probe ${seed}` }, async (some) => {
    made.push(...some);
    for (const { id, token } of some) await lines.write([id, token]);
  });
  return made;
}

function shuffle<Value>(values: Value[], random: Random): Value[] {
  for (let last = values.length - 1; last > 0; last--) {
    const other = random.below(last + 1);
    [values[last], values[other]] = [values[other] as Value, values[last] as Value];
  }
  return values;
}

/** Faults of providers on an ordinary day. The first rule that matches a push decides. */
const someFaults: readonly object[] = [
  { match: { token_prefix: 'gone' }, action: { type: 'status', status: 410 } },
  { match: { share: 0.01, count: 'token', nth: 1, vendor: 'generic' }, action: { type: 'status', status: 503 } },
  {
    match: { share: 0.01, count: 'token', nth: 1, vendor: 'fcm_v1' },
    action: { type: 'error', reason: 'UNAVAILABLE' },
  },
  { match: { every: 4000 }, action: { type: 'goaway', code: 'NO_ERROR', processed: true } },
  { match: { every: 5000, vendor: 'generic' }, action: { type: 'status', status: 429, retry_after: 1 } },
  { match: { every: 9000 }, action: { type: 'hang', delivers: true } },
];
const slowness = { match: {}, action: { type: 'slow', delay_ms: providerMs } };

async function untilQuiet({ sql }: RunDatabase, sender: Sender): Promise<void> {
  const deadline = performance.now() + quietWithinMs;
  for (;;) {
    const [row] = await sql<{ open: number; all: number }[]>`
      SELECT count(*) FILTER (WHERE status IN ('sending', 'scheduled'))::int AS open, count(*)::int AS all FROM messages`;
    if (row && row.open === 0 && row.all >= sender.requested) return;
    // The checker reports what is still open.
    if (performance.now() > deadline) return progress(`not quiet after ${quietWithinMs / 60_000} minutes`);
    await sleep(250);
  }
}

/** Runs the checker as a program of its own, which knows only the files of the run. */
async function check(directory: string): Promise<Verdict> {
  const script = fileURLToPath(new URL('check-history.ts', import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', script, directory], {
    cwd: join(fileURLToPath(new URL('.', import.meta.url))),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const [status] = await once(child, 'close');
  if (status !== 0) throw new Error(`the checker ended with ${status}`);
  return JSON.parse(output) as Verdict;
}
