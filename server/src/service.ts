// Everything one process is made of, built once from the configuration: pools, clock, keys, channels, operations. What it
// starts it can stop, in the order that loses nothing.
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { type Authenticate, createAuthenticate } from './apps/authenticate.ts';
import { type Caller, nobody } from './apps/caller.ts';
import { createCredentials } from './apps/credentials.ts';
import { listPlansInUse } from './apps/queries.ts';
import { createThreadedEncryptor } from './channels/webpush/encryptor.ts';
import type { EndpointRules } from './channels/webpush/endpoint.ts';
import { createWebPush, transportSettings } from './channels/webpush/send.ts';
import type { Config } from './config.ts';
import { createAnswerForms } from './delivery/answer-forms.ts';
import { createLanes } from './delivery/lanes.ts';
import { createLeases } from './delivery/leases.ts';
import type { MessageLedger } from './delivery/message-ledger.ts';
import { createPushSlots } from './delivery/push-slots.ts';
import { createCompiledMessages, type RunDeps } from './delivery/run-batch.ts';
import { createSenders } from './delivery/senders.ts';
import { batchesChannel } from './delivery/worker.ts';
import { type HttpDeps, routesOf } from './http.ts';
import { createFinishes } from './messages/await-report.ts';
import { advanceMessage, findMessageToSend, finishedChannel } from './messages/queries.ts';
import { createAddressGuard, parseOutboundExceptions } from './platform/address-guard.ts';
import { createClock, type SettableClock } from './platform/clock.ts';
import { openPool, type Sql } from './platform/db.ts';
import { createHttpServer, type HttpServerOptions, type Route } from './platform/http-server.ts';
import { nodeEngine } from './platform/http2/node-session.ts';
import { checkDurability, cursorKeyOf, loadInstance } from './platform/instance.ts';
import { startListener } from './platform/listener.ts';
import type { Log } from './platform/log.ts';
import type { MasterKeys } from './platform/master-key.ts';
import { createOutboundHttp } from './platform/outbound-http.ts';
import { createOutboundSockets } from './platform/outbound-socket.ts';
import { createOutboundTransport } from './platform/outbound-transport.ts';
import { createCursors } from './platform/page.ts';
import { createSeal } from './platform/seal.ts';
import { loadTimeZones } from './platform/time-zones.ts';
import { loadPlans } from './quotas/plan.ts';
import { startWorkers, type Workers } from './workers.ts';

export interface ServiceOptions {
  readonly config: Config;
  /** The database's address, found or started before. */
  readonly databaseUrl: string;
  readonly masterKeys: MasterKeys;
  readonly log: Log;
  /** For those who cannot wait as long or load as much as the defaults: tests. */
  readonly http?: Pick<HttpServerOptions<Caller>, 'bodyTimeoutMs' | 'loadLimits'>;
}

export interface Service {
  readonly sql: Sql;
  readonly clock: SettableClock;
  readonly server: FastifyInstance;
  /** What the server answers, and to whom. */
  readonly routes: readonly Pick<Route<Caller>, 'method' | 'path' | 'access'>[];
  /** What batches are worked with. */
  readonly run: RunDeps;
  /** Starts the loops of a worker. */
  startWorkers(): Workers;
  /** From now on /readyz fails, so that load balancers look elsewhere; everything else goes on. */
  leave(): void;
  /** From now on no new work is begun; what is under way ends. */
  drain(): Promise<void>;
  /** Closes pools and connections. */
  close(): Promise<void>;
}

/** Pushes under way at once in one process: covers 50 ms of provider latency at 4,000 pushes a second. */
const pushSlotsMax = 200;

