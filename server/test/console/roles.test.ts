// every route of the console against every kind of caller, generated from the
// route table. The table below says the least role of each route by hand; a route without a row
// fails.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleRoutes } from '../../src/console/operations/routes.ts';
import { listRoutes } from '../../src/console/operations/serve.ts';
import { encodeId, type IdPrefix } from '../../src/ground/values/ids.ts';
import { createToken, revokeToken } from '../../src/teams/accounts/operator-tokens.ts';
import { isAtLeast, type Role, roles } from '../../src/teams/accounts/roles.ts';
import { type Response, setup } from '../setup.ts';
import {
  cookieName,
  firstOrganisationId,
  makeOrganisation,
  origin,
  type Person,
  type Send,
  scriptOf,
  senderOf,
  signIn,
} from './console.ts';

// The routes of OpenID Connect are 404 without a provider; nobody reaches this one.
const t = await setup({
  workers: false,
  environment: { OIDC_ISSUER: 'http://127.0.0.1:1', OIDC_CLIENT_ID: 'carillon', OIDC_CLIENT_SECRET: 'secret' },
});
const routes = listRoutes(consoleRoutes);

/** `person`: any role, by a session. A star: sessions only, no operator token. */
const expectations: Readonly<Record<string, string>> = {
  getWelcome: 'public',
  getLink: 'public',
  setUp: 'public',
  acceptInvite: 'public',
  resetPassword: 'public',
  signIn: 'public',
  signInSecondFactor: 'public',
  beginOidc: 'public',
  beginOidcByLink: 'public',
  finishOidc: 'public',
  linkOidc: 'person*',
  getSession: 'person*',
  changePassword: 'person*',
  beginSecondFactor: 'person*',
  confirmSecondFactor: 'person*',
  removeSecondFactor: 'person*',
  renewRecoveryCodes: 'person*',
  signOut: 'person*',
  listSessions: 'person*',
  endSession: 'person*',
  getTeam: 'admin*',
  invite: 'admin*',
  withdrawInvite: 'admin*',
  changeRole: 'admin*',
  removeMember: 'admin*',
  editOrganisation: 'owner',
  listTokens: 'owner*',
  createToken: 'owner*',
  revokeToken: 'owner*',
  listPlans: 'owner',
  changePlan: 'owner',
  getUsage: 'owner',
  deleteApp: 'owner',
  suspendApp: 'owner',
  resumeApp: 'owner',
  listChannels: 'viewer',
  getWebPush: 'admin',
  setWebPush: 'admin',
  setApplePush: 'admin',
  setAndroidPush: 'admin',
  listSparedDevices: 'member',
  removeChannel: 'admin',
  testChannel: 'admin',
  listWebhooks: 'viewer',
  createWebhook: 'admin',
  getWebhook: 'viewer',
  editWebhook: 'admin',
  deleteWebhook: 'admin',
  enableWebhook: 'admin',
  disableWebhook: 'admin',
  testWebhook: 'admin',
  rotateWebhookSecret: 'admin',
  finishWebhookRotation: 'admin',
  replayWebhook: 'admin',
  listWebhookAttempts: 'viewer',
  getIdentify: 'viewer',
  setIdentify: 'admin',
  rotateIdentify: 'admin',
  finishIdentify: 'admin',
  listAudit: 'admin',
  listOrganisationAudit: 'admin',
  getPause: 'viewer',
  pause: 'owner',
  resume: 'owner',
  listKeys: 'admin',
  createKey: 'admin',
  createSessionKey: 'member*',
  rotateKey: 'admin',
  revokeKey: 'admin',
  listApps: 'viewer',
  createApp: 'admin',
  getApp: 'viewer',
  editApp: 'admin',
  listMessages: 'viewer',
  getFirstClick: 'viewer',
  getMessage: 'viewer',
  listDeliveries: 'viewer',
  cancelMessage: 'member',
  sendMessage: 'member',
  renderMessage: 'member',
  listDrafts: 'member',
  createDraft: 'member',
  getDraft: 'member',
  saveDraft: 'member',
  deleteDraft: 'member',
  listTemplates: 'member',
  createTemplate: 'member',
  getTemplate: 'member',
  getTemplateVersion: 'member',
  saveTemplate: 'member',
  deleteTemplate: 'member',
  getTestUsers: 'member',
  setTestUsers: 'member',
  sendToTestUsers: 'member',
  explain: 'member',
  listDevices: 'member',
  getDevice: 'member',
  editDevice: 'member',
  optOutDevice: 'admin',
  listUsers: 'member',
  getUser: 'member',
  listUserSegments: 'member',
  listUserEvents: 'member',
  listUserDeliveries: 'member',
  listDeviceDeliveries: 'member',
  editUser: 'member',
  deleteUser: 'admin',
  exportUser: 'admin',
  listSegments: 'viewer',
  createSegment: 'member',
  previewAudience: 'viewer',
  getSegment: 'viewer',
  editSegment: 'member',
  deleteSegment: 'admin',
  getSegmentUses: 'viewer',
  suggestValues: 'member',
  listProperties: 'viewer',
  declareProperty: 'admin',
  getProperty: 'viewer',
  getPropertyConsequences: 'admin',
  changeProperty: 'admin',
  deleteProperty: 'admin',
  listEventNames: 'viewer',
  getEventName: 'viewer',
  listRecentEvents: 'member',
  reportRevenue: 'viewer',
  reportEngagement: 'viewer',
  reportDevices: 'viewer',
  reportEvents: 'viewer',
  reportDelivery: 'viewer',
  reportDeliverability: 'viewer',
  getOverview: 'viewer',
  getReportRebuild: 'viewer',
  rebuildReports: 'admin',
  getMessageFigures: 'viewer',
  listRequests: 'viewer',
  followApp: 'viewer',
  followEvents: 'member',
};

