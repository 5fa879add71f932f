// Every route, in the order of the specification, and the API's description, which is written from
// the routes.

import type { Sql } from '@carillon/postgres';
import { consoleRoutes } from '../../console/operations/routes.ts';
import { listRoutes } from '../../console/operations/serve.ts';
import { pageRoutes } from '../../console/pages/routes.ts';
import { bind } from '../../ground/http/route.ts';
import type { BoundRoute } from '../../ground/http/server.ts';
import type { Turns } from '../../ground/http/turns.ts';
import { consoleApi } from '../../ground/openapi/console.ts';
import { writeDocument } from '../../ground/openapi/document.ts';
import { openapiRoutes } from '../../ground/openapi/routes.ts';
import { v1 } from '../../ground/openapi/v1.ts';
import type { FairSlots } from '../../ground/pacing/fair-slots.ts';
import { type EventRouteDeps, eventRoutes } from '../../insight/events/routes.ts';
import { explainRoutes } from '../../insight/explain/routes.ts';
import type { RevenueRouteDeps } from '../../insight/reports/revenue-routes.ts';
import { reportRoutes } from '../../insight/reports/routes.ts';
import { createRegistrationParser, type RegistrationRules } from '../../people/devices/device.ts';
import { type DeviceRouteDeps, deviceRoutes } from '../../people/devices/routes.ts';
import { type PropertyRouteDeps, propertyRoutes } from '../../people/properties/routes.ts';
import type { PreviewRouteDeps } from '../../people/segments/preview-routes.ts';
import { segmentRoutes } from '../../people/segments/routes.ts';
import type { IdentifyRouteDeps } from '../../people/users/identify-routes.ts';
import { type UserRouteDeps, userRoutes } from '../../people/users/routes.ts';
import { createUserParser } from '../../people/users/user.ts';
import { channelRoutes } from '../../sending/channels/routes.ts';
import { createAcceptMessage } from '../../sending/messages/accept-message.ts';
import type { AwaitDeps } from '../../sending/messages/await-outcomes.ts';
import type { CancelDeps } from '../../sending/messages/cancel-message.ts';
import { messageRoutes } from '../../sending/messages/routes.ts';
import type { SendRouteDeps } from '../../sending/messages/send-routes.ts';
import { type ReceiptRouteDeps, receiptRoutes } from '../../sending/receipts/routes.ts';
import type { Caller } from '../../teams/apps/caller.ts';
import { configRoutes } from '../../teams/apps/routes.ts';
import type { MetricsRouteDeps } from '../metrics/routes.ts';
import type { ServiceMetrics } from '../metrics/service-metrics.ts';
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
