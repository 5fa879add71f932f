// All routes of the console's API, in the order of its description.
import { type AppRouteDeps, appListRoutes, appRoutes } from './app-routes.ts';
import { type AuditRouteDeps, appAuditRoutes, auditRoutes } from './audit-routes.ts';
import type { ConsoleCaller, Visitor } from './caller.ts';
import { type ChannelAreaDeps, channelAreaRoutes } from './channel-routes.ts';
import { type ComposeAreaDeps, composeAreaRoutes } from './compose-routes.ts';
import { type DeviceAreaDeps, deviceAreaRoutes } from './device-routes.ts';
import { type DraftAreaDeps, draftAreaRoutes } from './draft-routes.ts';
import { type EventAreaDeps, eventAreaRoutes } from './event-routes.ts';
import { type HistoryAreaDeps, historyAreaRoutes } from './history-routes.ts';
import { type IdentifyAreaDeps, identifyRoutes } from './identify-routes.ts';
import { appKeyRoutes, type KeyRouteDeps, keyRoutes } from './key-routes.ts';
import { type LentReportDeps, lentReportRoutes } from './lent-report-routes.ts';
import { type LiveAreaDeps, liveAreaRoutes } from './live-routes.ts';
import { type MessageAreaDeps, messageAreaRoutes } from './message-routes.ts';
import { type Oidc, type OidcRouteDeps, oidcLinkRoutes, oidcRoutes } from './oidc-routes.ts';
import { gatePasswords } from './password-gate.ts';
import { deletionRoutes, type PlanRouteDeps, planListRoutes, planRoutes } from './plan-routes.ts';
import { type PropertyAreaDeps, propertyAreaRoutes } from './property-routes.ts';
import { type ReportAreaDeps, reportAreaRoutes } from './report-routes.ts';
import { type RequestAreaDeps, requestAreaRoutes } from './request-routes.ts';
import { type SegmentAreaDeps, segmentAreaRoutes } from './segment-routes.ts';
import type { ConsoleRoutes } from './serve.ts';
import { type SessionRouteDeps, sessionRoutes } from './session-routes.ts';
import { type SignInDeps, secondFactorRoutes, signInRoutes } from './sign-in-routes.ts';
import { type SystemRouteDeps, systemRoutes } from './system-routes.ts';
import { type TeamRouteDeps, teamRoutes } from './team-routes.ts';
import { type TemplateAreaDeps, templateAreaRoutes } from './template-routes.ts';
import { type TestUserAreaDeps, testUserAreaRoutes } from './test-user-routes.ts';
import { tokenRoutes } from './token-routes.ts';
import { type UserAreaDeps, userAreaRoutes } from './user-routes.ts';
import { appWebhookRoutes, type WebhookRouteDeps, webhookRoutes } from './webhook-routes.ts';

export interface ConsoleDeps
  extends AppRouteDeps,
    SessionRouteDeps,
    SignInDeps,
    OidcRouteDeps,
    KeyRouteDeps,
    PlanRouteDeps,
    TeamRouteDeps,
    ChannelAreaDeps,
    IdentifyAreaDeps,
    WebhookRouteDeps,
    SystemRouteDeps,
    AuditRouteDeps,
    MessageAreaDeps,
    ComposeAreaDeps,
    DraftAreaDeps,
    TemplateAreaDeps,
    TestUserAreaDeps,
    DeviceAreaDeps,
    UserAreaDeps,
    SegmentAreaDeps,
    PropertyAreaDeps,
    EventAreaDeps,
    LentReportDeps,
    ReportAreaDeps,
    HistoryAreaDeps,
    LiveAreaDeps,
    RequestAreaDeps {
  readonly oidc: Oidc | null;
}

export const consoleRoutes: ConsoleRoutes<ConsoleDeps> = {
  ofVisitor: [...gatePasswords<ConsoleDeps, Visitor>(signInRoutes), ...oidcRoutes],
  ofOrganisation: [
    ...sessionRoutes,
    ...gatePasswords<ConsoleDeps, ConsoleCaller>(secondFactorRoutes),
    ...oidcLinkRoutes,
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
    ...composeAreaRoutes,
    ...draftAreaRoutes,
    ...templateAreaRoutes,
    ...testUserAreaRoutes,
    ...deviceAreaRoutes,
    ...userAreaRoutes,
    ...segmentAreaRoutes,
    ...propertyAreaRoutes,
    ...eventAreaRoutes,
    ...historyAreaRoutes,
    ...lentReportRoutes,
    ...reportAreaRoutes,
    ...requestAreaRoutes,
    ...liveAreaRoutes,
  ],
};