/** Base62 digits of an id that nothing has. */
const unknownId = encodeId('app', '0192f3a4-7b6c-4d5e-8f90-1a2b3c4d5e6f').slice(4);
const prefixes: Readonly<Record<string, IdPrefix>> = {
  session: 'ses',
  member: 'acc',
  invite: 'inv',
  token: 'tok',
  key: 'key',
  draft: 'drf',
  template: 'tpl',
};

/**
 * A query that a feed refuses once the caller is let in, because a feed that opens does not end.
 */
const noFeedTakes = '?unexpected=true';
const feeds = routes.filter(({ answers }) => answers[200]?.isStream).map(({ path }) => path);

/** The address of a route, for the bundle's app and otherwise for ids that nothing has. */
function addressOf(path: string): string {
  const named = path.replace('/console/api', '').replaceAll(/:(\w+)/g, (_all, name: string) => {
    if (name === 'app') return encodeId('app', t.app.id);
    if (name === 'channel') return 'webpush';
    const prefix = prefixes[name];
    return prefix ? `${prefix}_${unknownId}` : unknownId;
  });
  return named + (feeds.includes(path) ? noFeedTakes : '');
}

/** A body that every route refuses once the caller is let in, so that no cell changes anything. */
const noRouteTakes = { unexpected: true };
const bodyOf = (method: string): unknown => (method === 'GET' ? undefined : noRouteTakes);
const verdictOf = ({ status, body }: Response): string => {
  if (status === 401 || status === 403) return `${status} ${body.error}`;
  return status === 404 ? '404' : status >= 500 ? String(status) : 'let in';
};

const sendWith =
  (key: string): Send =>
  (method, path, body) =>
    t.request(method, `/console/api${path}`, { key, ...(body !== undefined && { body }) });

let scripts: Record<Role, Send>;
let stranger: Person;
let revoked: string;
let cells = 0;

beforeAll(async () => {
  const ofRoles = await Promise.all(roles.map(async (role) => [role, await scriptOf(t, role)] as const));
  scripts = Object.fromEntries(ofRoles) as Record<Role, Send>;
  stranger = await signIn(t, 'owner', await makeOrganisation(t, 'Strangers'));
  const made = await createToken(t, { organisationId: firstOrganisationId, name: 'revoked', role: 'owner' });
  await revokeToken(t, { organisationId: firstOrganisationId, id: made.token.id });
  revoked = made.text;
});

afterAll(() => {
  process.stdout.write(`R-53: ${routes.length} console routes, ${cells} cells of callers\n`);
});

