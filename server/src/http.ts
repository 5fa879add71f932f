// Every route, in the order of the specification.
import type { Caller } from './apps/caller.ts';
import { configRoutes } from './apps/routes.ts';
import { channelRoutes } from './channels/routes.ts';
import { deliveryRoutes } from './delivery/routes.ts';
import { type DeviceRouteDeps, deviceRoutes } from './devices/routes.ts';
import { type EventRouteDeps, eventRoutes } from './events/routes.ts';
import { type HealthDeps, healthRoutes } from './health-routes.ts';
import { createAcceptMessage } from './messages/accept-message.ts';
import type { AwaitDeps } from './messages/await-outcomes.ts';
import { reportOf } from './messages/message.ts';
import { findMessageOutcomes } from './messages/queries.ts';
import { type MessageRouteDeps, messageRoutes } from './messages/routes.ts';
import { type MetricsRouteDeps, metricsRoutes } from './metrics-routes.ts';
import { deliveryOperations } from './openapi/delivery-operations.ts';
import { deviceOperations } from './openapi/device-operations.ts';
import { writeDocument } from './openapi/document.ts';
import { eventOperations } from './openapi/event-operations.ts';
import { messageOperations } from './openapi/message-operations.ts';
import type { DescribedRoute } from './openapi/operation.ts';
import { asRoute } from './openapi/operation-form.ts';
import { receiptOperations } from './openapi/receipt-operations.ts';
import { reportOperations } from './openapi/report-operations.ts';
import { openapiRoutes } from './openapi/routes.ts';
import { segmentOperations } from './openapi/segment-operations.ts';
import { serviceOperations } from './openapi/service-operations.ts';
import { userOperations } from './openapi/user-operations.ts';
import { v1 } from './openapi/v1.ts';
import { pageRoutes } from './page-routes.ts';
import type { Sql } from './platform/db.ts';
import type { FairSlots } from './platform/fair-slots.ts';
import type { BoundRoute } from './platform/http-server.ts';
import { bind } from './platform/route.ts';
import type { Turns } from './platform/turns.ts';
import { propertyRoutes } from './properties/routes.ts';
import { type ReceiptRouteDeps, receiptRoutes } from './receipts/routes.ts';
import { type ReportRouteDeps, reportRoutes } from './reports/routes.ts';
import { type SegmentRouteDeps, segmentRoutes } from './segments/routes.ts';
import type { ServiceMetrics } from './service-metrics.ts';
import { type UserRouteDeps, userRoutes } from './users/routes.ts';

export interface HttpDeps
  extends Omit<MessageRouteDeps, 'accept' | 'wait'>,
    Omit<AwaitDeps, 'sql'>,
    Omit<DeviceRouteDeps, 'readSql'>,
    UserRouteDeps,
    ReceiptRouteDeps,
    ReportRouteDeps,
    SegmentRouteDeps,
    EventRouteDeps,
    HealthDeps,
    MetricsRouteDeps {
  readonly metrics: Pick<ServiceMetrics, 'countAccepted'>;
  /** Short transactions have a pool of their own: a lock they wait for keeps no reader waiting. */
  readonly txSql: Sql;
  /** Long statements over an audience, for what is sent. */
  readonly workSql: Sql;
  /** Turns at the pool for long statements, shared fairly between apps. */
  readonly audienceSlots: FairSlots;
  /** Turns at the pool for reads, shared fairly between apps. */
  readonly readTurns: Turns;
  /** Nothing is sent for the moment. */
  readonly isPaused: () => boolean;
}

/**
 * One app's reads keep no other app's waiting, however long they take. `GET /v1/config` has no turn, since every page of a
 * shop asks for it and it is one look-up; reports have turns of their own.
 */
function inTurns(readTurns: Turns, routes: readonly BoundRoute<Caller>[]): BoundRoute<Caller>[] {
  return routes.map((route) => {
    if (route.method !== 'GET' || route.access === 'public') return route;
    return { ...route, handle: (request) => readTurns.run(request.caller.appId, () => route.handle(request)) };
  });
}

/** Every route that the API describes, in the order of its document. */
const described: readonly DescribedRoute[] = [
  ...messageOperations.map(asRoute),
  ...deliveryOperations.map(asRoute),
  ...userOperations.map(asRoute),
  ...propertyRoutes,
  ...segmentOperations.map(asRoute),
  ...deviceOperations.map(asRoute),
  ...eventOperations.map(asRoute),
  ...reportOperations.map(asRoute),
  ...receiptOperations.map(asRoute),
  ...serviceOperations.slice(0, 2).map(asRoute),
  ...openapiRoutes,
  ...serviceOperations.slice(2).map(asRoute),
];

/** The API's description, as it is served and committed. */
export function openapiText(): string {
  return writeDocument(v1, described);
}

export function routesOf(deps: HttpDeps): BoundRoute<Caller>[] {
  const writes = { ...deps, sql: deps.txSql };
  const messages: MessageRouteDeps = {
    ...deps,
    accept: deps.metrics.countAccepted(createAcceptMessage(deps)),
    wait: deps,
  };
  let description: Buffer | undefined;
  const inTurn = [
    ...messageRoutes(messages),
    ...deliveryRoutes({
      ...deps,
      forms: deps.run.forms,
      async findMessageState(appId, messageId) {
        const found = await findMessageOutcomes(deps.sql, appId, messageId);
        return found && { status: found.status, report: reportOf(found), outcomes: found };
      },
    }),
    ...userRoutes(writes),
    ...bind(propertyRoutes, deps),
    ...segmentRoutes(deps),
    ...deviceRoutes({ ...writes, readSql: deps.sql }),
  ];
  return [
    ...inTurns(deps.readTurns, inTurn),
    ...eventRoutes(deps),
    ...channelRoutes<Caller>(deps.addressLimits),
    ...configRoutes(deps),
    ...reportRoutes(deps),
    ...receiptRoutes<Caller>(writes),
    ...bind(openapiRoutes, { describe: () => (description ??= Buffer.from(openapiText())) }),
    ...healthRoutes<Caller>(deps),
    ...metricsRoutes<Caller>(deps),
    ...pageRoutes<Caller>(deps),
  ];
}
