// Every change by the console writes its audit entries, in the name of the person (contract 19).
// The cases are generated from the route table: a route that is not GET and has no row here fails.
// Secrets of these requests and of their answers must be in no log and in no table afterwards
//
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { consoleRoutes } from '../../src/console/operations/routes.ts';
import { listRoutes } from '../../src/console/operations/serve.ts';
import { encodeId } from '../../src/ground/values/ids.ts';
import { createInvite, createResetLink, createSetupLink } from '../../src/teams/accounts/links.ts';
import { writeWaiting } from '../../src/teams/accounts/oidc-proof.ts';
import type { Role } from '../../src/teams/accounts/roles.ts';
import { consoleKeysOf } from '../../src/teams/accounts/signed-token.ts';
import { type Bundle, type Response, setup } from '../setup.ts';
import { startWebhookReceiver } from '../webhook-receiver.ts';
import { auditedRoutes } from './audited.ts';
import { codeOf } from './authenticator.ts';
import { firstOrganisationId, type Person, type Send, senderOf, signIn } from './console.ts';

const receiver = await startWebhookReceiver();
const oidc = { OIDC_ISSUER: 'http://127.0.0.1:1', OIDC_CLIENT_ID: 'carillon', OIDC_CLIENT_SECRET: 'secret' };
const lines: string[] = [];
const logged = (environment: Record<string, string>) => ({
  environment: { ...environment, LOG_LEVEL: 'trace' },
  logTo: { write: (line: string) => void lines.push(line) },
});
const secrets = new Map<string, string>();
const t = overheard(await setup(logged({ OUTBOUND_ALLOW_PORTS: String(receiver.port), ...oidc })));
/** A service without an owner. */
const empty = overheard(await setup({ workers: false, ...logged({}) }));

/** Prepares what a case needs; its changes do not count. */
let helper = await signIn(t, 'owner');
// A session may ask 60 times a second, and a fast machine runs all cases in about one.
beforeEach(async () => {
  helper = await signIn(t, 'owner');
});
const visitor = senderOf(t, {});
const password = `a long password ${randomBytes(9).toString('hex')}`;
let made = 0;

/** The same service. The secrets of each request and of its answer are noted, with their names. */
function overheard(of: Bundle): Bundle {
  return {
    ...of,
    async request(method, path, options = {}) {
      const answer = await of.request(method, path, options);
      const cookies = [...(options.headers?.['cookie'] ?? '').split('; '), ...answer.headers.getSetCookie()];
      for (const cookie of cookies) noteSecret('cookie', decodeURIComponent(/=([^;]*)/.exec(cookie)?.[1] ?? ''));
      noteSecrets(options.body);
      noteSecrets(answer.body);
      return answer;
    },
  };
}

const secretFields =
  /^(?:password|current|next|secret|code|key|server_key|client_key|token|link|uri|recovery_codes|p8|service_account_json)$/;

function noteSecrets(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, field] of Object.entries(value)) {
    if (!secretFields.test(name)) noteSecrets(field);
    else for (const text of [field].flat()) if (typeof text === 'string') noteSecret(name, text);
  }
}

/** Notes the part of a text that must stay secret, where the text has one. */
function noteSecret(name: string, text: string): void {
  const part = {
    cookie: () => text.split('.')[0],
    link: () => text.split('#')[1],
    uri: () => new URL(text).searchParams.get('secret'),
    p8: () => text.split('\n')[1],
    service_account_json: () => JSON.parse(text).private_key.split('\n')[1],
  }[name];
  const secret = (part ? part() : text) ?? '';
  // Codes of an authenticator, catalog keys and words such as `signed_in` are shorter.
  if (secret.length > 10 && secret !== 'second_factor') secrets.set(secret, name);
}

/** One request, and the person in whose name its entries stand. */
interface Act {
  readonly send: Send;
  readonly body?: object;
  /** Values of the path's parameters. */
  readonly params?: Readonly<Record<string, string>>;
  readonly actor: string;
  readonly of?: Bundle;
}

async function ok(answer: Promise<Response>): Promise<Response['body']> {
  const { status, body } = await answer;
  expect({ status, error: body.error, issues: body.issues }).toEqual({ status: 200 });
  return body;
}

const as = async (role: Role, act: Omit<Act, 'send' | 'actor'> = {}): Promise<Act> => {
  const { send, email } = await signIn(t, role);
  return { send, actor: email, ...act };
};
const newApp = async () => ok(helper.send('POST', '/apps', { name: `App ${++made}` }));
const newWebhook = async (app: string) =>
  ok(helper.send('POST', `/apps/${app}/webhooks`, { endpoint: receiver.endpoint }));
