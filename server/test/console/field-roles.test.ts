// Contract 19: which role sees which stored field. Each field of an app has a canary, a text or a
// number that stands nowhere else. Every operation is called by a person and by a token of each
// role, and no answer may have a canary of a field whose least role is above the caller's.
import { generateKeyPairSync } from 'node:crypto';
import { transaction } from '@carillon/postgres';
import { expect, it } from 'vitest';
import { fieldRoles } from '../../src/console/operations/field-roles.ts';
import { consoleRoutes } from '../../src/console/operations/routes.ts';
import { listRoutes } from '../../src/console/operations/serve.ts';
import { encodeId, mintUuid } from '../../src/ground/values/ids.ts';
import { insertAccount, insertMember } from '../../src/teams/accounts/account-queries.ts';
import { createInvite } from '../../src/teams/accounts/links.ts';
import { insertSession } from '../../src/teams/accounts/queries.ts';
import { isAtLeast, type Role, roles } from '../../src/teams/accounts/roles.ts';
import { hashSecret, mintSecret } from '../../src/teams/accounts/session.ts';
import { type Response, setup } from '../setup.ts';
import { startWebhookReceiver } from '../webhook-receiver.ts';
import { firstOrganisationId, follow, origin, signIn } from './console.ts';

const receiver = await startWebhookReceiver();
const t = await setup({ workers: false, environment: { OUTBOUND_ALLOW_PORTS: String(receiver.port) } });
const routes = listRoutes(consoleRoutes);

interface Column {
  readonly field: string;
  readonly table: string;
  readonly name: string;
  readonly type: string;
}
const columns: readonly Column[] = await t.sql<Column[]>`
  SELECT c.relname || '.' || a.attname AS field, c.relname AS table, a.attname AS name,
    format_type(a.atttypid, a.atttypmod) AS type
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1`;

it('every column of the database has a row that says who sees it, and each row has its column', () => {
  const stored = columns.filter(({ name }) => name !== 'app_id').map(({ field }) => field);
  expect(stored.filter((field) => !fieldRoles.has(field))).toEqual([]);
  const parts = [...fieldRoles.keys()].filter((field) => !stored.includes(field));
  expect(parts).toEqual(['messages.audience.external_ids', 'messages.audience.value', 'segments.filter.value']);
});

/** The canary of a field: a text that says its own field. */
const canary = (field: string): string => `cnr__${field.replaceAll('.', '__')}`;
const numbers: Readonly<Record<string, number>> = {
  'users.properties': 7310001.25,
  'events.properties': 7310002.25,
  'events.amount': 7310003.25,
  'properties.samples': 7310004.25,
  'event_properties.samples': 7310005.25,
  'segments.filter.value': 7310006.25,
};
/** Canaries that are no text of ours: ids as answers write them, secrets and hashes. */
const stored = new Map<string, string>();

function fieldsIn(text: string): Set<string> {
  const found = [...text.matchAll(/cnr__[a-z0-9_]+/g)].map(([word]) => word.split('__').slice(1).join('.'));
  for (const [field, number] of Object.entries(numbers)) if (text.includes(String(number))) found.push(field);
  for (const [canaryText, field] of stored) if (text.includes(canaryText)) found.push(field);
  return new Set(found);
}

async function ok(answer: Promise<Response>): Promise<Response['body']> {
  const { status, body } = await answer;
  expect({ status, error: body.error, issues: body.issues }).toEqual({ status: 200 });
  return body;
}

const hoursFromNow = (hours: number): string => new Date(t.clock.nowMs() + hours * 3_600_000).toISOString();
const applePush = {
  p8: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
  key_id: 'ABC123DEFG',
  team_id: 'DEF123GHIJ',
  bundle_id: 'com.example.shop',
};
const serviceAccount = {
  type: 'service_account',
  project_id: 'shop-1234',
  private_key_id: '0a1b2c3d4e5f',
  client_email: 'push@shop-1234.iam.gserviceaccount.com',
  private_key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
  token_uri: 'https://oauth2.googleapis.com/token',
};

