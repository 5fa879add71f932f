// The supervisor. It starts the embedded database where no other is given, migrates, makes the
// first app, and then runs one API and its workers as processes. It replaces a process that dies,
// drains all of them in order on a stop, and does no work itself.
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import {
  checkPooling,
  describeUnsafeWay,
  type EmbeddedDatabase,
  openPool,
  startEmbeddedPostgres,
} from '@carillon/postgres';
import { type Config, ConfigError, processEnvironment, type Role } from '../../config.ts';
import { createClock } from '../../ground/database/clock.ts';
import { checkDurability, checkMasterKey, isInstanceMade, loadInstance } from '../../ground/database/instance.ts';
import { pauseWhereMoved } from '../../ground/database/restore-guard.ts';
import { createLog, dieOfTheUnforeseen, type Log, standardError } from '../../ground/host/log.ts';
import { readLines } from '../../ground/host/log-lines.ts';
import { createSeal } from '../../ground/secrets/seal.ts';
import { listUnprovableApps } from '../../teams/apps/identify-queries.ts';
import { warnOfUnprovable } from '../../teams/apps/open-identity.ts';
import { listPlansInUse } from '../../teams/apps/queries.ts';
import { serviceActor } from '../../teams/audit/actor.ts';
import { pauseService } from '../../teams/audit/pause-service.ts';
import { loadPlans } from '../../teams/quotas/plan.ts';
import { GatheredMetrics, type MetricsAsked, type MetricsTold, type MetricsWanted } from '../metrics/gather.ts';
import { createProcessMetrics } from '../metrics/process-metrics.ts';
import { type FamilySnapshot, mergeSnapshots, renderMetrics } from '../metrics/registry.ts';
import { type MetricsServer, startMetricsServer } from '../metrics/server.ts';
import {
  embeddedConnections,
  judgeConnections,
  type ProcessPlan,
  planProcesses,
  readConnectionLimits,
} from './connection-budget.ts';
import { firstStart, type StartNotice } from './first-start.ts';
import { checkListenAddress } from './listen-port.ts';
import { checkMasterKeySettings, loadMasterKey } from './master-key.ts';
import { prepareDatabase } from './prepare-database.ts';
import { describeOpenFile, listOpenSecretFiles } from './secret-files.ts';
import { noteServicePlace } from './service-place.ts';

export type ToProcess =
  /** `name` tells the process from its siblings in metrics: `api`, `worker-1`. */
  | { readonly type: 'start'; readonly role: 'api' | 'worker'; readonly name: string; readonly databaseUrl: string }
  | { readonly type: 'drain'; readonly isHurried: boolean }
  /** For an API: how long ago the slowest worker beside it looked for work. */
  | { readonly type: 'workers'; readonly pollAgeMs: number }
  | MetricsWanted
  | MetricsTold;
export type FromProcess =
  | { readonly type: 'ready'; readonly address: string | null }
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'polled'; readonly pollAgeMs: number }
  | MetricsAsked
  | MetricsTold;

const drainMsMax = 23_000;
/**
 * Milliseconds after a stop's signal at which the supervisor exits. The database, which was told to
 * stop, and a migration, which is rolled back, may still run then and end by themselves.
 */
const exitMsMax = 24_500;
const restartMsLeast = 200;
const restartMsMost = 5000;
/** Milliseconds. A process that lived this long did not die from its start. */
const settledMs = 10_000;
/**
 * A terminal and npm both deliver one Ctrl-C. Only a signal that comes later than this counts as a
 * second one.
 */
const secondSignalMs = 1000;

export interface StartOptions {
  readonly role?: Role;
  readonly workers?: number;
  /** Prints one JSON document in place of the banner. */
  readonly json?: boolean;
}

/**
 * Runs the service until it is told to stop. Rejects, in words for an operator, where the service
 * cannot start.
 */
export async function runStart(config: Config, options: StartOptions): Promise<void> {
  const plan = planProcesses(config, options);
  const log = createLog(config.logLevel, 'supervisor');
  dieOfTheUnforeseen(log);
  const children = new Children(log);
  // Signals are handled from the first moment on, because a signal during the start must not leave
  // a database running.
  const stopped = untilStopped(children, log);
  // These checks come before anything is made: a refused first start leaves nothing behind, and a
  // first start without its port could not show its keys.
  checkMasterKeySettings(config);
  loadPlans(config.plansFile, [config.defaultPlan]);
  if (plan.apis > 0) await checkListenAddress(config);
  const metricsServer = await openMetrics(config, children);
  const embedded =
    config.databaseUrl === null
      ? await startEmbeddedPostgres({
          dataDir: config.dataDir,
          connections: embeddedConnections(plan),
          log: (line) => log.info(line),
        })
      : undefined;
  noteServicePlace(config);
  try {
    const databaseUrl = config.databaseUrl ?? embedded?.url ?? '';
    const notice = await prepare(config, plan, databaseUrl, embedded, log);
    const started = Promise.all([
      ...(plan.apis === 0 ? [] : [children.keep('api', 'api', databaseUrl)]),
      ...Array.from({ length: plan.workers }, (_, i) => children.keep('worker', `worker-${i + 1}`, databaseUrl)),
    ]);
    for (const file of await listOpenSecretFiles(config)) log.warn(describeOpenFile(file));
    const addresses = await Promise.race([started, stopped]);
    if (addresses) {
      const address = addresses.find((one) => one !== null) ?? null;
      await show(notice, address, options, log);
    }
    await stopped;
  } finally {
    metricsServer?.close();
    children.kill();
    await embedded?.stop();
  }
}

