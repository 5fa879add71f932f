// The answering part of a process: the routes, their callers, and how many requests at once.
import type { FastifyInstance } from 'fastify';
import { noteIgnoredForwarder } from '../../ground/database/instance.ts';
import { createCursors } from '../../ground/http/page.ts';
import { type BoundRoute, createHttpServer, type HttpServerOptions } from '../../ground/http/server.ts';
import { createTurns } from '../../ground/http/turns.ts';
import { createFairSlots } from '../../ground/pacing/fair-slots.ts';
import { seldom } from '../../ground/pacing/seldom.ts';
import { createTrack } from '../../insight/events/track-events.ts';
import { entryOf } from '../../insight/requests/request-entry.ts';
import { createRequestLog, type RequestLog } from '../../insight/requests/request-log.ts';
import { createFieldUses } from '../../people/audience/follow-use.ts';
import { createRegister } from '../../people/devices/register-together.ts';
import { createCatalogReader } from '../../people/properties/list-catalog.ts';
import { createUpsert } from '../../people/users/upsert-together.ts';
import { createPasswords } from '../../teams/accounts/password.ts';
import { createAuthenticate } from '../../teams/apps/authenticate.ts';
import { type Caller, nobody } from '../../teams/apps/caller.ts';
import { createKeyLookups } from '../../teams/apps/key-lookups.ts';
import { type AddressLimits, createAddressLimits } from '../../teams/quotas/address-limit.ts';
import { createBodyLimit } from '../../teams/quotas/body-limit.ts';
import { createRateLimit } from '../../teams/quotas/rate-limit.ts';
import type { ServiceMetrics } from '../metrics/service-metrics.ts';
import { type HttpDeps, routesOf } from './api-routes.ts';
import { audienceConnections, countConnections, readTurnsMax } from './databases.ts';
import type { Foundation } from './foundation.ts';
import type { MasterKeys } from './master-key.ts';
import type { Sending } from './sending.ts';
import { wireConsole } from './wire-console.ts';

export interface AnsweringOptions {
  /** Limits for tests, which cannot wait as long or load as much as the defaults. */
  readonly http?: Pick<HttpServerOptions<Caller>, 'bodyTimeoutMs' | 'doorLimits' | 'connectionLimits'>;
  readonly masterKeys: MasterKeys;
  /** log2 of scrypt's N; tests have no time for the usual one. */
  readonly passwordCost?: number;
}

/** The state of a process, for its routes. */
export type Stage = Pick<HttpDeps, 'finishes' | 'track' | 'isStopping' | 'isLeaving' | 'lastPollAgeMs' | 'readMetrics'>;

export interface AnsweringDeps {
  readonly foundation: Foundation;
  readonly sending: Pick<Sending, 'run' | 'endpointRules' | 'webhooks'>;
  readonly metrics: ServiceMetrics;
  readonly stage: Stage;
}

export interface Answering {
  readonly server: FastifyInstance;
  /** The routes of the server beside the console's, and who may call them. */
  readonly routes: readonly Pick<BoundRoute<Caller>, 'method' | 'path' | 'access'>[];
  /** The log of recent requests. */
  readonly requestLog: RequestLog;
}

/** Milliseconds that a preview, a dry run or a report may wait for its turn. */
const countWaitMsMax = 2_000;

/**
 * Milliseconds that a connection may be silent beyond `SEND_WAIT_MS`. It is silent while its caller
 * waits for a send, or for a report, which has a minute in the database.
 */
const silenceBeyondSendMs = 100_000;

