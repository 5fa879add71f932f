// Every route, in the order of the specification, and the API's description, which is written from
// the routes.
import type { Caller } from '../apps/caller.ts';
import { configRoutes } from '../apps/routes.ts';
import { channelRoutes } from '../channels/routes.ts';
import { consoleRoutes } from '../console/routes.ts';
import { listRoutes } from '../console/serve.ts';
import type { Sql } from '../database/db.ts';
import { createRegistrationParser, type RegistrationRules } from '../devices/device.ts';
import { type DeviceRouteDeps, deviceRoutes } from '../devices/routes.ts';
import { type EventRouteDeps, eventRoutes } from '../events/routes.ts';
import { explainRoutes } from '../explain/routes.ts';
import type { FairSlots } from '../ground/fair-slots.ts';
import { bind } from '../http/route.ts';
import type { BoundRoute } from '../http/server.ts';
import type { Turns } from '../http/turns.ts';
import { createAcceptMessage } from '../messages/accept-message.ts';
import type { AwaitDeps } from '../messages/await-outcomes.ts';
import type { CancelDeps } from '../messages/cancel-message.ts';
import { messageRoutes } from '../messages/routes.ts';
import type { SendRouteDeps } from '../messages/send-routes.ts';
import type { MetricsRouteDeps } from '../metrics/routes.ts';
import type { ServiceMetrics } from '../metrics/service-metrics.ts';
import { consoleApi } from '../openapi/console.ts';
import { writeDocument } from '../openapi/document.ts';
import { openapiRoutes } from '../openapi/routes.ts';
import { v1 } from '../openapi/v1.ts';
import { pageRoutes } from '../pages/routes.ts';
import { type PropertyRouteDeps, propertyRoutes } from '../properties/routes.ts';
import { type ReceiptRouteDeps, receiptRoutes } from '../receipts/routes.ts';
import type { RevenueRouteDeps } from '../reports/revenue-routes.ts';
import { reportRoutes } from '../reports/routes.ts';
import type { PreviewRouteDeps } from '../segments/preview-routes.ts';
import { segmentRoutes } from '../segments/routes.ts';
import type { IdentifyRouteDeps } from '../users/identify-routes.ts';
import { type UserRouteDeps, userRoutes } from '../users/routes.ts';
import { createUserParser } from '../users/user.ts';
import { createReadiness, type HealthDeps, healthRoutes } from './health-routes.ts';

export interface HttpDeps
  extends Omit<SendRouteDeps, 'accept' | 'wait'>,
    Omit<AwaitDeps, 'sql'>,
    Pick<CancelDeps, 'teller'>,
    Omit<DeviceRouteDeps, 'parseRegistration'>,
    RegistrationRules,
    IdentifyRouteDeps,
    ReceiptRouteDeps,
    PropertyRouteDeps,
    Omit<UserRouteDeps, 'parseUser'>,
    RevenueRouteDeps,
    PreviewRouteDeps,
    EventRouteDeps,
    HealthDeps,
    Omit<MetricsRouteDeps, 'admitPerson'> {
  readonly metrics: Pick<ServiceMetrics, 'countAccepted'>;
  /**
   * The pool of short transactions. It is separate, so that a transaction that waits for a lock
   * delays no reader.
   */
  readonly txSql: Sql;
  /** The pool for long statements over an audience, for sends. */
  readonly workSql: Sql;
  /** Turns at the pool for long statements, shared fairly between apps. */
  readonly audienceSlots: FairSlots;
  /** Turns at the pool for reads, shared fairly between apps. */
  readonly readTurns: Turns;
  /** Whether the service is paused, so that no message is sent. */
  readonly isPaused: () => boolean;
}

/**
 * Gives reads a turn, so that one app's reads delay no other app's reads, however long they take
 * . `GET /v1/config` needs no turn, because it is one look-up and every page of a shop asks
 * for it. Reports have turns of their own.
 */
function inTurns(readTurns: Turns, routes: readonly BoundRoute<Caller>[]): BoundRoute<Caller>[] {
  return routes.map((route) => {
    if (route.method !== 'GET' || route.access === 'public' || sharedReads.has(route.path)) return route;
    return { ...route, handle: (request) => readTurns.run(request.caller.appId, () => route.handle(request)) };
  });
}

/** Requests of an app share these reads (`createCatalogReader`), and each read waits for a turn. */
const sharedReads: ReadonlySet<string> = new Set(propertyRoutes.map(({ path }) => path));

/** The GET requests of these routes wait for a turn. */
const inTurn = [
  ...messageRoutes,
  ...explainRoutes,
  ...userRoutes,
  ...propertyRoutes,
  ...segmentRoutes,
  ...deviceRoutes,
];
const others = [
  ...eventRoutes,
  ...reportRoutes,
  ...receiptRoutes,
  ...configRoutes,
  ...channelRoutes,
  ...openapiRoutes,
  ...healthRoutes,
];

/** Every route that the API describes, in the order of its document. */
export const apiRoutes = [...inTurn, ...others];

/** The API's description, as it is served and committed. */
export function openapiText(): string {
  return writeDocument(v1, apiRoutes);
}

/** The description of the console's API, as it is served and committed. */
export function consoleOpenapiText(): string {
  return writeDocument(consoleApi, listRoutes(consoleRoutes));
}

export function routesOf(given: HttpDeps): BoundRoute<Caller>[] {
  let description: Buffer | undefined;
  let consoleDescription: Buffer | undefined;
  const deps = {
    ...given,
    accept: given.metrics.countAccepted(createAcceptMessage(given)),
    wait: given,
    forms: given.run.forms,
    parseUser: createUserParser(given.timeZones),
    parseRegistration: createRegistrationParser(given),
    describe: () => (description ??= Buffer.from(openapiText())),
    describeConsole: () => (consoleDescription ??= Buffer.from(consoleOpenapiText())),
    isReady: createReadiness(given),
  };
  return [...inTurns(given.readTurns, bind(inTurn, deps)), ...bind(others, deps), ...pageRoutes<Caller>(given)];
}