describe('R-53 the role matrix of the console', () => {
  it('has a row for every route, and for nothing else', () => {
    const described = routes.map(({ id, access, least }) => [
      id,
      access === 'public' ? 'public' : `${least}${access === 'session' ? '*' : ''}`,
    ]);
    expect(described.sort()).toEqual(Object.entries(expectations).sort());
  });

  it.each(routes)('$id answers each kind of caller as its row says', async ({ id, method, path }) => {
    const row = expectations[id] ?? '';
    const isOfApp = path.startsWith('/console/api/apps/:app');
    const isOfSessions = row.endsWith('*');
    const least = row.replace('*', '');
    const answered: Record<string, string> = {};
    const wanted: Record<string, string> = {};
    const ask = async (kind: string, send: Send, isWanted: string): Promise<void> => {
      const verdict = verdictOf(await send(method, addressOf(path), bodyOf(method)));
      // Ids that nothing has are 404 to those who are let in.
      answered[kind] =
        isWanted === 'let in' && verdict === '404' && addressOf(path).includes(unknownId) ? 'let in' : verdict;
      wanted[kind] = isWanted;
      cells++;
    };
    const ofRole = (role: Role): string => {
      if (least === 'public' || least === 'person') return 'let in';
      return isAtLeast(role, least as Role) ? 'let in' : '403 role_too_low';
    };
    // A network has room for three hundred 401s a minute.
    t.clock.advance(60_000);
    // A script has no origin, which routes for visitors demand of what changes something.
    const ofVisitors = method === 'GET' ? 'let in' : '403 cross_origin';
    for (const role of roles) {
      await ask(`a person who is ${role}`, (await signIn(t, role)).send, ofRole(role));
      const ofScript = least === 'public' ? ofVisitors : isOfSessions ? '403 session_only' : ofRole(role);
      await ask(`a token of ${role}`, scripts[role], ofScript);
    }
    await ask('nobody', senderOf(t, {}), least === 'public' ? 'let in' : '401 not_signed_in');
    await ask(
      'a wrong cookie',
      senderOf(t, { cookie: `${cookieName}=wrong` }),
      least === 'public' ? 'let in' : '401 not_signed_in',
    );
    const { serverKey, clientKey } = t.app;
    for (const [name, key] of Object.entries({
      'a revoked token': revoked,
      'a server key': serverKey,
      'a client key': clientKey,
    })) {
      await ask(name, sendWith(key), least === 'public' ? ofVisitors : '401 not_signed_in');
    }
    await ask("another organisation's owner", stranger.send, isOfApp ? '404' : 'let in');
    expect(answered).toEqual(wanted);
  });

  it('a refused role stands in the audit log, with the operation and the person', async () => {
    const viewer = await signIn(t, 'viewer');
    expect((await viewer.send('POST', '/apps', { name: 'Mine' })).status).toBe(403);
    const rows = await t.sql`
      SELECT actor_name, target, after ->> 'role' AS role, after ->> 'least' AS least FROM audit_entries
      WHERE action = 'access.refuse' AND actor_name = ${viewer.email}`;
    expect(rows.map((row) => ({ ...row }))).toEqual([
      { actorName: viewer.email, target: 'createApp', role: 'viewer', least: 'admin' },
    ]);
  });
});

describe('R-51 a request that another origin may have made', () => {
  const changing = routes.filter(({ method }) => method !== 'GET');
  it.each(changing)(
    '$id is 403 from elsewhere, and without a sign of where it comes from',
    async ({ method, path }) => {
      const owner = await signIn(t, 'owner');
      const forms: readonly [name: string, headers: Record<string, string>][] = [
        ['another site', { origin, 'sec-fetch-site': 'cross-site' }],
        ['the same site, another origin', { origin, 'sec-fetch-site': 'same-site' }],
        ['another origin', { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' }],
        ['another origin alone', { origin: 'https://evil.example' }],
        ['the origin null', { origin: 'null' }],
        ['http instead of https', { origin: 'http://carillon.test.example' }],
        ['no sign', {}],
        ['a form', { origin, 'content-type': 'application/x-www-form-urlencoded' }],
        ['a form with a file', { origin, 'content-type': 'multipart/form-data; boundary=x' }],
        ['plain text', { origin, 'content-type': 'text/plain' }],
      ];
      for (const [name, headers] of forms) {
        const answer = await t.request(method, `/console/api${addressOf(path)}`, {
          headers: { 'content-type': 'application/json', cookie: owner.cookie, ...headers },
          raw: JSON.stringify(noRouteTakes),
        });
        expect({ name, status: answer.status, error: answer.body.error }).toEqual({
          name,
          status: 403,
          error: 'cross_origin',
        });
      }
    },
  );

  it('a link of another site starts no export and no other read', async () => {
    const owner = await signIn(t, 'owner');
    const app = encodeId('app', t.app.id);
    for (const path of ['/apps', `/apps/${app}/users/u-42/export`, `/apps/${app}/audit?format=csv`]) {
      for (const site of ['cross-site', 'same-site']) {
        const headers = { cookie: owner.cookie, 'sec-fetch-site': site };
        const { status, body } = await t.request('GET', `/console/api${path}`, { headers });
        expect({ path, site, status, error: body.error }).toEqual({ path, site, status: 403, error: 'cross_origin' });
      }
    }
    const headers = { cookie: owner.cookie, 'sec-fetch-site': 'none' };
    expect((await t.request('GET', '/console/api/apps', { headers })).status).toBe(200);
  });

  it('an operator token beside an Origin or a cookie is 403', async () => {
    const { text: key } = await createToken(t, { organisationId: firstOrganisationId, name: 'script', role: 'owner' });
    for (const headers of [{ origin }, { cookie: 'theme=dark' }] as Record<string, string>[]) {
      expect(await t.request('GET', '/console/api/apps', { key, headers })).toMatchObject({
        status: 403,
        body: { error: 'cross_origin' },
      });
    }
    expect((await t.request('GET', '/console/api/apps', { key })).status).toBe(200);
  });
});