export async function createService(options: ServiceOptions): Promise<Service> {
  const { config, databaseUrl, masterKeys, log } = options;
  // Two pools: a small pipelined one for requests, and one for claims, transactions and long statements, so that nothing long
  // stands in front of a request (design 1).
  const sql = openPool({ url: databaseUrl, connectionsMax: 6, name: 'carillon', statementTimeoutMs: 10_000 });
  const workSql = openPool({ url: databaseUrl, connectionsMax: 8, name: 'carillon work', statementTimeoutMs: 60_000 });
  for (const warning of await checkDurability(sql, config.allowUnsafePostgres)) log.warn(warning);
  const clock = await createClock(sql);
  const clockTimer = setInterval(() => clock.synchronize().catch(() => undefined), 30_000);
  clockTimer.unref();

  const seal = createSeal(masterKeys.key, masterKeys.previous);
  const instance = await loadInstance(sql, seal);
  const [receiptKey] = instance.receiptKeys;
  if (!receiptKey) throw new Error('the instance has no receipt key');
  const cursors = createCursors(cursorKeyOf(masterKeys.key));
  const plans = loadPlans(config.plansFile, [config.defaultPlan, ...(await listPlansInUse(sql))]);
  const timeZones = await loadTimeZones(sql);

  const exceptions = parseOutboundExceptions({
    allowCidrs: config.outboundAllowCidrs,
    allowPorts: config.outboundAllowPorts,
    resolve: config.outboundResolve,
    ca: config.outboundCaFile === null ? undefined : readFileSync(config.outboundCaFile, 'utf8'),
  });
  logExceptions(config, log);
  const ownHosts = config.publicUrl === null ? [] : [new URL(config.publicUrl).hostname];
  const endpointRules: EndpointRules = { pushHosts: config.pushHosts, exceptions, ownHosts };
  const sockets = createOutboundSockets(createAddressGuard({ exceptions }));
  const transport = createOutboundTransport({
    sockets,
    http1: createOutboundHttp(sockets),
    engine: nodeEngine,
    ...transportSettings,
  });
  const senders = createSenders(
    createWebPush({ transport, rules: endpointRules, clock, encryptor: createThreadedEncryptor() }),
  );

  const ledger: MessageLedger = {
    find: findMessageToSend,
    advance: (tx, appId, messageId, counts) => advanceMessage(tx, clock, appId, messageId, counts),
  };
  const leases = createLeases({ sql: workSql, clock, log });
  const run: RunDeps = {
    sql: workSql,
    clock,
    log,
    forms: createAnswerForms({ sql: workSql }),
    ledger,
    senders,
    lanes: createLanes(() => clock.nowMs()),
    random: Math.random,
    credentials: createCredentials({ sql: workSql, seal }),
    leases,
    slots: createPushSlots(pushSlotsMax),
    compiled: createCompiledMessages({ sql: workSql, ledger }),
    receiptKey,
    publicUrl: config.publicUrl,
  };

  const finishes = createFinishes();
  let workers: Workers | undefined;
  const listener = await startListener({
    open: () => openPool({ url: databaseUrl, connectionsMax: 1, name: 'carillon listen', statementTimeoutMs: 10_000 }),
    sql: workSql,
    hear: { [finishedChannel]: (id) => finishes.notify(id), [batchesChannel]: () => workers?.wake() },
    onGap() {
      finishes.notify('');
      workers?.wake();
    },
    log,
  });

  let isStopping = false;
  let isLeaving = false;
  const underWay = new Set<Promise<unknown>>();
  const http: HttpDeps = {
    sql,
    workSql,
    clock,
    cursors,
    plans,
    timeZones,
    endpointRules,
    ledger,
    receiptKeys: instance.receiptKeys,
    run,
    finishes,
    sendWaitMs: config.sendWaitMs,
    track(work) {
      underWay.add(work);
      void work.finally(() => underWay.delete(work));
    },
    isStopping: () => isStopping,
    isLeaving: () => isLeaving || isStopping,
    lastPollAgeMs: () => (workers ? performance.now() - workers.lastLookedAt : 0),
  };
  const authenticate: Authenticate = createAuthenticate({ sql, clock, log });
  const routes = routesOf(http);
  const server = createHttpServer<Caller>({
    ...options.http,
    routes,
    authenticate,
    nobody,
    log,
    trustedProxies: config.trustedProxies,
  });

  return {
    sql,
    clock,
    server,
    routes,
    run,
    startWorkers() {
      workers ??= startWorkers({ run, sql: workSql, clock, log });
      return workers;
    },
    leave() {
      isLeaving = true;
    },
    async drain() {
      isStopping = true;
      finishes.notify('');
      await workers?.stop();
      await Promise.allSettled(underWay);
    },
    async close() {
      clearInterval(clockTimer);
      leases.stop();
      await listener.stop();
      await senders.webpush?.close();
      await Promise.all([sql.end({ timeout: 5 }), workSql.end({ timeout: 5 })]);
    },
  };
}

// Widened outbound rules are an operator's deliberate act: each start says so.
function logExceptions(config: Config, log: Log): void {
  const { outboundAllowCidrs, outboundAllowPorts, outboundResolve, outboundCaFile, pushHosts } = config;
  if (outboundAllowCidrs.length > 0)
    log.warn({ cidrs: outboundAllowCidrs }, 'outbound requests may reach these private ranges');
  if (outboundAllowPorts !== '')
    log.warn({ ports: outboundAllowPorts }, 'outbound requests may use these further ports');
  if (outboundResolve !== '')
    log.warn({ resolve: outboundResolve }, 'outbound connections of these hosts go elsewhere');
  if (outboundCaFile !== null)
    log.warn({ file: outboundCaFile }, 'outbound TLS trusts a further certificate authority');
  if (pushHosts.length > 0) log.info({ hosts: pushHosts }, 'further web push hosts are allowed');
}
