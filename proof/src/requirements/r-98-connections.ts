// a process holds at most 16 connections under load and 6 at rest. The embedded server has
// room for the connections of any number of workers. For a server with too few connections, the
// service names the numbers, waits, or refuses to start.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Sql } from '@carillon/postgres';
import { carillon } from '../../../rig/src/command.ts';
import { type ConnectionCount, describeCount, watchConnections } from '../../../rig/src/connections.ts';
import { addDevices, type MixedApp, makeMixedApp } from '../../../rig/src/mixed-app.ts';
import { hasPgBouncer, startPgBouncer } from '../../../rig/src/pgbouncer.ts';
import { findFreePort } from '../../../rig/src/ports.ts';
import { startRunDatabase } from '../../../rig/src/run-database.ts';
import { type SandboxProcess, startSandboxProcess } from '../../../rig/src/sandbox-process.ts';
import { openDatabase, type Service, startService } from '../../../rig/src/service.ts';
import { plainEnvironment, type Workbench } from '../../../rig/src/workbench.ts';
import { encodeId, type Uuid } from '../../../server/src/ground/values/ids.ts';
import type { ProofOptions, Requirement } from '../requirement.ts';
import { type Api, Stage } from '../stage.ts';

const underLoadMax = 16;
const atRestMax = 6;
/** The five pools, one connection that listens, and one while an index is built. */
const poolNames = ['prompt', 'reads', 'transactions', 'send', 'long', 'listen', 'index'];

interface Scale {
  readonly devices: number;
  /**
   * Time from the end of the work until connections are counted. Idle connections are closed after
   * 20 s.
   */
  readonly restMs: number;
  readonly countMs: number;
  readonly workers: readonly number[];
  readonly loadMs: number;
}

const full: Scale = { devices: 20_000, restMs: 120_000, countMs: 30_000, workers: [7, 16], loadMs: 30_000 };
const quick: Scale = { devices: 2_000, restMs: 30_000, countMs: 5_000, workers: [3], loadMs: 5_000 };

function judgeCount(count: ConnectionCount, most: number): string[] {
  const strangers = [...count.mostOf.keys()].filter((pool) => !poolNames.includes(pool));
  return [
    ...(count.most > most ? [`${count.most} connections, and at most ${most} are allowed`] : []),
    ...(count.most === 0 ? ['there was nothing to count'] : []),
    ...strangers.map((pool) => `a pool of an unknown name: ${pool}`),
  ];
}

async function countAtRest(sql: Sql, { restMs, countMs }: Scale): Promise<ConnectionCount> {
  await sleep(restMs);
  const watch = watchConnections(sql);
  await sleep(countMs);
  return watch.stop();
}

const clients = 64;

/**
 * Makes the load of many callers at once: pages, registrations, previews and messages, so that
 * every pool is in use.
 */
async function loadApi(stage: Stage, { url }: Api, forMs: number): Promise<number> {
  const headers = { authorization: `Bearer ${stage.app.serverKey}`, 'content-type': 'application/json' };
  const filter = { field: 'platform', op: 'eq', value: 'web' };
  const post = (path: string, body: object) =>
    fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const requests = [
    () => fetch(`${url}/v1/messages`, { headers }),
    () => post('/v1/devices', { platform: 'android', token: `token-${Math.random()}` }),
    () => post('/v1/segments/preview', { filter }),
    () => post('/v1/events', { events: [{ name: 'seen', external_id: 'u-1' }] }),
    () => post('/v1/messages', { audience: { device_ids: [stage.devices[0]?.id] }, content: { title: 'Load' } }),
  ];
  const until = performance.now() + forMs;
  let answered = 0;
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let i = client; performance.now() < until; i++) {
        const answer = await requests[i % requests.length]?.();
        await answer?.arrayBuffer();
        answered++;
      }
    }),
  );
  return answered;
}

/** Runs one process alone on a database, so that all counted connections are its own. */
async function countProcesses({ seed, workbench, report }: ProofOptions, scale: Scale): Promise<void> {
  const stage = await Stage.set({ workbench, purpose: 'r-98', devices: scale.devices, seed });
  const { sql } = stage.database;
  const api = await stage.startApi({ environment: { SEND_WAIT_MS: '0' } });
  const atLoad = watchConnections(sql);
  const answered = await loadApi(stage, api, scale.loadMs);
  const apiLoad = await atLoad.stop();
  report.claim(
    `an API process under load holds at most ${underLoadMax} connections`,
    `${describeCount(apiLoad)}; ${answered} requests by ${clients} callers`,
    judgeCount(apiLoad, underLoadMax),
  );
  const apiRest = await countAtRest(sql, scale);
  report.claim(`and at rest ${atRestMax}`, describeCount(apiRest), judgeCount(apiRest, atRestMax));

  const accepted = await stage.send(api, 'r-98', { audience: { all: true }, content: { title: 'Worker' } });
  await api.node.terminate();
  const atWork = watchConnections(sql);
  await stage.startWorker();
  const isSent = await stage.isQuiet(10 * 60_000);
  const workerLoad = await atWork.stop();
  report.claim(
    `a worker process that sends holds at most ${underLoadMax} connections`,
    `${describeCount(workerLoad)}; ${scale.devices} devices`,
    [
      ...judgeCount(workerLoad, underLoadMax),
      ...(accepted?.status === 200 ? [] : [`the message was refused: ${JSON.stringify(accepted)}`]),
      ...(isSent ? [] : ['the send was not at its end']),
    ],
  );
  const workerRest = await countAtRest(sql, scale);
  report.claim(`and at rest ${atRestMax}`, describeCount(workerRest), judgeCount(workerRest, atRestMax));
}