const newKey = async (app: string) => ok(helper.send('POST', `/apps/${app}/keys`, { scope: 'server' }));
const newDraft = async () => {
  const { id: app } = await newApp();
  return { app, ...(await ok(helper.send('POST', `/apps/${app}/drafts`, { message: {} }))) };
};
const newTemplate = async () => {
  const { id: app } = await newApp();
  const body = { name: 'Offer', content: { title: 'Sale' } };
  return { app, ...(await ok(helper.send('POST', `/apps/${app}/templates`, body))) };
};
const filter = { field: 'country', op: 'eq', value: 'DE' };
const newSegment = async () => {
  const { id: app } = await newApp();
  return { app, segment: await ok(helper.send('POST', `/apps/${app}/segments`, { name: 'Here', filter })) };
};
const newProperty = async () => {
  const { id: app } = await newApp();
  await ok(helper.send('POST', `/apps/${app}/properties`, { key: 'plan', type: 'string' }));
  return { app, key: 'plan' };
};
const cookiesOf = ({ headers }: Response): string =>
  headers
    .getSetCookie()
    .map((line) => line.split(';')[0] ?? '')
    .join('; ');

/** A person with a password, signed in. */
async function withPassword(): Promise<{ readonly email: string; readonly send: Send; readonly cookie: string }> {
  const email = `with-password-${++made}@shop.example`;
  const { secret } = await createInvite(t, { organisationId: firstOrganisationId, email, role: 'admin' });
  const joined = await visitor('POST', '/join', { secret, name: 'Pat', password });
  const cookie = cookiesOf(joined);
  return { email, cookie, send: senderOf(t, { cookie }) };
}

/** A person with a second factor, signed in. */
async function withSecondFactor() {
  const person = await withPassword();
  const begun = await ok(person.send('POST', '/2fa/enable', { password }));
  const confirmed = await person.send('POST', '/2fa/verify', { code: codeOf(begun.uri, t.clock) });
  expect(confirmed.status).toBe(200);
  return { ...person, send: senderOf(t, { cookie: cookiesOf(confirmed) }), codes: begun.recovery_codes as string[] };
}

const invite = (email: string | null) =>
  createInvite(t, { organisationId: firstOrganisationId, email, role: 'viewer' });
const idOf = ({ accountId }: Person): string => encodeId('acc', accountId);

function p8(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}
const applePush = () => ({ p8: p8(), key_id: 'ABC123DEFG', team_id: 'DEF123GHIJ', bundle_id: 'com.example.shop' });

function serviceAccount(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return JSON.stringify({
    type: 'service_account',
    project_id: 'shop-1234',
    private_key_id: '0a1b2c3d4e5f',
    client_email: 'push@shop-1234.iam.gserviceaccount.com',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    token_uri: 'https://oauth2.googleapis.com/token',
  });
}

