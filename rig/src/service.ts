// Carillon as an operator runs it: the built service, started by its command with its embedded
// database, and used through its command line and its API.
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPool, type Sql } from '@carillon/postgres';
import { findEmbeddedPostgres } from '../../packages/postgres/src/embedded/start-postgres.ts';
import { carillon, runCommand } from './command.ts';
import { isListeningOn, listChildren, parentOf } from './measure.ts';
import { findFreePort } from './ports.ts';
import { type Program, RunError, startProgram, type Workbench } from './workbench.ts';

/** Milliseconds for a start on a busy machine. */
const readyWithinMs = 300_000;
/** The precision of a measured start. A shorter poll would slow the start that it measures. */
const readyPollMs = 50;

export interface Service {
  readonly url: string;
  readonly dataDir: string;
  readonly supervisorPid: number;
  readonly port: number;
  /** From the launch of the command to the first 200 of /readyz. */
  readonly startedInSeconds: number;
  /**
   * Runs one command of the command line against this service and returns the JSON that it prints.
   */
  run<Json>(...parameters: string[]): Promise<Json>;
  stop(): Promise<void>;
}

export interface ServiceOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** Node options for the started process, which passes them on to its children. */
  readonly nodeOptions?: readonly string[];
}

/** Starts the service on a new or existing data directory and resolves when it is ready. */
export async function startService(
  workbench: Workbench,
  dataDir: string,
  { environment = {}, nodeOptions = [] }: ServiceOptions = {},
): Promise<Service> {
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const variables = { ...environment, DATA_DIR: dataDir, PORT: String(port) };
  const launchedAt = performance.now();
  const program = await startProgram({
    parameters: [...nodeOptions, carillon, 'start'],
    workingDir: dataDir,
    environment: variables,
    logFile: join(dataDir, 'service.log'),
  });
  // SIGINT is the stop of a person at a terminal: it waits for no load balancer.
  const stop = (): Promise<void> => program.stop('SIGINT');
  workbench.onClose(stop);
  await untilReady(program, url);
  const startedInSeconds = (performance.now() - launchedAt) / 1000;
  if (/^Building /m.test(await program.lastWords())) {
    throw new RunError('The sources changed and the service was built again while it was measured: run it once more.');
  }
  return {
    url,
    port,
    dataDir,
    supervisorPid: program.pid,
    startedInSeconds,
    run: (...parameters) => runCommand(variables, dataDir, ...parameters),
    stop,
  };
}

async function untilReady(program: Program, url: string): Promise<void> {
  const deadline = performance.now() + readyWithinMs;
  while (!(await isReady(url))) {
    const hasEnded = program.child.exitCode !== null || program.child.signalCode !== null;
    if (hasEnded || performance.now() > deadline) {
      throw new RunError(`the service ${hasEnded ? 'ended' : 'is not ready'}:\n${await program.lastWords()}`);
    }
    await sleep(readyPollMs);
  }
}

function isReady(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request(`${url}/readyz`, { agent: false, timeout: 2000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on('timeout', () => asked.destroy());
    asked.on('error', () => resolve(false));
    asked.end();
  });
}

/** The URL of the service's own database, for its superuser. */
export async function findDatabaseUrl({ dataDir }: Service): Promise<string> {
  const found = await findEmbeddedPostgres(dataDir);
  if (found === undefined) throw new RunError(`no database runs on ${dataDir}`);
  return found.adminUrl;
}

/** Opens the service's own database, for reads and fillings of a benchmark. */
export async function openDatabase(
  workbench: Workbench,
  service: Service,
  /** 0: no timeout. */
  statementTimeoutMs: number = 600_000,
): Promise<Sql> {
  const url = await findDatabaseUrl(service);
  const sql = openPool({ url, connectionsMax: 1, name: 'carillon bench', statementTimeoutMs });
  workbench.onClose(() => sql.end({ timeout: 1 }));
  return sql;
}

export async function readPostgresVersion(sql: Sql): Promise<string> {
  const [row] = await sql<{ version: string }[]>`SELECT current_setting('server_version') AS version`;
  return row?.version ?? 'unknown';
}

/**
 * The processes of a service by their role. `postgres` is the server process; its children are its
 * connections.
 */
export interface ServiceProcesses {
  readonly api: readonly number[];
  readonly worker: readonly number[];
  readonly supervisor: readonly number[];
  readonly postgres: readonly number[];
}

export async function findProcesses({ supervisorPid, port }: Service, sql: Sql): Promise<ServiceProcesses> {
  const [row] = await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  const postgres = row && (await parentOf(row.pid));
  if (postgres === undefined) throw new RunError('the database has no process here');
  const children = (await listChildren(supervisorPid)).filter((pid) => pid !== postgres);
  const api: number[] = [];
  const worker: number[] = [];
  for (const pid of children) ((await isListeningOn(pid, port)) ? api : worker).push(pid);
  return { api, worker, supervisor: [supervisorPid], postgres: [postgres] };
}
