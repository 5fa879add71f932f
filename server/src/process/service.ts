// Builds everything that one process consists of, once, from the configuration: pools, clock, keys,
// channels, operations. A service stops what it has started, in the order that loses nothing.
import type { FastifyInstance } from 'fastify';
import { type Authenticate, createAuthenticate } from '../apps/authenticate.ts';
import { type Caller, nobody } from '../apps/caller.ts';
import { createCredentials } from '../apps/credentials.ts';
import { createKeyLookups } from '../apps/key-lookups.ts';
import { listPlansInUse } from '../apps/queries.ts';
import { createFieldUses } from '../audience/follow-use.ts';
import type { Config } from '../config.ts';
import { createClock, type SettableClock } from '../database/clock.ts';
import { isDatabaseState, type Sql } from '../database/db.ts';
import { checkDurability, cursorKeyOf, loadInstance, noteIgnoredForwarder } from '../database/instance.ts';
import { startListener } from '../database/listener.ts';
import { loadTimeZones } from '../database/load-time-zones.ts';
import { type Lookout, startLookout } from '../database/lookout.ts';
import { type PauseWatch, pauseChannel, pauseWhereMoved, watchPause } from '../database/restore-guard.ts';
import { createTeller, readWords, toldChannel } from '../database/teller.ts';
import { createAnswerForms } from '../delivery/answer-forms.ts';
import { createCompiledMessages } from '../delivery/compiled-messages.ts';
import { channelOfNumber } from '../delivery/delivery.ts';
import { createFlushPace, type FlushPace } from '../delivery/flush-pace.ts';
import { createLanes } from '../delivery/lanes.ts';
import { createLeases } from '../delivery/leases.ts';
import { finishedTopic, type MessageLedger } from '../delivery/message-ledger.ts';
import { createMessageWatches } from '../delivery/message-watch.ts';
import { createOutageWatch } from '../delivery/outage-watch.ts';
import { createOutcomeBacklog } from '../delivery/outcome-backlog.ts';
import { batchesTopic } from '../delivery/queries.ts';
import { watchReceiptKeys } from '../delivery/receipt-keys.ts';
import type { RunDeps } from '../delivery/run-batch.ts';
import { createVerdictBook } from '../delivery/verdict-book.ts';
import { createRegister } from '../devices/register-together.ts';
import { createTrack } from '../events/track-events.ts';
import { createFairSlots } from '../ground/fair-slots.ts';
import type { Log } from '../ground/log.ts';
import { createSeal } from '../ground/seal.ts';
import { seldom } from '../ground/seldom.ts';
import { createSpareTime } from '../ground/spare-time.ts';
import { ApiError } from '../http/api-error.ts';
import { createCursors } from '../http/page.ts';
import { type BoundRoute, createHttpServer, type HttpServerOptions } from '../http/server.ts';
import { createTurns } from '../http/turns.ts';
import { createFinishes } from '../messages/await-outcomes.ts';
import { isStillSending } from '../messages/cancel-message.ts';
import { createLocalInstants, type LocalInstants } from '../messages/local-time.ts';
import { advanceMessage, canceledTopic, findMessageToSend } from '../messages/queries.ts';
import { type FamilySnapshot, renderMetrics } from '../metrics/registry.ts';
import { createDatabaseMetrics, createServiceMetrics } from '../metrics/service-metrics.ts';
import { createAddressLimits } from '../quotas/address-limit.ts';
import { loadPlans } from '../quotas/plan.ts';
import { createRateLimit } from '../quotas/rate-limit.ts';
import { createOutboxTeller, webhooksTopic } from '../webhooks/tell-outbox.ts';
import type { WebhookDeps } from '../webhooks/worker.ts';
import { type HttpDeps, routesOf } from './api-routes.ts';
import {
  audienceConnections,
  countConnections,
  type DatabaseLimits,
  openDatabases,
  type ProcessRole,
  readTurnsMax,
} from './databases.ts';
import { type Due, findDue } from './due-queries.ts';
import type { MasterKeys } from './master-key.ts';
import { openOutbound } from './outbound.ts';
import { startWorkers, type Workers } from './workers.ts';

export interface ServiceOptions {
  readonly config: Config;
  /** The database's address, found or started before. */
  readonly databaseUrl: string;
  readonly masterKeys: MasterKeys;
  readonly log: Log;
  /** Limits for tests, which cannot wait as long or load as much as the defaults. */
  readonly http?: Pick<HttpServerOptions<Caller>, 'bodyTimeoutMs' | 'doorLimits' | 'connectionLimits'>;
  /**
   * The name of this process in metrics, and how the sums of all processes are asked for. Absent:
   * metrics are those of this process alone.
   */
  readonly metrics?: { readonly name: string; gather(): Promise<readonly FamilySnapshot[] | undefined> };
  /** The role decides the pools. Absent, as in tests: the process has the pools of both roles. */
  readonly role?: ProcessRole;
  /** Limits of the database, likewise for tests. */
  readonly databaseLimits?: Partial<DatabaseLimits>;
}