const acts: Readonly<Record<string, () => Promise<Act>>> = {
  getLink: async () => {
    const { secret } = await invite(null);
    return { send: visitor, body: { secret }, actor: 'nobody' };
  },
  setUp: async () => {
    const { secret } = await createSetupLink(empty, firstOrganisationId);
    const body = { secret, organisation: 'Bells', name: 'Anna', email: 'first@shop.example', password };
    return { send: senderOf(empty, {}), body, actor: 'first@shop.example', of: empty };
  },
  acceptInvite: async () => {
    const { secret } = await invite('joins@shop.example');
    return { send: visitor, body: { secret, name: 'Ben', password }, actor: 'joins@shop.example' };
  },
  resetPassword: async () => {
    const { email } = await signIn(t, 'viewer');
    const { secret } = await createResetLink(t, email);
    return { send: visitor, body: { secret, password }, actor: email };
  },
  signIn: async () => {
    const { email } = await signIn(t, 'viewer');
    const { secret } = await createResetLink(t, email);
    await ok(visitor('POST', '/reset', { secret, password }));
    return { send: visitor, body: { email, password }, actor: email };
  },
  signInSecondFactor: async () => {
    const { email, codes } = await withSecondFactor();
    const cookie = cookiesOf(await visitor('POST', '/login', { email, password }));
    return { send: senderOf(t, { cookie }), body: { code: codes[0], is_recovery: true }, actor: email };
  },
  linkOidc: async () => {
    const { email, cookie } = await withPassword();
    const identity = { issuer: oidc.OIDC_ISSUER, subject: email, email, atMs: t.clock.nowMs() - 60_000 };
    const waiting = `__Host-carillon_identity=${writeWaiting(consoleKeysOf({ key: t.masterKey })[0], identity)}`;
    return { send: senderOf(t, { cookie: `${cookie}; ${waiting}` }), actor: email };
  },
  changePassword: async () => {
    const { send, email } = await withPassword();
    return { send, body: { current: password, next: `another ${password}` }, actor: email };
  },
  beginSecondFactor: async () => {
    const { send, email } = await withPassword();
    return { send, body: { password }, actor: email };
  },
  confirmSecondFactor: async () => {
    const { send, email } = await withPassword();
    const begun = await ok(send('POST', '/2fa/enable', { password }));
    return { send, body: { code: codeOf(begun.uri, t.clock) }, actor: email };
  },
  removeSecondFactor: async () => {
    const { send, email } = await withSecondFactor();
    return { send, body: { password }, actor: email };
  },
  renewRecoveryCodes: async () => {
    const { send, email } = await withSecondFactor();
    return { send, body: { password }, actor: email };
  },
  signOut: () => as('viewer'),
  endSession: async () => {
    const { send, email } = await withPassword();
    const other = senderOf(t, { cookie: cookiesOf(await visitor('POST', '/login', { email, password })) });
    const { session_id: session } = await ok(other('GET', '/session'));
    return { send, params: { session }, actor: email };
  },
  invite: () => as('admin', { body: { email: 'invited@shop.example', role: 'viewer' } }),
  withdrawInvite: async () => {
    const { id } = await invite('withdrawn@shop.example');
    return as('admin', { params: { invite: encodeId('inv', id) } });
  },
  changeRole: async () => {
    const member = idOf(await signIn(t, 'member'));
    const { members } = await ok(helper.send('GET', `/team?q=${member}`));
    return as('owner', { params: { member }, body: { role: 'viewer', updated_at: members[0].updated_at } });
  },
  removeMember: async () => as('owner', { params: { member: idOf(await signIn(t, 'member')) } }),
  editOrganisation: async () => {
    const { organisation } = await ok(helper.send('GET', '/team'));
    return as('owner', { body: { name: 'Renamed', updated_at: organisation.updated_at } });
  },
  createToken: () => as('owner', { body: { name: 'Terraform', role: 'viewer' } }),
  revokeToken: async () => {
    const { id } = await ok(helper.send('POST', '/tokens', { name: 'Terraform', role: 'viewer' }));
    return as('owner', { params: { token: id } });
  },
  createApp: () => as('admin', { body: { name: 'Made' } }),
  editApp: async () => {
    const { id, updated_at } = await newApp();
    return as('admin', { params: { app: id }, body: { name: 'Renamed', updated_at } });
  },
  deleteApp: async () => {
    const { id, name } = await newApp();
    return as('owner', { params: { app: id }, body: { name } });
  },
  changePlan: async () => {
    const { id, updated_at } = await newApp();
    return as('owner', { params: { app: id }, body: { plan: 'pro', updated_at } });
  },
  suspendApp: async () => as('owner', { params: { app: (await newApp()).id } }),
  resumeApp: async () => {
    const { id } = await newApp();
    await ok(helper.send('POST', `/apps/${id}/suspend`));
    return as('owner', { params: { app: id } });
  },
  createKey: async () => as('admin', { params: { app: (await newApp()).id }, body: { scope: 'client' } }),
  createSessionKey: async () => as('member', { params: { app: (await newApp()).id } }),
  rotateKey: async () =>
    as('admin', { params: { key: (await newKey((await newApp()).id)).id }, body: { overlap_hours: 1 } }),
  revokeKey: async () => as('admin', { params: { key: (await newKey((await newApp()).id)).id } }),
  setWebPush: async () =>
    as('admin', { params: { app: (await newApp()).id }, body: { subject: 'mailto:ops@shop.example' } }),
  setApplePush: async () => as('admin', { params: { app: (await newApp()).id }, body: applePush() }),
  setAndroidPush: async () =>
    as('admin', { params: { app: (await newApp()).id }, body: { service_account_json: serviceAccount() } }),
  removeChannel: async () => {
    const { id } = await newApp();
    await ok(helper.send('PUT', `/apps/${id}/channels/apns`, applePush()));
    return as('admin', { params: { app: id, channel: 'apns' } });
  },
  testChannel: async () =>
    as('admin', {
      params: { app: encodeId('app', t.app.id), channel: 'webpush' },
      body: { device_id: await t.registerDevice() },
    }),
  createWebhook: async () =>
    as('admin', { params: { app: (await newApp()).id }, body: { endpoint: receiver.endpoint } }),
  editWebhook: async () => {
    const { id, updated_at } = await newWebhook((await newApp()).id);
    return as('admin', { params: { webhook: id }, body: { events: ['message.failed'], updated_at } });
  },
  deleteWebhook: async () => as('admin', { params: { webhook: (await newWebhook((await newApp()).id)).id } }),
  disableWebhook: async () => as('admin', { params: { webhook: (await newWebhook((await newApp()).id)).id } }),
  enableWebhook: async () => {
    const { id } = await newWebhook((await newApp()).id);
    await ok(helper.send('POST', `/webhooks/${id}/disable`));
    return as('admin', { params: { webhook: id } });
  },
  testWebhook: async () => as('admin', { params: { webhook: (await newWebhook((await newApp()).id)).id } }),
  rotateWebhookSecret: async () =>
    as('admin', { params: { webhook: (await newWebhook((await newApp()).id)).id }, body: { dual: true } }),
  finishWebhookRotation: async () => {
    const { id } = await newWebhook((await newApp()).id);
    await ok(helper.send('POST', `/webhooks/${id}/rotate`, { dual: true }));
    return as('admin', { params: { webhook: id } });
  },
  rebuildReports: async () => as('admin', { params: { app: (await newApp()).id }, body: {} }),
  replayWebhook: async () => {
    const { id } = await newWebhook((await newApp()).id);
    const period = { from: '2026-01-01T00:00:00.000Z', to: '2026-01-02T00:00:00.000Z' };
    return as('admin', { params: { webhook: id }, body: period });
  },
  setIdentify: async () => {
    const { id } = await newApp();
    const { updated_at } = await ok(helper.send('GET', `/apps/${id}/identify`));
    return as('admin', { params: { app: id }, body: { enabled: true, updated_at } });
  },
  rotateIdentify: async () => as('admin', { params: { app: (await newApp()).id }, body: { form: 'hash' } }),
  finishIdentify: async () => {
    const { id } = await newApp();
    for (let times = 0; times < 2; times++) await ok(helper.send('POST', `/apps/${id}/identify/rotate`, {}));
    return as('admin', { params: { app: id } });
  },
  pause: () => as('owner'),
  resume: async () => {
    await ok(helper.send('POST', '/system/pause'));
    return as('owner');
  },
  cancelMessage: async () => {
    const { body } = await t.server.post('/v1/messages', {
      audience: { all: true },
      content: { title: 'Later', body: 'You', url: 'https://shop.example/' },
      send_at: new Date(t.clock.nowMs() + 3_600_000).toISOString(),
    });
    expect(body.status).toBe('scheduled');
    return as('member', { params: { app: encodeId('app', t.app.id), id: body.id } });
  },
  sendMessage: async () =>
    as('member', {
      params: { app: encodeId('app', t.app.id) },
      body: { audience: { device_ids: [await t.registerDevice()] }, content: { title: 'Now' } },
    }),
  renderMessage: () =>
    as('member', {
      params: { app: encodeId('app', t.app.id) },
      body: { content: { title: 'Drawn' }, channel: 'webpush' },
    }),
  createDraft: async () => as('member', { params: { app: (await newApp()).id }, body: { name: 'Made', message: {} } }),
  saveDraft: async () => {
    const { app, id, updated_at } = await newDraft();
    return as('member', { params: { app, draft: id }, body: { name: 'Saved', message: {}, updated_at } });
  },
  deleteDraft: async () => {
    const { app, id } = await newDraft();
    return as('member', { params: { app, draft: id } });
  },
  createTemplate: async () =>
    as('member', { params: { app: (await newApp()).id }, body: { name: 'Made', content: { title: 'Sale' } } }),
  saveTemplate: async () => {
    const { app, id, updated_at } = await newTemplate();
    const body = { name: 'Saved', content: { title: 'Other' }, updated_at };
    return as('member', { params: { app, template: id }, body });
  },
  deleteTemplate: async () => {
    const { app, id } = await newTemplate();
    return as('member', { params: { app, template: id } });
  },
  setTestUsers: async () =>
    as('member', {
      params: { app: (await newApp()).id },
      body: { users: [{ external_id: 'u-42' }], updated_at: null },
    }),
  sendToTestUsers: async () => {
    const app = encodeId('app', t.app.id);
    const users = [{ device_id: await t.registerDevice() }];
    await ok(helper.send('PUT', `/apps/${app}/test-users`, { users, updated_at: null }));
    return as('member', { params: { app }, body: { content: { title: 'Try' } } });
  },
  editDevice: async () => {
    const params = { app: encodeId('app', t.app.id), id: await t.registerDevice() };
    const { updated_at } = await ok(helper.send('GET', `/apps/${params.app}/devices/${params.id}`));
    return as('member', { params, body: { locale: 'de-DE', updated_at } });
  },
  optOutDevice: async () => as('admin', { params: { app: encodeId('app', t.app.id), id: await t.registerDevice() } }),
  editUser: async () => {
    const user = await t.server.post('/v1/users', { external_id: 'u-8', properties: {} });
    const params = { app: encodeId('app', t.app.id), external_id: 'u-8' };
    return as('member', { params, body: { first_name: 'Ada', updated_at: user.body.updated_at } });
  },
  deleteUser: async () => {
    const device = await t.registerDevice();
    await t.server.post('/v1/users', { external_id: 'u-9', device_id: device, properties: {} });
    return as('admin', { params: { app: encodeId('app', t.app.id), external_id: 'u-9' } });
  },
  createSegment: async () => as('member', { params: { app: (await newApp()).id }, body: { name: 'Here', filter } }),
  previewAudience: async () => as('member', { params: { app: (await newApp()).id }, body: { filter } }),
  editSegment: async () => {
    const { app, segment } = await newSegment();
    const { id, updated_at } = segment;
    return as('member', { params: { app, id }, body: { name: 'Renamed', updated_at } });
  },
  deleteSegment: async () => {
    const { app, segment } = await newSegment();
    return as('admin', { params: { app, id: segment.id } });
  },
  declareProperty: async () =>
    as('admin', { params: { app: (await newApp()).id }, body: { key: 'plan', type: 'string' } }),
  changeProperty: async () => as('admin', { params: await newProperty(), body: { type: 'number' } }),
  deleteProperty: async () => as('admin', { params: await newProperty() }),
};

