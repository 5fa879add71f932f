// The area Apps: the apps of the caller's organisation, as people list, make and edit them.

import { z } from 'zod';
import { invalid } from '../../ground/http/api-error.ts';
import { ok } from '../../ground/http/route.ts';
import { component, exampleOf, instant, pageComponent, text } from '../../ground/http/schemas.ts';
import { encodeId } from '../../ground/values/ids.ts';
import { parseUrl } from '../../ground/values/parse-url.ts';
import { createApp } from '../../teams/apps/create-app.ts';
import { listTestApps } from '../../teams/apps/credential-queries.ts';
import { editApp } from '../../teams/apps/manage-app.ts';
import { type App, findApp, findClientEvents, listAppsOf } from '../../teams/apps/queries.ts';
import type { Plans } from '../../teams/quotas/plan.ts';
import { type AreaDeps, routesOfApp, routesOfOrganisation } from './area.ts';
import { noSuchApp } from './guard.ts';
import { pageOf, searchedListQuery } from './list.ts';
import { appId, checkSeen, oneLine, seenAt } from './schemas.ts';

const appFields = {
  id: appId,
  name: z.string(),
  plan: z.string(),
  default_url: z.string().nullable().describe('The url of a web push whose content has none.'),
  attribution_window_hours: z.int().min(1).max(720),
  suspended_at: instant.nullable(),
  is_test: z.boolean().describe('A channel of the app sends to a sandbox, which rings no device.'),
  created_at: instant,
  updated_at: instant,
};
const listedApp = component('ListedApp', z.strictObject(appFields), {
  id: 'app_02y9GVDsTuJUi2BOoCH5G3',
  name: 'Shop',
  plan: 'free',
  default_url: null,
  attribution_window_hours: 24,
  suspended_at: null,
  is_test: false,
  created_at: '2026-11-21T10:15:30.123Z',
  updated_at: '2026-11-21T10:15:30.123Z',
});
const clientEvents = component(
  'ClientEvents',
  z.strictObject({
    new_names: z.boolean().describe('Client keys may track names of events that the app does not have yet.'),
    purchases: z.boolean().describe('Client keys may track purchases, which reports count.'),
  }),
);
export const appSchema = component('App', z.strictObject({ ...appFields, client_events: clientEvents }), {
  ...exampleOf(listedApp),
  client_events: { new_names: true, purchases: true },
});
const newApp = component('NewApp', z.strictObject({ name: oneLine }), { name: 'Shop' });
const madeApp = component(
  'MadeApp',
  z.strictObject({
    ...appFields,
    client_events: clientEvents,
    server_key: z.string().describe('Shown this once.'),
    client_key: z.string().describe('Shown this once.'),
  }),
  { ...exampleOf(appSchema), server_key: 'sk_live_…', client_key: 'ck_live_…' },
);
const httpUrl = text(2048).refine(
  (text) => /^https?:$/.test(parseUrl(text)?.protocol ?? ''),
  'Give an http or https address.',
);
const appEdit = component(
  'AppEdit',
  z.strictObject({
    updated_at: seenAt,
    name: oneLine.optional(),
    default_url: httpUrl.nullable().optional(),
    attribution_window_hours: z.int().min(1).max(720).optional(),
    client_events: z.strictObject({ new_names: z.boolean().optional(), purchases: z.boolean().optional() }).optional(),
  }),
  { updated_at: '2026-11-21T10:15:30.123Z', name: 'Shop' },
);

const route = routesOfOrganisation('Apps');
const ofApp = routesOfApp('Apps');

export const appListRoutes = [
  route('listApps', 'GET /apps', {
    least: 'viewer',
    summary: 'List the apps of the organisation',
    query: searchedListQuery('An id, or the beginning of a name.'),
    answers: ok('Oldest first.', pageComponent('AppList', listedApp)),
  }).handle(async ({ sql, cursors, sandboxed }, { caller, query }) => {
    const apps = await listAppsOf(sql, caller.organisationId);
    const ids = apps.map(({ id }) => id);
    const tests = await listTestApps(sql, ids, sandboxed);
    return pageOf(cursors, apps, query, {
      scope: ['apps', caller.organisationId],
      keyOf: ({ createdAt, id }) => [createdAt.getTime(), id],
      idOf: ({ id }) => encodeId('app', id),
      textsOf: ({ name }) => [name],
      present: (app) => ({ ...presentListed(app), is_test: tests.has(app.id) }),
    });
  }),
  route('createApp', 'POST /apps', {
    least: 'admin',
    summary: 'Make an app with one key of each scope',
    body: newApp,
    answers: ok('The app and its keys, which are shown this once.', madeApp),
  }).handle(async (deps, { caller, body }) => {
    const { txSql, clock, defaultPlan: plan } = deps;
    const { by, organisationId } = caller;
    const made = await createApp({ sql: txSql, clock, by }, { name: body.name, plan, organisationId });
    return { ...(await present(deps, made.id)), server_key: made.serverKey, client_key: made.clientKey };
  }),
];

export const appRoutes = [
  ofApp('getApp', 'GET /', {
    least: 'viewer',
    summary: 'Read an app',
    answers: ok('The app.', appSchema),
  }).handle(async (deps, { caller }) => present(deps, caller.app.id)),
  ofApp('editApp', 'PATCH /', {
    least: 'admin',
    summary: 'Change the name or the rules of an app',
    body: appEdit,
    answers: ok('The app as it is now.', appSchema),
    refusals: ['changed_meanwhile'],
  }).handle(async (deps, { caller, body }) => {
    const { txSql, clock } = deps;
    const { name, default_url: defaultUrl, attribution_window_hours: attributionWindowHours, client_events } = body;
    const { new_names: newNames, purchases } = client_events ?? {};
    const edit = { name, defaultUrl, attributionWindowHours, newNames, purchases };
    const { id } = caller.app;
    await editApp({ sql: txSql, clock, by: caller.by }, id, edit, (app) =>
      checkSeen(body.updated_at, app.updatedAt, () => presentListed(app)),
    );
    return present(deps, id);
  }),
];

/** Throws the 400 for an unknown plan, because the service would not start with such an app. */
export function checkPlan(plans: Plans, name: string): string {
  if (plans.has(name)) return name;
  const allowed = [...plans.keys()];
  const message = `There is no plan '${name.slice(0, 64)}'; there are ${allowed.join(', ')}.`;
  throw invalid([{ path: ['plan'], code: 'invalid_value', message, allowed }]);
}

/** Shapes an app from its own row. */
export function presentListed(app: App) {
  return {
    id: encodeId('app', app.id),
    name: app.name,
    plan: app.plan,
    default_url: app.defaultUrl,
    attribution_window_hours: app.attributionWindowHours,
    suspended_at: app.suspendedAt,
    created_at: app.createdAt,
    updated_at: app.updatedAt,
  };
}

/** Reads and shapes an app. Throws the 404 if it was deleted meanwhile. */
export async function present({ sql, sandboxed }: Pick<AreaDeps, 'sql' | 'sandboxed'>, id: string) {
  const app = await findApp(sql, id);
  const events = app && (await findClientEvents(sql, id));
  if (!app || !events) throw noSuchApp(encodeId('app', id));
  const tests = await listTestApps(sql, [id], sandboxed);
  return {
    ...presentListed(app),
    is_test: tests.has(id),
    client_events: { new_names: events.newNames, purchases: events.purchases },
  };
}