/** Columns whose canary is written over what the service stored. */
const written: Readonly<Record<string, string>> = {
  'organisations.name': canary('organisations.name'),
  'apps.name': canary('apps.name'),
  'apps.default_url': `https://shop.example/${canary('apps.default_url')}`,
  'audit_entries.actor_name': canary('audit_entries.actor_name'),
  'audit_entries.actor_id': canary('audit_entries.actor_id'),
  'audit_entries.address': canary('audit_entries.address'),
  'audit_entries.target': canary('audit_entries.target'),
  'audit_entries.before': JSON.stringify({ name: canary('audit_entries.before') }),
  'audit_entries.after': JSON.stringify({ name: canary('audit_entries.after') }),
  'account_links.created_by': canary('account_links.created_by'),
  'credentials.last_error': JSON.stringify({ body: canary('credentials.last_error') }),
  'deliveries.action': canary('deliveries.action'),
  'deliveries.provider_ref': canary('deliveries.provider_ref'),
  'devices.token_hint': canary('devices.token_hint'),
  'drafts.changed_by': canary('drafts.changed_by'),
  'event_properties.samples': JSON.stringify([canary('event_properties.samples'), numbers['event_properties.samples']]),
  'keys.created_by': canary('keys.created_by'),
  'keys.last4': canary('keys.last4'),
  'keys.start': canary('keys.start'),
  'messages.category': canary('messages.category'),
  'messages.created_by': JSON.stringify({ type: 'person', id: null, name: canary('messages.created_by') }),
  'messages.title': canary('messages.title'),
  'operator_tokens.created_by': canary('operator_tokens.created_by'),
  'operator_tokens.last4': canary('operator_tokens.last4'),
  'operator_tokens.start': canary('operator_tokens.start'),
  'properties.samples': JSON.stringify([canary('properties.samples'), numbers['properties.samples']]),
  'template_versions.created_by': canary('template_versions.created_by'),
  'test_users.external_ids': `{${canary('test_users.external_ids')}}`,
  'webhooks.last_test': JSON.stringify({
    at: hoursFromNow(-1),
    status_code: null,
    error: canary('webhooks.last_test'),
    duration_ms: 1,
  }),
};