const changing = listRoutes(consoleRoutes).filter(({ method }) => method !== 'GET');
/** The provider of these tests does not answer, so nobody begins there; its own test does. */
const elsewhere = ['beginOidcByLink'];

describe('R-43 the audit log of the console', () => {
  it('has a row for every route that changes something, and for nothing else', () => {
    const ids = changing.map(({ id }) => id).sort();
    expect(Object.keys(auditedRoutes).sort()).toEqual(ids);
    expect([...Object.keys(acts), ...elsewhere].sort()).toEqual(ids);
  });

  it.each(changing.filter(({ id }) => !elsewhere.includes(id)))(
    '$id writes its entries, once, in the name of the person',
    async ({ id, method, path }) => {
      const prepare = acts[id];
      if (!prepare) throw new Error(`${id} has no row`);
      const { send, body, params = {}, actor, of = t } = await prepare();
      const entries = async (): Promise<string[]> =>
        (
          await of.sql<{ action: string }[]>`SELECT action FROM audit_entries WHERE actor_name = ${actor} ORDER BY id`
        ).map(({ action }) => action);
      const before = (await entries()).length;
      const address = path
        .replace('/console/api', '')
        .replaceAll(/:(\w+)/g, (_all, name: string) => params[name] ?? '');
      const answer = await send(method, address, body);
      expect(answer.status < 300 ? 'done' : answer.body).toBe('done');
      expect((await entries()).slice(before).sort()).toEqual(auditedRoutes[id]);
      await of.sql`UPDATE organisations SET require_two_factor = false`;
    },
  );
});

