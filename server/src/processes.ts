// The supervisor: its own database where none is given, migrations, the first start, then one API and its workers as
// processes. It restarts one that dies, drains them in order on a stop, and does no work itself.
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { listPlansInUse } from './apps/queries.ts';
import { serviceActor } from './audit/actor.ts';
import { pauseService } from './audit/pause-service.ts';
import { type Config, ConfigError, processEnvironment, type Role } from './config.ts';
import {
  embeddedConnections,
  judgeConnections,
  type ProcessPlan,
  planProcesses,
  readConnectionLimits,
} from './connection-budget.ts';
import { firstStart, type StartNotice } from './first-start.ts';
import { GatheredMetrics, type MetricsAsked, type MetricsTold, type MetricsWanted } from './gather-metrics.ts';
import { createClock } from './platform/clock.ts';
import { describeUnsafeWay, openPool } from './platform/db.ts';
import { type EmbeddedDatabase, startEmbeddedPostgres } from './platform/embedded-postgres.ts';
import { checkDurability, checkMasterKey, isInstanceMade, loadInstance } from './platform/instance.ts';
import { checkListenAddress } from './platform/listen-port.ts';
import { createLog, dieOfTheUnforeseen, type Log } from './platform/log.ts';
import { checkMasterKeySettings, loadMasterKey } from './platform/master-key.ts';
import { type FamilySnapshot, renderMetrics } from './platform/metrics.ts';
import { type MetricsServer, startMetricsServer } from './platform/metrics-server.ts';
import { checkPooling } from './platform/pooling.ts';
import { pauseWhereMoved } from './platform/restore-guard.ts';
import { createSeal } from './platform/seal.ts';
import { prepareDatabase } from './prepare-database.ts';
import { loadPlans } from './quotas/plan.ts';
import { describeOpenFile, listOpenSecretFiles } from './secret-files.ts';
import { noteServicePlace } from './service-place.ts';

export type ToProcess =
  /** `name` tells it from its siblings in metrics: `api`, `worker-1`. */
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
/** Whatever is left by then ends by itself: the database, which has been told to, or a migration, which is undone. */
const exitMsMax = 24_500;
const restartMsLeast = 200;
const restartMsMost = 5000;
/** A process that lived this long did not die of its start. */
const settledMs = 10_000;
/** A terminal and npm both deliver one Ctrl-C: only a later signal is a second one. */
const secondSignalMs = 1000;

export interface StartOptions {
  readonly role?: Role;
  readonly workers?: number;
  /** Prints one JSON document in place of the banner. */
  readonly json?: boolean;
}

/** Runs the service until it is told to stop. Rejects, in words for an operator, when it cannot start. */
export async function runStart(config: Config, options: StartOptions): Promise<void> {
  const plan = planProcesses(config, options);
  const log = createLog(config.logLevel, 'supervisor');
  dieOfTheUnforeseen(log);
  const children = new Children(log);
  // From the first moment on: a signal during the start must not leave a database running.
  const stopped = untilStopped(children, log);
  // Before anything is made: a first start that is refused leaves nothing, and one without its port would tell nobody its keys.
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
      process.stdout.write(
        options.json ? `${JSON.stringify(notice.document(address), null, 2)}\n` : notice.text(address),
      );
      await notice.wasShown(address);
    }
    await stopped;
  } finally {
    metricsServer?.close();
    children.kill();
    await embedded?.stop();
  }
}

/** The port for metrics, where one is set: here, beside all processes, so that it answers for those of any role. */
async function openMetrics(config: Config, children: Children): Promise<MetricsServer | undefined> {
  const { host, metricsPort: port, metricsToken: token } = config;
  if (port === null) return undefined;
  try {
    return await startMetricsServer({ host, port, token, read: async () => renderMetrics(await children.gather()) });
  } catch (error) {
    throw new ConfigError(`METRICS_PORT: nothing can listen on ${host}:${port} (${(error as Error).message}).`);
  }
}

/** Schema, master key, pause, and with an empty embedded database the first app. Returns what to print once the service answers. */
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
    const pooling = embedded ? undefined : await checkPooling(databaseUrl);
    if (pooling !== undefined) log.warn(pooling);
    const tooFew = judgeConnections(plan, await readConnectionLimits(sql));
    if (tooFew !== undefined) log.warn(tooFew);
    // Before the schema is touched: a key that opens nothing here belongs to another service.
    const isMade = await isInstanceMade(sql);
    const { key, previous } = await loadMasterKey(config, isMade);
    const seal = createSeal(key, previous);
    if (isMade) await checkMasterKey(sql, seal);
    await bringUpToDate(databaseUrl, log);
    // Before the first app is made: it would be on a plan that stops every later start.
    const plans = loadPlans(config.plansFile, [config.defaultPlan, ...(await listPlansInUse(sql))]);
    await loadInstance(sql, seal);
    // Once, here: a process that is started anew must not undo what an operator has resumed.
    const paused = config.startPaused
      ? await pauseService({ sql, clock: await createClock(sql), by: serviceActor('START_PAUSED=1') }, 'start')
      : await pauseWhereMoved(sql);
    return await firstStart({ sql, seal, config, plans, embedded, paused });
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Takes as long as it takes: an index over all devices, or another start that is at it, is no fault that a new start would mend. */
async function bringUpToDate(databaseUrl: string, log: Log): Promise<void> {
  const sql = openPool({ url: databaseUrl, connectionsMax: 2, name: 'carillon start', statementTimeoutMs: 0 });
  try {
    const { applied, wasEmpty } = await prepareDatabase(sql);
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
      // Somebody at a terminal does not wait for load balancers.
      void children.drain(signal === 'SIGINT').then(resolve);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

/**
 * A worker's young objects have twice their usual room, in megabytes: they are collected half as often, and fewer of those that
 * belong to pushes under way are kept as old ones. Measured: a seventh of a push's CPU time. The old ones are collected when they
 * have come to 2.2 times of what the last collection left, and not to nearly four times: 70 MB less, for 1 to 3 % of the CPU time.
 */
const workerArguments = ['--max-semi-space-size=32', '--heap-growing-percent=120'];

/** The processes, each in its place; a place whose process died gets a new one. */
class Children {
  readonly #log: Log;
  readonly #alive = new Set<ChildProcess>();
  readonly #pollAges = new Map<ChildProcess, number>();
  readonly #metrics = new GatheredMetrics<ChildProcess>();
  #isStopping = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Starts a process and keeps its place filled; resolves with its address when it is ready for the first time. */
  keep(role: 'api' | 'worker', name: string, databaseUrl: string): Promise<string | null> {
    return new Promise((resolve, reject) => {
      let waitMs = restartMsLeast;
      let wasReady = false;
      const launch = (): void => {
        if (this.#isStopping) return;
        const startedAt = performance.now();
        const child = fork(fileURLToPath(new URL(`./process${moduleExtension}`, import.meta.url)), {
          env: processEnvironment(),
          execArgv: role === 'worker' ? [...workerArguments, ...process.execArgv] : process.execArgv,
        });
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
        // A process that cannot be made, or is gone when it is spoken to, ends in `exit` or never was: neither ends the others.
        child.on('error', (error) => this.#log.error({ err: error, process_role: role }, 'process cannot be reached'));
        child.on('exit', (code, signal) => {
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

  /** What all processes count, as one. */
  gather(): Promise<FamilySnapshot[]> {
    const connected = [...this.#alive].filter((child) => child.connected);
    return this.#metrics.gather(connected, (child, wanted) => void child.send(wanted satisfies ToProcess));
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
      const end = new Promise<void>((resolve) => child.once('exit', () => resolve()));
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