export interface Service {
  readonly sql: Sql;
  readonly clock: SettableClock;
  readonly server: FastifyInstance;
  /** The routes of the server, and who may call them. */
  readonly routes: readonly Pick<BoundRoute<Caller>, 'method' | 'path' | 'access'>[];
  /** The parts with which a batch is run. */
  readonly run: RunDeps;
  readonly pause: PauseWatch;
  /** Tells what falls due. */
  readonly lookout: Lookout<Due>;
  /** Finds the instant of a local time in every time zone. */
  readonly localInstants: LocalInstants;
  /** The parts with which webhooks are called. */
  readonly webhooks: WebhookDeps;
  /**
   * Resolves with the counts of this process and, on demand, the figures that the database has of
   * all processes.
   */
  snapshotMetrics(wanted: { includesDatabase: boolean }): Promise<FamilySnapshot[]>;
  /** Starts the loops of a worker. */
  startWorkers(): Workers;
  /** Notes how long ago the slowest worker beside this process looked for work. */
  noteWorkers(pollAgeMs: number): void;
  /**
   * Makes /readyz fail from now on, so that load balancers look elsewhere. Everything else goes on.
   */
  leave(): void;
  /** Begins no new work from now on. Resolves when the work that is under way has ended. */
  drain(): Promise<void>;
  /** Closes pools and connections. */
  close(): Promise<void>;
}

/** Work that falls due this soon, before the next look, is already told with the present look. */
const dueAheadMs = 1_500;
const lookoutTopic = 'lookout';

/** Milliseconds that a preview, a dry run or a report may wait for its turn. */
const countWaitMsMax = 2_000;

/**
 * Milliseconds that a connection may be silent beyond `SEND_WAIT_MS`. Nothing moves on it while its
 * caller waits for a send, or for a report, which has a minute in the database.
 */
const silenceBeyondSendMs = 100_000;

/**
 * Pushes under way at once in one process. An app that is alone can get half of them. With 50 ms of
 * provider latency this keeps the process busy, although pushes go out and are answered in waves.
 * An app begins with 200: as many unanswered or refused pushes as may be lost before they are known
 * as such (R-62, contract 7.5). The maximum is low enough to bound memory. Time, and not this
 * number, bounds what a crash can repeat.
 */
const pushSlots = { slotsMax: 6000, perFree: 1, start: 200 };