/**
 * Keeps the keys of a first start in their file, and then prints the notice that names the file. The
 * service does not wait for the notice's reader and runs on without one; the next start then shows
 * the keys again.
 */
async function show(notice: StartNotice, address: string | null, { json }: StartOptions, log: Log): Promise<void> {
  const warn = (error: unknown) => log.warn({ err: error }, 'the notice of the start could not be shown or kept');
  await notice.keep(address).catch(warn);
  const text = json ? `${JSON.stringify(notice.document(address), null, 2)}\n` : notice.text(address);
  process.stdout.write(text, (error) => (error ? warn(error) : notice.wasShown(address).catch(warn)));
}

/**
 * Opens the port for metrics where one is set. The supervisor listens on it, because it runs beside
 * processes of any role.
 */
async function openMetrics(config: Config, children: Children): Promise<MetricsServer | undefined> {
  const { host, metricsPort: port, metricsToken: token } = config;
  if (port === null) return undefined;
  try {
    return await startMetricsServer({ host, port, token, read: async () => renderMetrics(await children.gather()) });
  } catch (error) {
    throw new ConfigError(`METRICS_PORT: nothing can listen on ${host}:${port} (${(error as Error).message}).`);
  }
}

/**
 * Prepares schema, master key and pause and, in an empty embedded database, the first app. Returns
 * what to print once the service answers.
 */
