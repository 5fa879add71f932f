// Every route, in the order of the specification.
import type { Caller } from './apps/caller.ts';
import { configRoutes } from './apps/routes.ts';
import { channelRoutes } from './channels/routes.ts';
import { deliveryRoutes } from './delivery/routes.ts';
import { demoRoutes } from './demo-routes.ts';
import { type DeviceRouteDeps, deviceRoutes } from './devices/routes.ts';
import { type HealthDeps, healthRoutes } from './health-routes.ts';
import { createAcceptMessage } from './messages/accept-message.ts';
import type { AwaitDeps } from './messages/await-report.ts';
import { reportOf } from './messages/message.ts';
import { findMessageCounts } from './messages/queries.ts';
import { type MessageRouteDeps, messageRoutes } from './messages/routes.ts';
import { openapiRoutes } from './openapi/routes.ts';
import type { Route } from './platform/http-server.ts';
import { propertyRoutes } from './properties/routes.ts';
import { type ReceiptRouteDeps, receiptRoutes } from './receipts/routes.ts';
import { type UserRouteDeps, userRoutes } from './users/routes.ts';

export interface HttpDeps
  extends Omit<MessageRouteDeps, 'accept' | 'wait'>,
    Omit<AwaitDeps, 'sql'>,
    DeviceRouteDeps,
    UserRouteDeps,
    ReceiptRouteDeps,
    HealthDeps {}

export function routesOf(deps: HttpDeps): Route<Caller>[] {
  const messages: MessageRouteDeps = { ...deps, accept: createAcceptMessage(deps), wait: deps };
  return [
    ...messageRoutes(messages),
    ...deliveryRoutes({
      ...deps,
      forms: deps.run.forms,
      async findMessageState(appId, messageId) {
        const counts = await findMessageCounts(deps.sql, appId, messageId);
        return counts && { status: counts.status, report: reportOf(counts) };
      },
    }),
    ...userRoutes(deps),
    ...propertyRoutes(deps),
    ...deviceRoutes(deps),
    ...channelRoutes<Caller>(),
    ...configRoutes(deps),
    ...receiptRoutes<Caller>(deps),
    ...openapiRoutes<Caller>(),
    ...healthRoutes<Caller>(deps),
    ...demoRoutes<Caller>(deps),
  ];
}