/** Fills an app with canaries, and returns what its addresses need. */
async function fill() {
  // Unlike a real push service, the one of the tests names the token in its answer.
  t.push.scriptAll((_request, response, count) => {
    response.writeHead(201, { location: `https://push.test.example/m/${count}` });
    response.end();
  });
  const owner = await signIn(t, 'owner');
  const made = await ok(owner.send('POST', '/apps', { name: 'Shop' }));
  const at = (path: string): string => `/apps/${made.id}${path}`;
  const make = (path: string, body: object) => ok(owner.send('POST', at(path), body));
  const named = await make('/keys', { scope: 'server', name: canary('keys.name') });
  const server = t.clientOf(named.key);
  await make('/channels/webpush', { subject: `mailto:${canary('credentials.public')}@shop.example` });
  await ok(owner.send('PUT', at('/channels/apns'), applePush));
  const register = (subscription: object): Promise<Response['body']> =>
    ok(
      server.post('/v1/devices', {
        platform: 'web',
        token: subscription,
        app_version: canary('audience.app_version'),
        sdk: canary('audience.sdk'),
        os: canary('audience.os'),
        os_version: canary('audience.os_version'),
        model: canary('audience.model'),
        properties: { badge: canary('devices.properties') },
      }),
    );
  const device = await register(t.pushSubscription(canary('devices.token')));
  /** A device of nobody, whose client knows its subscription. */
  const subscription = t.pushSubscription();
  await register(subscription);
  const person = canary('people.external_id');
  const user = await ok(
    server.post('/v1/users', {
      external_id: person,
      first_name: canary('users.first_name'),
      device_id: device.id,
      properties: {
        [canary('properties.key')]: canary('users.properties'),
        score: numbers['users.properties'],
      },
    }),
  );
  const purchase = { name: 'purchase', external_id: person };
  await ok(
    server.post('/v1/events', { ...purchase, properties: { amount: numbers['events.amount'], currency: 'EUR' } }),
  );
  await ok(server.post('/v1/events', { ...purchase, properties: { amount: 1.5, currency: 'EUR' } }));
  const event = canary('events.name');
  const properties = {
    [canary('event_properties.key')]: canary('events.properties'),
    depth: numbers['events.properties'],
  };
  await ok(server.post('/v1/events', { name: event, external_id: person, properties }));
  const value = canary('segments.filter.value');
  const filter = {
    or: [
      { field: 'external_id', op: 'eq', value },
      { field: 'external_id', op: 'in', value: [value] },
      { field: 'properties.score', op: 'gte', value: numbers['segments.filter.value'] },
      { not: { field: 'first_name', op: 'eq', value } },
      {
        event,
        count: { op: 'gte', value: 1 },
        where: [{ field: `properties.${canary('event_properties.key')}`, op: 'eq', value }],
      },
    ],
  };
  const segment = await ok(
    server.post('/v1/segments', { name: canary('segments.name'), description: canary('segments.description'), filter }),
  );
  const content = { title: 'Sale', body: canary('messages.content') };
  const sent = await ok(
    server.post(
      '/v1/messages',
      {
        audience: { external_ids: [person, canary('messages.audience.external_ids')] },
        content,
        name: canary('messages.name'),
        metadata: { campaign: canary('messages.metadata') },
      },
      { 'idempotency-key': canary('messages.idempotency_key') },
    ),
  );
  const later = { content, send_at: hoursFromNow(24) };
  const ofValue = { field: 'external_id', op: 'in', value: [canary('messages.audience.value')] };
  const filtered = await ok(server.post('/v1/messages', { ...later, audience: { filter: ofValue } }));
  const waiting = await ok(server.post('/v1/messages', { ...later, audience: { segment_id: segment.id } }));
  const webhook = await make('/webhooks', { endpoint: `${receiver.endpoint}/${canary('webhooks.endpoint')}` });
  const audience = { external_ids: [canary('drafts.message')] };
  const draft = await make('/drafts', { name: canary('drafts.name'), message: { audience } });
  const template = await make('/templates', {
    name: canary('templates.name'),
    content: { title: canary('template_versions.content') },
  });
  await ok(owner.send('PUT', at('/test-users'), { users: [{ external_id: person }], updated_at: null }));
  for (let times = 0; times < 2; times++) await make('/identify/rotate', {});
  await ok(owner.send('POST', '/tokens', { name: canary('operator_tokens.name'), role: 'viewer' }));
  const key = await make('/keys', { scope: 'client', name: 'Shop' });
  const invite = await createInvite(t, {
    organisationId: firstOrganisationId,
    email: `${canary('account_links.email')}@shop.example`,
    role: 'viewer',
  });
  const bystander = mintUuid();
  await transaction(t.sql, async (tx) => {
    const email = `${canary('accounts.email')}@shop.example`;
    await insertAccount(tx, t.clock, { id: bystander, email, name: canary('accounts.name') });
    await insertMember(tx, t.clock, { organisationId: firstOrganisationId, accountId: bystander, role: 'member' });
    const of = { address: canary('account_sessions.address'), userAgent: canary('account_sessions.user_agent') };
    await insertSession(tx, t.clock, {
      id: mintUuid(),
      tokenHash: hashSecret(mintSecret()),
      accountId: bystander,
      ...of,
    });
  });
  await t.judged();
  // A refused request whose path, query and body have values of a person.
  await t.request('GET', `/v1/users/${canary('users.external_id')}?x=${canary('users.external_id')}`, {
    key: named.key,
  });
  await server.post('/v1/users', { external_id: canary('users.external_id'), properties: 7 });
  await new Promise((resolve) => setImmediate(resolve));
  await t.service.requestLog.flush();
  for (const [field, text] of Object.entries(written)) {
    const [table = '', column = ''] = field.split('.');
    const { type = 'text' } = columns.find((each) => each.field === field) ?? {};
    // Rows of the command line have no actor.
    const rows = column === 'actor_id' ? 'WHERE actor_id IS NOT NULL' : '';
    await t.sql.unsafe(`UPDATE ${table} SET ${column} = '${text}'::${type} ${rows}`);
  }
  for (const { field, table, name, type } of columns) {
    if (fieldRoles.get(field) !== 'never' || !/secret|token|hash|fingerprint|receipt_keys|codes/.test(name)) continue;
    const read = type === 'bytea' ? `encode(${name}, 'hex')` : `${name}::text`;
    for (const row of await t.sql.unsafe(`SELECT DISTINCT ${read} AS text FROM ${table} WHERE ${name} IS NOT NULL`)) {
      const text = String(row['text']);
      if (text.length < 16) continue;
      stored.set(text, field);
      if (type === 'bytea') stored.set(Buffer.from(text, 'hex').toString('base64url'), field);
    }
  }
  const [token] = await t.sql`SELECT id FROM operator_tokens LIMIT 1`;
  const [session] = await t.sql`SELECT id FROM account_sessions WHERE account_id = ${bystander}`;
  const ids = {
    invite: encodeId('inv', invite.id),
    member: encodeId('acc', bystander),
    session: encodeId('ses', String(session?.['id'])),
  };
  stored.set(user.id, 'users.id').set(draft.id, 'drafts.id').set(template.id, 'templates.id');
  stored.set(ids.invite, 'account_links.id').set(ids.member, 'accounts.id').set(ids.session, 'account_sessions.id');
  return {
    clientKey: made.client_key,
    subscription,
    person,
    event,
    segment: segment.id,
    device: device.id,
    sent: sent.id,
    filtered: filtered.id,
    waiting: waiting.id,
    /** Values of parameters in paths. */
    params: {
      ...ids,
      // A refusal repeats the id that it was asked for.
      session: encodeId('ses', mintUuid()),
      app: made.id,
      webhook: webhook.id,
      draft: draft.id,
      template: template.id,
      token: encodeId('tok', String(token?.['id'])),
      key: key.id,
      external_id: person,
      name: event,
      channel: 'apns',
      version: '1',
    } as Readonly<Record<string, string>>,
  };
}