export async function createService(options: ServiceOptions): Promise<Service> {
  const { config, masterKeys, log } = options;
  const databases = openDatabases(options.databaseUrl, options.role, options.databaseLimits);
  const { promptSql, sql, txSql, sendSql, workSql, indexSql } = databases;
  await checkDurability(sql, config.allowUnsafePostgres);
  const clock = await createClock(promptSql);
  const clockTimer = setInterval(() => clock.synchronize().catch(() => undefined), 30_000);
  clockTimer.unref();

  const metrics = createServiceMetrics(options.metrics?.name ?? 'api');
  const seal = createSeal(masterKeys.key, masterKeys.previous);
  await loadInstance(sql, seal);
  const receiptKeys = await watchReceiptKeys({ sql, clock, seal });
  const cursors = createCursors(cursorKeyOf(masterKeys.key));
  const plans = loadPlans(config.plansFile, [config.defaultPlan, ...(await listPlansInUse(sql))]);
  const timeZones = await loadTimeZones(sql);
  const localInstants = createLocalInstants(timeZones.names);

  const { endpointRules, http1, senders } = openOutbound(config, { sql: sendSql, clock, log });

  const teller = createTeller({ sql: promptSql, log });
  const outbox = createOutboxTeller({ sql: txSql, clock, log, teller });
  const ledger: MessageLedger = {
    find: findMessageToSend,
    isSending: (ofSql, appId, messageId) => isStillSending({ sql: ofSql, clock, teller }, appId, messageId),
    advance: (tx, appId, messageId, counts, endsBatch) =>
      advanceMessage(tx, clock, appId, messageId, counts, endsBatch),
  };
  await pauseWhereMoved(sql);
  let workers: Workers | undefined;
  const pause = await watchPause({ sql: promptSql, log, onResume: () => workers?.wake() });
  const outages = createOutageWatch(clock);
  const leases = createLeases({ sql: promptSql, clock, log, outages });
  const pace = createFlushPace();
  const flushPace: FlushPace = {
    get waitMs() {
      return pace.waitMs;
    },
    note(tookMs) {
      pace.note(tookMs);
      metrics.noteFlush(tookMs);
    },
  };
  const run: RunDeps = {
    sql: sendSql,
    clock,
    log,
    forms: createAnswerForms({ sql: sendSql }),
    ledger,
    flushPace,
    backlog: createOutcomeBacklog(),
    outbox,
    teller,
    noteOutcomes: metrics.noteOutcomes,
    verdicts: createVerdictBook({ sql: txSql, clock, log }),
    senders,
    lanes: createLanes(() => clock.nowMs()),
    random: Math.random,
    credentials: createCredentials({ sql: sendSql, seal }),
    leases,
    outages,
    watches: createMessageWatches({ sql: sendSql, ledger, log }),
    slots: createFairSlots(pushSlots),
    hasSpareTime: createSpareTime(),
    compiled: createCompiledMessages({ sql: sendSql, ledger }),
    receiptKeys,
    publicUrl: config.publicUrl,
    isPaused: pause.isPaused,
  };

  const webhooks: WebhookDeps = {
    sql: txSql,
    clock,
    log,
    http: http1,
    rules: endpointRules,
    seal,
    isPaused: pause.isPaused,
    channelOfNumber,
    random: Math.random,
    retrySeconds: config.webhookRetrySeconds,
    failurePauseMsMax: config.webhookFailurePauseMsMax,
    noteAttempt: metrics.noteAttempt,
  };

  const finishes = createFinishes();
  const lookForPause = (): void => {
    pause.look().catch((error: unknown) => log.debug({ err: error }, 'cannot see whether sends are paused'));
  };
  const lookForReceiptKeys = (): void => {
    const tell = (error: unknown): void => log.warn({ err: error }, 'the keys of receipt tokens cannot be read again');
    receiptKeys.look().catch(tell);
  };
  const lookout: Lookout<Due> = startLookout({
    ...{ sql: promptSql, log },
    // At rest no claim notices that the database is away, so this look does.
    async look() {
      try {
        const due = await findDue(promptSql, clock, dueAheadMs);
        outages.noteAnswered();
        return due;
      } catch (error) {
        if (isDatabaseState(error)) outages.noteAway();
        throw error;
      }
    },
    tell: (word) => teller.tell(lookoutTopic, word),
  });
  lookout.onDue((due) => {
    if (due.isPaused !== pause.isPaused()) lookForPause();
    if ((due.receiptKeys ?? receiptKeys.version) !== receiptKeys.version) lookForReceiptKeys();
  });
  const hear: Readonly<Record<string, (word: string) => void>> = {
    [finishedTopic]: (id) => finishes.notify(id),
    [canceledTopic]: (id) => run.watches.notify(id),
    [batchesTopic]: () => workers?.wake(),
    [webhooksTopic]: () => workers?.wakeWebhooks(),
    [lookoutTopic]: (word) => lookout.hear(word),
  };
  const listener = await startListener({
    open: databases.openListener,
    sql: promptSql,
    hear: {
      [toldChannel]: (payload) => {
        for (const [topic, words] of readWords(payload)) for (const word of words) hear[topic]?.(word);
      },
      [pauseChannel]: lookForPause,
    },
    onGap() {
      finishes.notify('');
      run.watches.notify('');
      workers?.wake();
      lookForPause();
    },
    log,
  });

  let isStopping = false;
  let isLeaving = false;
  // The supervisor's last word on the workers beside this process. Before the first word there are
  // no workers to ask about.
  let told = { pollAgeMs: Number.NEGATIVE_INFINITY, at: 0 };
  const underWay = new Set<Promise<unknown>>();
  let limitedNetwork = '';
  const warnOfNewDevices = seldom(clock, (refused) =>
    log.warn(
      { address: limitedNetwork, refused, limit: config.newDevicesPerMinute },
      'new devices are refused: NEW_DEVICES_PER_MINUTE limits them by client address; behind a proxy all clients are one address unless TRUSTED_PROXIES names it',
    ),
  );
  const addressLimits = createAddressLimits({
    clock,
    newDevicesPerMinute: config.newDevicesPerMinute,
    onNewDeviceRefused(network) {
      metrics.noteNewDeviceRefused();
      limitedNetwork = network;
      warnOfNewDevices();
    },
  });
  const tellOfUnproven = seldom(clock, (refreshes) =>
    log.info({ refreshes }, 'refreshes without proof: each became a device of its own'),
  );
  const readDatabase = createDatabaseMetrics({ sql, clock, isPaused: pause.isPaused });
  const snapshotMetrics: Service['snapshotMetrics'] = async ({ includesDatabase }) => [
    ...metrics.snapshot(),
    ...(includesDatabase ? await readDatabase() : []),
  ];
  const http: HttpDeps = {
    sql,
    txSql,
    workSql,
    countSql: workSql,
    countTurns: createTurns({
      turnsMax: countConnections,
      waitMsMax: countWaitMsMax,
      refusal: 'Too many audiences are being counted at the moment. Try again.',
      retryAfterMs: 2_000,
    }),
    readTurns: createTurns({
      turnsMax: readTurnsMax,
      waitMsMax: databases.waitMs,
      refusal: 'Too much is being read for this app at the moment. Try again.',
      retryAfterMs: 1_000,
    }),
    audienceSlots: createFairSlots({ slotsMax: audienceConnections, perFree: 1 }),
    clock,
    cursors,
    plans,
    timeZones,
    seal,
    localInstants,
    endpointRules,
    ledger,
    teller,
    outbox,
    receiptKeys,
    register: createRegister({ sql: txSql, clock, waitMs: databases.waitMs }),
    trackEvents: createTrack({ sql, txSql, clock, waitMs: databases.waitMs }),
    retentionDays: config.retentionDays,
    fieldUses: createFieldUses({ sql: txSql, clock, log }),
    run,
    finishes,
    isPaused: pause.isPaused,
    sendWaitMs: config.sendWaitMs,
    addressLimits,
    noteUnprovenRefresh() {
      metrics.noteUnprovenRefresh();
      tellOfUnproven();
    },
    metrics,
    metricsToken: config.metricsToken,
    async readMetrics() {
      const families = await (options.metrics?.gather() ?? snapshotMetrics({ includesDatabase: true }));
      if (!families) throw new ApiError('unavailable', { retryAfterMs: 1000 });
      return renderMetrics(families);
    },
    track(work) {
      underWay.add(work);
      void work.catch(() => undefined).finally(() => underWay.delete(work));
    },
    isStopping: () => isStopping,
    isLeaving: () => isLeaving || isStopping,
    lastPollAgeMs: () =>
      workers ? performance.now() - workers.lastLookedAt : told.pollAgeMs + (performance.now() - told.at),
  };
  const lookups = createKeyLookups({ isOverLimit: addressLimits.isOverUnauthorized, waitMs: databases.waitMs });
  const authenticate: Authenticate = createAuthenticate({ sql, clock, log, lookups });
  const routes = routesOf(http);
  const server = createHttpServer<Caller>({
    ...options.http,
    doorLimits: { waitMs: databases.waitMs, ...options.http?.doorLimits },
    connectionLimits: { silenceMs: config.sendWaitMs + silenceBeyondSendMs, ...options.http?.connectionLimits },
    routes,
    authenticate,
    appOf: ({ appId }) => appId,
    admit: createRateLimit({ sql: promptSql, clock, plans, waitMs: databases.waitMs }),
    delayUnauthorized: addressLimits.delayUnauthorized,
    nobody,
    log,
    noteAnswer: metrics.noteRequest,
    trustedProxies: config.trustedProxies,
    onIgnoredForwarding(peer) {
      noteIgnoredForwarder(sql, peer).catch((error: unknown) => log.debug({ err: error }, 'a proxy is not noted'));
    },
  });

  return {
    sql,
    clock,
    server,
    routes,
    run,
    webhooks,
    pause,
    lookout,
    localInstants,
    snapshotMetrics,
    startWorkers() {
      const { retentionDays, eventRetentionDays } = config;
      const rules = { plans, localInstants, retentionDays, eventRetentionDays };
      lookout.stand();
      workers ??= startWorkers({ run, lookout, teller, sql: workSql, indexSql, txSql, clock, log, ...rules, webhooks });
      return workers;
    },
    noteWorkers(pollAgeMs) {
      told = { pollAgeMs, at: performance.now() };
    },
    leave() {
      isLeaving = true;
    },
    async drain() {
      isStopping = true;
      finishes.notify('');
      // Another process becomes the lookout from now on.
      await lookout.stop();
      await workers?.stop();
      await Promise.allSettled(underWay);
      await run.verdicts.close();
    },
    async close() {
      await run.verdicts.close();
      clearInterval(clockTimer);
      leases.stop();
      await outbox.settle();
      await lookout.stop();
      await teller.close();
      await listener.stop();
      await Promise.all(Object.values(senders).map((sender) => sender.close()));
      await databases.close();
    },
  };
}
