// All routes of the console's API, in the order of its description.
import { appListRoutes, appRoutes } from './app-routes.ts';
import { appAuditRoutes, auditRoutes } from './audit-routes.ts';
import { channelAreaRoutes } from './channel-routes.ts';
import { composeAreaRoutes } from './compose-routes.ts';
import { deviceAreaRoutes } from './device-routes.ts';
import { draftAreaRoutes } from './draft-routes.ts';
import { eventAreaRoutes } from './event-routes.ts';
import { historyAreaRoutes } from './history-routes.ts';
import { identifyRoutes } from './identify-routes.ts';
import { appKeyRoutes, keyRoutes } from './key-routes.ts';
import { lentReportRoutes } from './lent-report-routes.ts';
import { liveAreaRoutes } from './live-routes.ts';
import { messageAreaRoutes } from './message-routes.ts';
import { oidcLinkRoutes, oidcRoutes } from './oidc-routes.ts';
import { gatePasswords } from './password-gate.ts';
import { deletionRoutes, planListRoutes, planRoutes } from './plan-routes.ts';
import { propertyAreaRoutes } from './property-routes.ts';
import { reportAreaRoutes } from './report-routes.ts';
import { requestAreaRoutes } from './request-routes.ts';
import { segmentAreaRoutes } from './segment-routes.ts';
import type { ConsoleRoutes } from './serve.ts';
import { sessionRoutes } from './session-routes.ts';
import { secondFactorRoutes, signInRoutes } from './sign-in-routes.ts';
import { systemRoutes } from './system-routes.ts';
import { teamRoutes } from './team-routes.ts';
import { templateAreaRoutes } from './template-routes.ts';
import { testUserAreaRoutes } from './test-user-routes.ts';
import { tokenRoutes } from './token-routes.ts';
import { userAreaRoutes } from './user-routes.ts';
import { appWebhookRoutes, webhookRoutes } from './webhook-routes.ts';

export const consoleRoutes: ConsoleRoutes = {
  ofVisitor: [...gatePasswords(signInRoutes), ...oidcRoutes],
  ofOrganisation: [
    ...sessionRoutes,
    ...gatePasswords(secondFactorRoutes),
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