async function everyField(): Promise<Set<string>> {
  const texts: string[] = [];
  for (const table of new Set(columns.map(({ table }) => table))) {
    for (const row of await t.sql`SELECT r::text AS text FROM ${t.sql(table)} r`) texts.push(String(row['text']));
  }
  return new Set([...fieldsIn(texts.join(' ')), ...stored.values()]);
}

const world = await fill();
/** Every field that a canary was put into. */
const filled = await everyField();

/** The objects that a route is asked for, by the parameter `id`. */
function idsFor({ id, path }: (typeof routes)[number]): readonly string[] {
  if (path.includes('/devices/')) return [world.device];
  if (path.includes('/segments/')) return [world.segment];
  if (id === 'cancelMessage') return [world.waiting];
  return id === 'getMessage' ? [world.sent, world.filtered] : [world.sent];
}

/** The addresses that a route is called at. */
function addressesOf(route: (typeof routes)[number]): string[] {
  const { id, path } = route;
  const named = idsFor(route).map((object) =>
    path.replace('/console/api', '').replaceAll(/:(\w+)/g, (_all, name: string) => {
      if (name === 'id') return object;
      if (name === 'channel' && id === 'testChannel') return 'webpush';
      if (name === 'key' && path.includes('/properties/')) return canary('properties.key');
      return encodeURIComponent(world.params[name] ?? '');
    }),
  );
  const addresses = new Set(named);
  return [...addresses].flatMap((address) => (queries[id] ?? ['']).map((query) => address + query));
}

const range = `?from=${hoursFromNow(-48)}&to=${hoursFromNow(1)}`;
/** Queries that a route is asked with, each in a request of its own. */
const queries: Readonly<Record<string, readonly string[]>> = {
  explain: [
    `?external_id=${world.person}`,
    `?external_id=${world.person}&message_id=${world.sent}`,
    `?external_id=${world.person}&message_id=${world.waiting}`,
  ],
  suggestValues: ['?field=external_id', '?field=properties.score', '?field=first_name'],
  listDeliveries: ['', `?device_id=${world.device}`],
  ...Object.fromEntries(routes.filter(({ path }) => /reports\/(?!rebuild)/.test(path)).map(({ id }) => [id, [range]])),
};
const now = { updated_at: hoursFromNow(0) };
const content = { title: 'Hi {{first_name}}' };
const own = { field: 'external_id', op: 'eq', value: world.person };
/** Bodies that are not the example of the description, each in a request of its own. */
const bodies: Readonly<Record<string, readonly object[]>> = {
  editOrganisation: [{ require_two_factor: false, ...now }],
  setApplePush: [applePush],
  setAndroidPush: [{ service_account_json: JSON.stringify(serviceAccount) }],
  testChannel: [{ device_id: world.device }],
  createWebhook: [{ endpoint: receiver.endpoint }],
  replayWebhook: [{ from: hoursFromNow(-2), to: hoursFromNow(0) }],
  createApp: [{ name: 'Other' }],
  sendMessage: [
    { audience: { external_ids: [world.person] }, content },
    { audience: { filter: own }, content, dry_run: true },
  ],
  renderMessage: [{ content, channel: 'webpush', external_id: world.person }],
  createDraft: [{ message: { audience: { all: true } } }],
  saveTemplate: [{ name: 'Saved', content, ...now }],
  setTestUsers: [{ users: [{ external_id: world.person }], ...now }],
  previewAudience: [
    { segment_id: world.segment },
    { filter: own },
    { filter: { field: 'properties.score', op: 'eq', value: world.person } },
    { segment_id: world.segment, exclude_segment_id: world.segment },
  ],
  createSegment: [{ name: 'Mine', filter: own }],
  editDevice: [{ locale: 'de-AT', properties: { badge: 7 }, ...now }],
  editUser: [{ country: 'DE', properties: { score: 'no number' }, ...now }],
};
/** What ends something comes last, in this order; before it everything is as it was filled. */
const lastOnes = ['pause', 'resume', 'suspendApp', 'resumeApp', 'deleteUser', 'deleteApp'];
const turnOf = ({ id, method }: (typeof routes)[number]): number =>
  lastOnes.includes(id)
    ? 4 + lastOnes.indexOf(id)
    : method === 'DELETE'
      ? 3
      : id === 'disableWebhook'
        ? 2
        : method === 'GET'
          ? 0
          : 1;