async function prepare(
  config: Config,
  plan: ProcessPlan,
  databaseUrl: string,
  embedded: EmbeddedDatabase | undefined,
  log: Log,
): Promise<StartNotice> {
  const sql = openPool({ url: databaseUrl, connectionsMax: 2, name: 'carillon start', statementTimeoutMs: 300_000 });
  try {
    const unsafeWay = describeUnsafeWay(databaseUrl);
    if (unsafeWay !== undefined) log.warn(unsafeWay);
    for (const warning of await checkDurability(sql, config.allowUnsafePostgres)) log.warn(warning);
    if (!embedded) await checkPooling(databaseUrl);
    const tooFew = judgeConnections(plan, await readConnectionLimits(sql));
    if (tooFew !== undefined) log.warn(tooFew);
    // The key is checked before the schema is touched: a key that opens nothing here belongs to
    // another service.
    const isMade = await isInstanceMade(sql);
    const { key, previous } = await loadMasterKey(config, isMade);
    const seal = createSeal(key, previous);
    if (isMade) await checkMasterKey(sql, seal);
    await bringUpToDate(databaseUrl, log);
    // The plans are checked before the first app is made, because an app on an unknown plan would
    // stop every later start.
    const plans = loadPlans(config.plansFile, [config.defaultPlan, ...(await listPlansInUse(sql))]);
    await loadInstance(sql, seal);
    const unprovable = await listUnprovableApps(sql);
    if (unprovable.length > 0) log.warn(warnOfUnprovable(unprovable.join(', ')));
    // The pause is set once, here: a process that is started again must not undo an operator's
    // resume.
    const paused = config.startPaused
      ? await pauseService({ sql, clock: await createClock(sql), by: serviceActor('START_PAUSED=1') }, 'start')
      : await pauseWhereMoved(sql);
    return await firstStart({ sql, seal, config, plans, embedded, paused });
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/**
 * Migrates without a time limit. A new start would not help: the time goes into an index over all
 * devices, or into waiting for another start that migrates.
 */
async function bringUpToDate(databaseUrl: string, log: Log): Promise<void> {
  const sql = openPool({ url: databaseUrl, connectionsMax: 2, name: 'carillon start', statementTimeoutMs: 0 });
  try {
    const { applied, wasEmpty } = await prepareDatabase(sql, (line) =>
      log.warn(`bringing the schema up to date: ${line}`),
    );
    if (wasEmpty) log.info({ migrations: applied.length }, 'schema made');
    else for (const name of applied) log.info({ migration: name }, 'schema brought up to date');
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Resolves when a signal came and every process has ended. */
function untilStopped(children: Children, log: Log): Promise<void> {
  return new Promise((resolve) => {
    let firstSignalAt: number | undefined;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (firstSignalAt !== undefined) {
        if (performance.now() - firstSignalAt < secondSignalMs) return;
        children.kill();
        process.exit(1);
      }
      firstSignalAt = performance.now();
      log.info({ signal }, 'stopping');
      setTimeout(() => {
        children.kill();
        process.exit(0);
      }, exitMsMax).unref();
      // SIGINT comes from a person at a terminal, who does not wait for load balancers.
      void children.drain(signal === 'SIGINT').then(resolve);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

/**
 * Arguments of a worker's Node.js. A semi-space of 32 MB gives young objects twice their usual
 * room: they are collected half as often, and fewer objects of pushes under way become old.
 * Measured: a seventh of a push's CPU time is saved. Old objects are collected at 2.2 times the
 * size that the last collection left, instead of nearly 4 times. Measured: 70 MB less memory for 1
 * to 3 % more CPU time.
 */
const workerArguments = ['--max-semi-space-size=32', '--heap-growing-percent=120'];

/**
 * The processes of the service, each in its place. A place whose process died gets a new process.
 */
class Children {
  readonly #log: Log;
  readonly #alive = new Set<ChildProcess>();
  readonly #pollAges = new Map<ChildProcess, number>();
  readonly #metrics = new GatheredMetrics<ChildProcess>();
  readonly #ownMetrics = createProcessMetrics('supervisor');
  readonly #output = standardError();
  #isStopping = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /**
   * Starts a process, and another one whenever it dies. Resolves with the process's address when it
   * is ready for the first time. Rejects where it ends before that.
   */
  keep(role: 'api' | 'worker', name: string, databaseUrl: string): Promise<string | null> {
    return new Promise((resolve, reject) => {
      let waitMs = restartMsLeast;
      let wasReady = false;
      const launch = (): void => {
        if (this.#isStopping) return;
        const startedAt = performance.now();
        const child = fork(fileURLToPath(new URL(`./child${moduleExtension}`, import.meta.url)), {
          env: processEnvironment(),
          execArgv: role === 'worker' ? [...workerArguments, ...process.execArgv] : process.execArgv,
          // A child that inherits a socket would make it blocking for this process too.
          stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
        });
        for (const output of [child.stdout, child.stderr])
          if (output) readLines(output, (line) => this.#output.write(line));
        this.#alive.add(child);
        child.send({ type: 'start', role, name, databaseUrl } satisfies ToProcess);
        child.on('message', (message: FromProcess) => {
          if (message.type === 'polled') {
            this.#notePoll(child, message.pollAgeMs);
          } else if (message.type === 'metrics-told') {
            this.#metrics.hear(message);
          } else if (message.type === 'metrics-asked') {
            void this.#tellMetrics(child, message.question);
          } else if (message.type === 'ready') {
            wasReady = true;
            resolve(message.address);
          } else if (!wasReady) reject(new ConfigError(message.reason));
          else this.#log.error({ process_role: role, reason: message.reason }, 'process could not start');
        });
        // A process cannot be made, or is gone when a message is sent to it. The log notes that,
        // and `close` handles the end of a process, so the other processes go on.
        child.on('error', (error) => this.#log.error({ err: error, process_role: role }, 'process cannot be reached'));
        // The last lines of the process have been read by then.
        child.on('close', (code, signal) => {
          this.#alive.delete(child);
          this.#pollAges.delete(child);
          this.#metrics.forget(child);
          if (this.#isStopping) return;
          if (!wasReady) {
            reject(new ConfigError(`The ${role} process ended before it was ready.`));
            return;
          }
          this.#log.error({ process_role: role, code, signal }, 'process died, starting another');
          waitMs = performance.now() - startedAt > settledMs ? restartMsLeast : Math.min(waitMs * 2, restartMsMost);
          setTimeout(launch, waitMs);
        });
      };
      launch();
    });
  }

  /** Resolves with the metrics of all processes, added up, and of the supervisor. */
  async gather(): Promise<FamilySnapshot[]> {
    const connected = [...this.#alive].filter((child) => child.connected);
    const told = await this.#metrics.gather(connected, (child, wanted) => void child.send(wanted satisfies ToProcess));
    return mergeSnapshots([told, this.#ownMetrics()]);
  }

  async #tellMetrics(child: ChildProcess, question: number): Promise<void> {
    const told: ToProcess = { type: 'metrics-told', question, families: await this.gather() };
    if (child.connected) child.send(told);
  }

  #notePoll(worker: ChildProcess, pollAgeMs: number): void {
    this.#pollAges.set(worker, pollAgeMs);
    const told: ToProcess = { type: 'workers', pollAgeMs: Math.max(...this.#pollAges.values()) };
    for (const child of this.#alive) if (child !== worker && child.connected) child.send(told);
  }

  async drain(isHurried: boolean): Promise<void> {
    this.#isStopping = true;
    const ended = [...this.#alive].map((child) => {
      const end = new Promise<void>((resolve) => child.once('close', () => resolve()));
      if (child.connected) child.send({ type: 'drain', isHurried } satisfies ToProcess);
      return end;
    });
    const late = setTimeout(() => this.kill(), drainMsMax);
    await Promise.all(ended);
    clearTimeout(late);
  }

  kill(): void {
    this.#isStopping = true;
    for (const child of this.#alive) child.kill('SIGKILL');
  }
}

/** `.js` when built, `.ts` under tsx. */
const moduleExtension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
