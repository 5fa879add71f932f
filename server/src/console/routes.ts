// All routes of the console's API, in the order of its description.
import { type AppRouteDeps, appListRoutes, appRoutes } from './app-routes.ts';
import { type AuditRouteDeps, appAuditRoutes, auditRoutes } from './audit-routes.ts';
import { type CatalogAreaDeps, catalogAreaRoutes } from './catalog-routes.ts';
import { type ChannelAreaDeps, channelAreaRoutes } from './channel-routes.ts';
import { type DeviceAreaDeps, deviceAreaRoutes } from './device-routes.ts';
import { type IdentifyAreaDeps, identifyRoutes } from './identify-routes.ts';
import { appKeyRoutes, type KeyRouteDeps, keyRoutes } from './key-routes.ts';
import { type MessageAreaDeps, messageAreaRoutes } from './message-routes.ts';
import { deletionRoutes, type PlanRouteDeps, planListRoutes, planRoutes } from './plan-routes.ts';
import { type RequestAreaDeps, requestAreaRoutes } from './request-routes.ts';
import type { ConsoleRoutes } from './serve.ts';
import { type SessionRouteDeps, sessionRoutes } from './session-routes.ts';
import { type SignInDeps, secondFactorRoutes, signInRoutes } from './sign-in-routes.ts';
import { type SystemRouteDeps, systemRoutes } from './system-routes.ts';
import { type TeamRouteDeps, teamRoutes } from './team-routes.ts';
import { tokenRoutes } from './token-routes.ts';
import { type UserAreaDeps, userAreaRoutes } from './user-routes.ts';
import { appWebhookRoutes, type WebhookRouteDeps, webhookRoutes } from './webhook-routes.ts';

export interface ConsoleDeps
  extends AppRouteDeps,
    SessionRouteDeps,
    SignInDeps,
    KeyRouteDeps,
    PlanRouteDeps,
    TeamRouteDeps,
    ChannelAreaDeps,
    IdentifyAreaDeps,
    WebhookRouteDeps,
    SystemRouteDeps,
    AuditRouteDeps,
    MessageAreaDeps,
    DeviceAreaDeps,
    UserAreaDeps,
    CatalogAreaDeps,
    RequestAreaDeps {}

export const consoleRoutes: ConsoleRoutes<ConsoleDeps> = {
  ofVisitor: [...signInRoutes],
  ofOrganisation: [
    ...sessionRoutes,
    ...secondFactorRoutes,
    ...teamRoutes,
    ...tokenRoutes,
    ...appListRoutes,
    ...planListRoutes,
    ...keyRoutes,
    ...webhookRoutes,
    ...auditRoutes,
    ...systemRoutes,
  ],
  ofApp: [
    ...appRoutes,
    ...planRoutes,
    ...deletionRoutes,
    ...appKeyRoutes,
    ...channelAreaRoutes,
    ...appWebhookRoutes,
    ...identifyRoutes,
    ...appAuditRoutes,
    ...messageAreaRoutes,
    ...deviceAreaRoutes,
    ...userAreaRoutes,
    ...catalogAreaRoutes,
    ...requestAreaRoutes,
  ],
};