type Caller = (method: string, path: string, body: unknown, accept?: string) => Promise<Response>;
const operatorTokens = new Map<Role, string>();
for (const role of roles) {
  const { send } = await signIn(t, 'owner');
  operatorTokens.set(role, (await ok(send('POST', '/tokens', { name: `a script of ${role}`, role }))).token);
}

/** Sends as a person or a script; a feed is read until its first event. */
function callerWith(headers: Record<string, string>, isStream: boolean): Caller {
  return async (method, path, body, accept) => {
    if (isStream) {
      const feed = await follow(t, path, headers);
      const first = feed.status === 200 ? await feed.until(() => true) : '';
      feed.leave();
      return { status: feed.status, headers: feed.headers, body: first };
    }
    const given = { ...headers, ...(accept !== undefined && { accept }) };
    return t.request(method, `/console/api${path}`, { headers: given, ...(body !== undefined && { body }) });
  };
}

const callersOf = async (role: Role, isStream: boolean): Promise<[kind: string, Caller][]> => [
  [
    `a person who is ${role}`,
    callerWith({ origin, 'sec-fetch-site': 'same-origin', cookie: (await signIn(t, role)).cookie }, isStream),
  ],
  [`a token of ${role}`, callerWith({ authorization: `Bearer ${operatorTokens.get(role)}` }, isStream)],
];

/** Those that let people in or ask for their password. */
const ofPeople = [
  ...['getLink', 'setUp', 'acceptInvite', 'resetPassword', 'signIn', 'signInSecondFactor', 'beginOidc'],
  ...['beginOidcByLink', 'finishOidc', 'linkOidc', 'changePassword', 'beginSecondFactor', 'confirmSecondFactor'],
  ...['removeSecondFactor', 'renewRecoveryCodes', 'endSession'],
];

/** Columns with words of a closed set, and copies of a field that has its canary elsewhere. */
const withoutCanary = [
  ...['account_links.role', 'members.role', 'operator_tokens.role', 'keys.scope', 'credentials.channel'],
  ...['apps.plan', 'apps.identify_form', 'apps.identify_form_next', 'credentials.state', 'webhooks.state'],
  ...['audit_entries.action', 'audit_entries.actor_kind', 'batches.skip_reason', 'instance.pause_reason'],
  ...['messages.status', 'messages.status_reason', 'messages.local_send_at', 'messages.local_time_past'],
  ...['messages.error_counts', 'properties.type', 'properties.conflict_days', 'event_properties.type'],
  ...['webhook_attempts.error', 'webhooks.events', 'deliveries.timeline', 'answer_forms.form'],
  ...['device_changes.platform', 'device_changes.status', 'device_changes.reason', 'device_deltas.platform'],
  ...['device_totals.platform', 'device_tokens.platform', 'devices.platform', 'devices.status'],
  ...['devices.status_reason', 'devices.environment', 'devices.environment_found', 'audience.platform'],
  ...['audience.country', 'audience.language', 'audience.locale', 'audience.timezone', 'audience.user_timezone'],
  ...['users.country', 'users.language', 'users.timezone', 'rollups.currency', 'rollup_deltas.currency'],
  ...['attributions.currency', 'attributions.class', 'credited_totals.currency', 'credited_totals.class'],
  ...['open_credits.currency', 'open_credits.class', 'events.currency'],
];
const copies: Readonly<Record<string, string>> = {
  'users.external_id': 'people.external_id',
  'audience.external_id': 'people.external_id',
  'events.external_id': 'people.external_id',
  'audience.first_name': 'users.first_name',
  'audience.overflow': 'users.properties',
  'event_names.name': 'events.name',
  'event_properties.name': 'events.name',
  'rollups.name': 'events.name',
  'rollup_deltas.name': 'events.name',
  'credited_totals.name': 'events.name',
  'open_credits.name': 'events.name',
  'segments.fields': 'event_properties.key',
  'request_chunks.entries': 'keys.name',
};