/** Makes the server, which does not listen yet. */
export function createAnswering(deps: AnsweringDeps, { http, masterKeys, passwordCost }: AnsweringOptions): Answering {
  const { foundation, metrics } = deps;
  const { config, databases, clock, log, plans } = foundation;
  const { promptSql, sql, waitMs } = databases;
  const addressLimits = limitAddresses(foundation, metrics);
  const parts = partsOfRoutes(deps, addressLimits, masterKeys.key);
  const routes = routesOf(parts);
  const lookups = createKeyLookups({ isOverLimit: addressLimits.isOverUnauthorized, waitMs });
  const passwords = createPasswords(passwordCost);
  const { sending } = deps;
  const consoleRoutes = wireConsole({ foundation, sending, addressLimits, lookups, masterKeys, passwords, parts });
  const requestLog = createRequestLog({ sql: databases.txSql, clock, log });
  const server = createHttpServer<Caller>({
    ...http,
    doorLimits: { waitMs, ...http?.doorLimits },
    connectionLimits: { silenceMs: config.sendWaitMs + silenceBeyondSendMs, ...http?.connectionLimits },
    routes: [...routes, ...consoleRoutes],
    ...createAuthenticate({ sql, clock, log, lookups }),
    appOf: ({ appId }) => appId,
    admit: createRateLimit({ sql: promptSql, clock, plans, waitMs }),
    limitBody: createBodyLimit(clock),
    delayUnauthorized: addressLimits.delayUnauthorized,
    nobody,
    log,
    noteAnswer(answer) {
      metrics.noteRequest(answer);
      const { caller, error } = answer;
      if (!caller) return;
      const atMs = clock.nowMs();
      requestLog.note(caller.appId, answer.status >= 400, () => entryOf(answer, caller, error, atMs));
    },
    trustedProxies: config.trustedProxies,
    onIgnoredForwarding(peer) {
      noteIgnoredForwarder(sql, peer).catch((error: unknown) => log.debug({ err: error }, 'a proxy is not noted'));
    },
  });
  return { server, routes, requestLog };
}

function partsOfRoutes(
  { foundation, sending: { run, endpointRules }, metrics, stage }: AnsweringDeps,
  addressLimits: AddressLimits,
  masterKey: Buffer,
): HttpDeps {
  const { config, databases, clock, log, pause, seal, plans, timeZones, localInstants } = foundation;
  const { ledger, teller, outbox, receiptKeys } = foundation;
  const { sql, txSql, workSql, waitMs } = databases;
  const tellOfUnproven = seldom(clock, (refreshes) =>
    log.info({ refreshes }, 'refreshes without proof: each became a device of its own'),
  );
  const readTurns = createTurns({
    turnsMax: readTurnsMax,
    waitMsMax: waitMs,
    refusal: 'Too much is being read for this app at the moment. Try again.',
    retryAfterMs: 1_000,
  });
  return {
    ...stage,
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
    readTurns,
    readCatalog: createCatalogReader({ sql, clock, turns: readTurns, waitMs }),
    clock,
    seal,
    plans,
    timeZones,
    localInstants,
    ledger,
    teller,
    outbox,
    receiptKeys,
    run,
    endpointRules,
    audienceSlots: createFairSlots({ slotsMax: audienceConnections, perFree: 1 }),
    cursors: createCursors(masterKey, clock),
    upsert: createUpsert({ sql: txSql, clock, waitMs }),
    register: createRegister({ sql: txSql, clock, waitMs }),
    trackEvents: createTrack({ sql, txSql, clock, waitMs }),
    retentionDays: config.retentionDays,
    fieldUses: createFieldUses({ sql: txSql, clock, log }),
    isPaused: pause.isPaused,
    sendWaitMs: config.sendWaitMs,
    addressLimits,
    noteUnprovenRefresh() {
      metrics.noteUnprovenRefresh();
      tellOfUnproven();
    },
    noteHealed: metrics.noteHealed,
    metrics,
    metricsToken: config.metricsToken,
  };
}

/** Limits callers by their address, and logs when a limit may affect honest callers. */
function limitAddresses({ config, clock, log }: Foundation, metrics: ServiceMetrics): AddressLimits {
  let limitedNetwork = '';
  const warn = seldom(clock, (refused) =>
    log.warn(
      { address: limitedNetwork, refused, limit: config.newDevicesPerMinute },
      'new devices are refused: NEW_DEVICES_PER_MINUTE limits them by client address; behind a proxy all clients are one address unless TRUSTED_PROXIES names it',
    ),
  );
  return createAddressLimits({
    clock,
    newDevicesPerMinute: config.newDevicesPerMinute,
    onNewDeviceRefused(network) {
      metrics.noteNewDeviceRefused();
      limitedNetwork = network;
      warn();
    },
  });
}