describe('R-80 the secrets of the console', () => {
  it('were all used: passwords, cookies, links, seeds, recovery codes, keys, tokens, credentials', () => {
    const names = new Set(secrets.values());
    expect([...names].sort()).toEqual([
      ...['client_key', 'code', 'cookie', 'key', 'link', 'next', 'p8', 'password', 'recovery_codes', 'secret'],
      ...['server_key', 'service_account_json', 'token', 'uri'],
    ]);
  });

  it('are in no line of the log at its most detailed level', () => {
    expect(lines.length).toBeGreaterThan(10);
    const found = [...secrets].filter(([secret]) => lines.some((line) => line.includes(secret)));
    expect(found).toEqual([]);
  });

  it.each([
    ['this service', t],
    ['the service that was set up', empty],
  ])('are in no table of %s', async (_which, { sql }) => {
    const tables = await sql<{ name: string }[]>`
      SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')`;
    for (const { name } of tables) {
      const text = JSON.stringify(await sql`SELECT r::text AS text FROM ${sql(name)} r`);
      const inHex = (secret: string): string => Buffer.from(secret).toString('hex');
      const found = [...secrets].filter(([secret]) => text.includes(secret) || text.includes(inHex(secret)));
      expect({ table: name, found }).toEqual({ table: name, found: [] });
    }
  });
});