interface Equipped {
  readonly service: Service;
  readonly sandbox: SandboxProcess;
  readonly app: MixedApp;
}

async function equip(
  workbench: Workbench,
  environment: Readonly<Record<string, string>>,
  open: (service: Service) => Promise<Sql>,
  devices: number,
): Promise<Equipped & { readonly sql: Sql }> {
  const directory = await workbench.makeDirectory('r-98-service');
  const sandbox = await startSandboxProcess(workbench, directory);
  const variables = { ...sandbox.environment, SEND_WAIT_MS: '0', ...environment };
  const service = await startService(workbench, directory, { environment: variables });
  const place = { directory, environment: { ...variables, DATA_DIR: directory } };
  const app = await makeMixedApp(place, sandbox, 'Connections');
  const sql = await open(service);
  await addDevices(sql, app, sandbox, { count: devices, platform: 'web', seed: 'r-98' }, () => undefined);
  return { service, sandbox, app, sql };
}

/**
 * Sends to all devices. Returns a complaint for each device that was not sent to or did not get
 * exactly one request.
 */
async function sendToAll({ service, sandbox, app }: Equipped, sql: Sql, devices: number): Promise<string[]> {
  const before = (await sandbox.counters()).requests;
  const headers = { authorization: `Bearer ${app.serverKey}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ audience: { all: true }, content: { title: 'To all' } });
  const answer = await fetch(`${service.url}/v1/messages`, { method: 'POST', headers, body });
  const { id } = (await answer.json()) as { id?: string };
  if (answer.status !== 200) return [`the message was refused: ${answer.status}`];
  const until = performance.now() + 10 * 60_000;
  for (;;) {
    const [row] = await sql<{ id: Uuid; status: string; sent: number }[]>`
      SELECT m.id, m.status, (SELECT coalesce(sum(b.sent), 0)::int FROM batches b WHERE b.message_id = m.id) AS sent
      FROM messages m ORDER BY m.id DESC LIMIT 1`;
    if (!row || encodeId('msg', row.id) !== id) return [`message ${id} is not the last one`];
    if (row.status === 'sending' && performance.now() < until) {
      await sleep(100);
      continue;
    }
    const requests = (await sandbox.counters()).requests - before;
    return [
      ...(row.status === 'sent' && row.sent === devices ? [] : [`${row.status}, ${row.sent} of ${devices} sent`]),
      ...(requests === devices ? [] : [`${requests} requests for ${devices} devices`]),
    ];
  }
}

const statusOf = async (url: string): Promise<number> => (await fetch(url)).status;

async function judgeLog({ dataDir }: Service): Promise<string[]> {
  const log = await readFile(join(dataDir, 'service.log'), 'utf8');
  return log.includes('53300') ? ['its log tells of refused connections (53300)'] : [];
}

async function startEmbedded({ workbench, report }: ProofOptions, scale: Scale, workers: number): Promise<void> {
  const part = workbench.apart();
  const processes = workers + 1;
  const equipped = await equip(
    part,
    { WORKERS: String(workers) },
    (service) => openDatabase(part, service),
    scale.devices,
  );
  const { service, sql } = equipped;
  const [row] = await sql<{ most: number }[]>`SELECT current_setting('max_connections')::int AS most`;
  const most = row?.most ?? 0;
  report.claim(
    `WORKERS=${workers}: the embedded server allows what its processes can ask for`,
    `max_connections ${most}, ${processes} processes of ${underLoadMax}`,
    most > processes * underLoadMax ? [] : ['there is no room'],
  );

  const rest = await countAtRest(sql, scale);
  const complaints = judgeCount(rest, processes * atRestMax);
  if ((await statusOf(`${service.url}/readyz`)) !== 200) complaints.push('/readyz is not 200');
  await service.run('app', 'list');
  report.claim(
    `WORKERS=${workers}: idle for ${scale.restMs / 1000} s it holds at most ${atRestMax} a process, is ready, and has room for a command`,
    describeCount(rest),
    complaints,
  );

  const watch = watchConnections(sql);
  const sending = sendToAll(equipped, sql, scale.devices);
  await service.run('app', 'list');
  const unsent = await sending;
  const load = await watch.stop();
  report.claim(
    `WORKERS=${workers}: then a send reaches each of ${scale.devices} devices once, with at most ${underLoadMax} a process and a command beside it`,
    describeCount(load),
    [...judgeCount(load, processes * underLoadMax), ...unsent, ...(await judgeLog(service))],
  );
  await part.close();
}

const fewConnections = 44;
const tooFewConnections = 12;

/**
 * Starts on a foreign server with fewer connections than four processes may need, and then with
 * fewer than one may.
 */
async function startOnSmall({ workbench, report }: ProofOptions, scale: Scale): Promise<void> {
  const database = await startRunDatabase(workbench);
  const allow = async (most: number): Promise<void> => {
    await database.admin.unsafe(`ALTER SYSTEM SET max_connections = ${most}`);
    await database.stop();
    await database.start();
  };
  await allow(fewConnections);
  const part = workbench.apart();
  const environment = { ...database.environment, WORKERS: '3' };
  const equipped = await equip(part, environment, async () => database.sql, scale.devices);
  const watch = watchConnections(database.sql);
  const complaints = await sendToAll(equipped, database.sql, scale.devices);
  const load = await watch.stop();
  const log = await readFile(join(equipped.service.dataDir, 'service.log'), 'utf8');
  const said = /The database allows \d+ connections [^"\n]*/.exec(log)?.[0];
  if (!said?.includes(`max_connections ${fewConnections}`) || !said.includes('4 processes may need 64'))
    complaints.push(`it did not say so at the start: ${said}`);
  report.claim(
    `on a server with ${fewConnections} connections, four processes say so at the start, and a send reaches each device once`,
    describeCount(load),
    complaints,
  );
  await part.close();

  await allow(tooFewConnections);
  const { code, lastWords } = await startInVain(workbench, database.environment);
  const isRefused = code === 1 && lastWords.includes('one process may need 16');
  report.claim(
    `on a server with ${tooFewConnections} connections the start is refused, in words`,
    lastWords,
    isRefused ? [] : [`it ended with ${code}`],
  );
}

interface Ended {
  readonly code: number | null;
  readonly lastWords: string;
}

/** Starts a service that is expected to refuse to run. */
async function startInVain(workbench: Workbench, environment: Readonly<Record<string, string>>): Promise<Ended> {
  const directory = await workbench.makeDirectory('r-98-refused');
  const child = spawn(process.execPath, [carillon, 'start'], {
    cwd: directory,
    env: { ...plainEnvironment(), ...environment, PORT: String(await findFreePort()), WORKERS: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let words = '';
  child.stderr.on('data', (chunk) => {
    words += chunk;
  });
  const late = setTimeout(() => child.kill('SIGKILL'), 60_000);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(late);
  return { code, lastWords: words.trim().split('\n').at(-1) ?? '' };
}

const throughSession = 'behind PgBouncer in session mode, as installed, a send reaches each device once';
const withSettings = 'behind PgBouncer in session mode a session keeps its settings';
const throughTransaction = 'behind PgBouncer in transaction mode the start is refused, in words';

async function startBehindPooler({ workbench, report }: ProofOptions, scale: Scale): Promise<void> {
  if (!hasPgBouncer()) {
    for (const claim of [throughSession, withSettings, throughTransaction])
      report.missing(claim, 'Install pgbouncer (Debian: apt-get install pgbouncer).');
    return;
  }
  const database = await startRunDatabase(workbench);
  const session = await startPgBouncer(workbench, database.url, 'session');
  const part = workbench.apart();
  const environment = { ...database.environment, DATABASE_URL: session, WORKERS: '2' };
  const equipped = await equip(part, environment, async () => database.sql, scale.devices);
  const watch = watchConnections(database.sql);
  const complaints = await sendToAll(equipped, database.sql, scale.devices);
  const load = await watch.stop();
  report.claim(throughSession, describeCount(load), [...complaints, ...judgeCount(load, 3 * underLoadMax)]);
  const connection = await connect({ url: session, name: 'carillon proof', statementTimeoutMs: 7000 });
  const [row] = await connection<{ limit: string }[]>`SELECT current_setting('statement_timeout') AS limit`;
  connection.release();
  report.claim(withSettings, `statement_timeout ${row?.limit}`, row?.limit === '7s' ? [] : ['it is not 7s']);
  await part.close();

  const transaction = await startPgBouncer(workbench, database.url, 'transaction');
  const refused = await startInVain(workbench, { ...database.environment, DATABASE_URL: transaction });
  const isRefused = refused.code === 1 && refused.lastWords.includes('a pooler in transaction or statement mode');
  report.claim(throughTransaction, refused.lastWords, isRefused ? [] : [`it ended with ${refused.code}`]);
}

async function run(options: ProofOptions): Promise<void> {
  const scale = options.isQuick ? quick : full;
  await countProcesses(options, scale);
  for (const workers of scale.workers) await startEmbedded(options, scale, workers);
  await startOnSmall(options, scale);
  await startBehindPooler(options, scale);
}

export const requirement: Requirement = {
  number: 'R-98',
  title: 'One budget of connections: counted at rest and under load, with many workers, and on a server that has few',
  leftOut: 'counts connections at rest, half a minute for each setting',
  run,
};