it('every stored text that a role sees has a canary, or is a copy of one that has', async () => {
  const shown = columns.filter(
    ({ field, name, type }) =>
      /^(?:text|json|jsonb|text\[\])$/.test(type) &&
      name !== 'app_id' &&
      !/^(?:text|bool|number)_\d\d$/.test(name) &&
      roles.some((role) => role === fieldRoles.get(field)),
  );
  const without: string[] = [];
  for (const { field, table, name } of shown) {
    const home = copies[field] ?? field;
    const [row] = await t.sql.unsafe(
      `SELECT bool_or(position('${canary(home)}' in ${name}::text) > 0) AS found FROM ${table}`,
    );
    if (!row?.['found'] && copies[field] === undefined) without.push(field);
  }
  expect(without.sort()).toEqual([...withoutCanary].sort());
});

it('a client key reads nothing of other people: of a device whose token it has, its facts alone', async () => {
  const client = t.clientOf(world.clientKey);
  const answers = [
    await client.get('/v1/config'),
    await client.post('/v1/devices', { platform: 'web', token: world.subscription }),
    await client.post('/v1/events', { name: 'opened', device_id: world.device }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  const found = [...fieldsIn(JSON.stringify(answers.map(({ body }) => body)))];
  expect(found.filter((field) => !/^audience\.(?:app_version|sdk|os|os_version|model)$/.test(field))).toEqual([]);
});

it('no answer to a caller has a field whose least role is above the caller', async () => {
  const leaks = new Set<string>();
  const seen = new Map<string, Set<Role>>();
  const answered = new Set<string>();
  const faults: unknown[] = [];
  let cells = 0;
  const note = (route: string, kind: string, role: Role, { status, headers, body }: Response): void => {
    if (status === 200) answered.add(route);
    if (status >= 500 || status === 429) faults.push([route, kind, status, body]);
    for (const field of fieldsIn(JSON.stringify([[...headers], body]))) {
      const seer = fieldRoles.get(field);
      const maySee = roles.some((least) => least === seer && isAtLeast(role, least));
      if (!maySee) leaks.add(`${route} tells ${kind} ${field}, which is for ${seer}`);
      seen.set(field, (seen.get(field) ?? new Set()).add(role));
    }
  };
  for (const route of [...routes].sort((a, b) => turnOf(a) - turnOf(b))) {
    const { id, method, body, answers } = route;
    const example = body?.example as object | undefined;
    for (const role of roles) {
      for (const [kind, call] of await callersOf(role, answers[200]?.isStream === true)) {
        cells += filled.size;
        for (const address of addressesOf(route)) {
          for (const given of bodies[id] ?? [example]) {
            const answer = await call(method, address, given);
            note(id, kind, role, answer);
            // A writer reads the present object, and writes again.
            const { present } = answer.body ?? {};
            if (present === undefined) continue;
            note(id, kind, role, await call(method, address, { ...given, updated_at: present.updated_at }));
          }
          if (id.startsWith('report')) note(id, kind, role, await call(method, address, undefined, 'text/csv'));
        }
      }
    }
  }
  expect([...leaks]).toEqual([]);
  expect(faults).toEqual([]);
  expect(
    routes
      .map(({ id }) => id)
      .filter((id) => !answered.has(id))
      .sort(),
  ).toEqual([...ofPeople].sort());
  // A field with a canary that its least role never saw has a row that is too generous or too strict.
  const unseen = [...filled].filter((field) => {
    const seer = fieldRoles.get(field);
    return roles.some((role) => role === seer) && !seen.get(field)?.has(seer as Role);
  });
  expect(unseen).toEqual([]);
  process.stdout.write(
    `contract 19: ${routes.length} operations × ${roles.length * 2} callers × ${filled.size} fields = ${cells} cells\n`,
  );
  expect(cells).toBeGreaterThan(90_000);
});
