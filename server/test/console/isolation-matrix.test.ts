// every place of every route of the console that takes an id, generated from the description.
// The callers are owners of two organisations, and one person who has two apps. Each calls with an
// id of the other tenant, with unknown ids, and with an id of its own. A place without a subject
// fails.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { decodeId, encodeId, type IdPrefix, mintUuid, type Uuid } from '../../src/ground/values/ids.ts';
import { createInvite } from '../../src/teams/accounts/links.ts';
import { insertSession } from '../../src/teams/accounts/queries.ts';
import { hashSecret, mintSecret } from '../../src/teams/accounts/session.ts';
import { contentsOf } from '../contents.ts';
import { essence } from '../essence.ts';
import { type IdPlace, listIdPlaces } from '../id-places.ts';
import { type Client, type Response, setup } from '../setup.ts';
import { startWebhookReceiver } from '../webhook-receiver.ts';
import { firstOrganisationId, makeOrganisation, type Person, senderOf, signIn } from './console.ts';

const receiver = await startWebhookReceiver();
const t = await setup({ workers: false, environment: { OUTBOUND_ALLOW_PORTS: String(receiver.port) } });

/** An app, and a person who owns its organisation. */
interface World {
  readonly organisationId: Uuid;
  readonly owner: Person;
  /** The id of the app. */
  readonly app: string;
  readonly server: Client;
  /** A text that only this tenant's rows contain. */
  readonly canary: string;
  /** Ids of the world's first objects, by the path that they stand in. */
  readonly first: Readonly<Record<string, string>>;
}

const content = { title: 'Sale' };
const german = { field: 'country', op: 'eq', value: 'DE' };
const inDays = (days: number): string => new Date(t.clock.nowMs() + days * 86_400_000).toISOString();
const span = `from=${inDays(-10)}&to=${inDays(1)}`;

function p8(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

async function ok(answer: Promise<Response>): Promise<Response['body']> {
  const { status, body } = await answer;
  expect({ status, error: body.error, issues: body.issues }).toEqual({ status: 200 });
  return body;
}

const newDevice = async ({ server, canary }: Pick<World, 'server' | 'canary'>): Promise<string> =>
  (await ok(server.post('/v1/devices', { platform: 'web', token: t.pushSubscription(), model: canary }))).id;

/** Two of each kind of thing, so that every list has a second page. */
async function makeWorld(organisationId: Uuid, canary: string): Promise<World> {
  const owner = await signIn(t, 'owner', organisationId);
  await signIn(t, 'viewer', organisationId);
  await openSession(owner);
  await ok(owner.send('POST', '/apps', { name: `${canary}-first` }));
  const made = await ok(owner.send('POST', '/apps', { name: canary }));
  const server = t.clientOf(made.server_key);
  const { send } = owner;
  await ok(send('POST', `/apps/${made.id}/channels/webpush`, { subject: 'mailto:ops@shop.example' }));
  const apple = { p8: p8(), key_id: 'ABC123DEFG', team_id: 'DEF123GHIJ', bundle_id: 'com.example.shop' };
  await ok(send('PUT', `/apps/${made.id}/channels/apns`, apple));
  const device = await newDevice({ server, canary });
  await newDevice({ server, canary });
  const profile = { first_name: canary, country: 'DE', properties: { plan: canary, age: 7 } };
  await ok(server.post('/v1/users', { external_id: 'ada', device_id: device, ...profile }));
  await ok(server.post('/v1/users', { external_id: 'eve', first_name: canary }));
  const message = { audience: { all: true }, content: { title: canary } };
  const { id: firstMessage } = await ok(server.post('/v1/messages', message));
  await ok(server.post('/v1/messages', message));
  const ids: Record<string, string> = {};
  for (const name of ['One', 'Two']) {
    const one = { name: `${canary} ${name}` };
    ids['segments'] = (await ok(server.post('/v1/segments', { ...one, filter: german }))).id;
    await ok(send('POST', `/apps/${made.id}/webhooks`, { endpoint: `${receiver.endpoint}/${canary}/${name}` }));
    await ok(send('POST', `/apps/${made.id}/drafts`, { ...one, message: {} }));
    await ok(send('POST', `/apps/${made.id}/templates`, { ...one, content }));
    await ok(send('POST', '/tokens', { ...one, role: 'viewer' }));
    const properties = { amount: 5, currency: name === 'One' ? 'EUR' : 'USD' };
    for (const event of ['purchase', 'opened']) {
      await ok(server.post('/v1/events', { name: event, external_id: 'ada', properties }));
    }
  }
  const first = { ...ids, messages: firstMessage, devices: device, users: 'ada', events: 'purchase' };
  return { organisationId, owner, app: made.id, server, canary, first };
}

async function openSession({ accountId }: Person): Promise<Uuid> {
  const id = mintUuid();
  const session = { id, tokenHash: hashSecret(mintSecret()), accountId, address: null, userAgent: null };
  await transaction(t.sql, (tx) => insertSession(tx, t.clock, session));
  return id;
}

const one = await makeWorld(firstOrganisationId, 'canary-one');
const two = await makeWorld(await makeOrganisation(t, 'Two'), 'canary-two');
/** An app of the same organisation as `one`. */
const sibling = await makeWorld(firstOrganisationId, 'canary-three');

/** The kind of thing that an id names. */
interface Subject {
  /** Makes one that only this tenant has, in its app where the place asks of the app. */
  make(world: World, place: IdPlace): Promise<string> | string;
  /** Ids that nothing has, and texts that are no id. */
  unknown(own: World, place: IdPlace): Promise<readonly string[]> | readonly string[];
  /** The caller chooses the id, so that an id of its own is answered like a new one. */
  readonly isChosen?: true;
}

const someUuid = '0192f3a4-7b6c-4d5e-8f90-1a2b3c4d5e6f';
const named = (prefix: IdPrefix, make: (world: World, place: IdPlace) => Promise<string>): Subject => ({
  make,
  unknown: () => [encodeId(prefix, someUuid), `${prefix}_none`],
});
const newApp = async ({ owner }: World): Promise<string> =>
  (await ok(owner.send('POST', '/apps', { name: randomUUID() }))).id;
const made =
  (path: string, body: () => object) =>
  async ({ owner, app }: World): Promise<string> =>
    (await ok(owner.send('POST', path.replace(':app', app), body()))).id;

const subjects = {
  app: named('app', newApp),
  session: named('ses', async ({ owner }) => encodeId('ses', await openSession(owner))),
  member: named('acc', async ({ organisationId }) =>
    encodeId('acc', (await signIn(t, 'viewer', organisationId)).accountId),
  ),
  invite: named('inv', async ({ organisationId }) => {
    const { id } = await createInvite(t, { organisationId, email: `${randomUUID()}@shop.example`, role: 'viewer' });
    return encodeId('inv', id);
  }),
  operatorToken: named(
    'tok',
    made('/tokens', () => ({ name: randomUUID(), role: 'viewer' })),
  ),
  key: named(
    'key',
    made('/apps/:app/keys', () => ({ scope: 'server' })),
  ),
  usedKey: named('key', async ({ owner, app }) => {
    const { id, key } = await ok(owner.send('POST', `/apps/${app}/keys`, { scope: 'client' }));
    await ok(t.request('GET', '/v1/config', { key }));
    // An answer is noted when it has gone out, which its caller may see a moment before.
    await new Promise((resolve) => setImmediate(resolve));
    await t.service.requestLog.flush();
    return id;
  }),
  webhook: named('whk', async (world, { route }) => {
    // An app has few webhooks.
    const app = route.includes('/webhooks/:webhook') ? await newApp(world) : world.app;
    return made('/apps/:app/webhooks', () => ({ endpoint: `${receiver.endpoint}/${randomUUID()}` }))({ ...world, app });
  }),
  draft: named(
    'drf',
    made('/apps/:app/drafts', () => ({ message: {} })),
  ),
  template: named(
    'tpl',
    made('/apps/:app/templates', () => ({ name: randomUUID(), content })),
  ),
  message: named('msg', async ({ server }) => {
    const later = { audience: { all: true }, content, send_at: inDays(1) };
    return (await ok(server.post('/v1/messages', later))).id;
  }),
  device: named('dev', newDevice),
  segment: named(
    'seg',
    async ({ server }) => (await ok(server.post('/v1/segments', { name: randomUUID(), filter: german }))).id,
  ),
  user: {
    async make(world) {
      const externalId = `user-${randomUUID()}`;
      const profile = { external_id: externalId, first_name: world.canary, device_id: await newDevice(world) };
      await ok(world.server.post('/v1/users', profile));
      return externalId;
    },
    unknown: () => [`user-${randomUUID()}`],
  },
  property: {
    async make({ owner, app }) {
      const key = `k_${randomUUID()}`;
      await ok(owner.send('POST', `/apps/${app}/properties`, { key, type: 'string' }));
      return key;
    },
    unknown: () => [`k_${randomUUID()}`],
  },
  event: {
    async make({ server }) {
      const name = `event-${randomUUID()}`;
      await ok(server.post('/v1/events', { name, external_id: 'ada' }));
      return name;
    },
    unknown: () => [`event-${randomUUID()}`],
  },
  newDraft: {
    make: made('/apps/:app/drafts', () => ({ message: {} })),
    unknown: () => [encodeId('drf', mintUuid())],
    isChosen: true,
  },
  idempotencyKey: {
    async make({ owner, app }) {
      const key = randomUUID();
      const send = senderOf(t, { cookie: owner.cookie, 'idempotency-key': key });
      await ok(send('POST', `/apps/${app}/messages`, { audience: { all: true }, content, send_at: inDays(1) }));
      return key;
    },
    unknown: () => [randomUUID()],
  },
} satisfies Record<string, Subject>;

/**
 * The cursor of a list's second page. Another tenant's cursor counts as an altered one. A new person
 * reads each list, because a person has a limit of requests. Sessions belong to a person.
 */
async function cursorOf(world: World, { route }: IdPlace): Promise<string> {
  const isOfPerson = pathOf(route).startsWith('/sessions');
  const reader = isOfPerson ? world.owner : await signIn(t, 'owner', world.organisationId);
  const { next_cursor: cursor } = await ok(reader.send('GET', addressOf(route, world, 'limit=1')));
  expect(cursor, route).toEqual(expect.any(String));
  return cursor;
}
const cursorSubject: Subject = {
  make: cursorOf,
  async unknown(own, place) {
    const text = await cursorOf(own, place);
    return [`${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'A'}`];
  },
};

/** The subject of a text that a list is searched by. */
const searched: Readonly<Record<string, Subject>> = {
  '/team': subjects.member,
  '/tokens': subjects.operatorToken,
  '/apps': subjects.app,
  '/audit': subjects.webhook,
  '/apps/:app/keys': subjects.key,
  '/apps/:app/webhooks': subjects.webhook,
  '/apps/:app/audit': subjects.webhook,
  '/apps/:app/messages': subjects.message,
  '/apps/:app/drafts': subjects.draft,
  '/apps/:app/templates': subjects.template,
  '/apps/:app/devices': subjects.device,
  '/apps/:app/users': subjects.user,
  '/apps/:app/segments': subjects.segment,
  '/apps/:app/values': subjects.user,
  '/apps/:app/properties': subjects.property,
  '/apps/:app/events': subjects.event,
};

/** Subjects by the last name of a place. */
const byName: Readonly<Record<string, Subject>> = {
  app: subjects.app,
  session: subjects.session,
  member: subjects.member,
  invite: subjects.invite,
  token: subjects.operatorToken,
  key: subjects.key,
  webhook: subjects.webhook,
  draft: subjects.draft,
  template: subjects.template,
  name: subjects.event,
  cursor: cursorSubject,
  message_id: subjects.message,
  device_id: subjects.device,
  device_ids: subjects.device,
  external_id: subjects.user,
  external_ids: subjects.user,
  segment_id: subjects.segment,
  exclude_segment_id: subjects.segment,
  'Idempotency-Key': subjects.idempotencyKey,
};

const pathOf = (route: string): string => route.slice(route.indexOf(' ') + 1).replace('/console/api', '');

function subjectOf({ route, place }: IdPlace): Subject | undefined {
  const path = pathOf(route);
  if (place === 'query q') return searched[path];
  if (place === 'query key') return subjects.usedKey;
  if (place === 'body id') return subjects.newDraft;
  if (place === 'path id') {
    return path.includes('/messages/:id')
      ? subjects.message
      : path.includes('/devices/:id')
        ? subjects.device
        : path.includes('/segments/:id')
          ? subjects.segment
          : undefined;
  }
  if (place === 'path key' && path.includes('/properties/:key')) return subjects.property;
  return byName[place.split(/[ .]/).at(-1) ?? ''];
}

/** Places that look like ids and are none of ours. */
const isNoId = ({ place }: IdPlace): boolean =>
  /^path (?:channel|version)$|^body (?:key_id|team_id|bundle_id)$|\.(?:thread_id|target_content_id|channel_id)$/.test(
    place,
  );

/** Bodies that pass the checks of fields, so that the id is looked up. */
const bodies: Readonly<Record<string, () => object>> = {
  'PATCH /team/:member': () => ({ role: 'viewer', updated_at: inDays(0) }),
  'POST /keys/:key/rotate': () => ({ overlap_hours: 1 }),
  'PATCH /webhooks/:webhook': () => ({ events: [], updated_at: inDays(0) }),
  'POST /webhooks/:webhook/rotate': () => ({ dual: true }),
  'POST /webhooks/:webhook/replay': () => ({ from: inDays(-2), to: inDays(-1) }),
  'PUT /apps/:app/drafts/:draft': () => ({ name: 'Saved', message: {}, updated_at: inDays(0) }),
  'PUT /apps/:app/templates/:template': () => ({ name: 'Saved', content, updated_at: inDays(0) }),
  'PATCH /apps/:app/devices/:id': () => ({ locale: 'de-DE', updated_at: inDays(0) }),
  'PATCH /apps/:app/users/:external_id': () => ({ first_name: 'Ada', updated_at: inDays(0) }),
  'PATCH /apps/:app/segments/:id': () => ({ name: 'Renamed', updated_at: inDays(0) }),
  'PATCH /apps/:app/properties/:key': () => ({ type: 'number' }),
};

/** Parameters that a route needs beside the place. */
const queries: Readonly<Record<string, string>> = {
  '/apps/:app/values': 'field=external_id',
  '/apps/:app/reports/revenue': span,
  '/apps/:app/reports/engagement': span,
  '/apps/:app/explain': 'external_id=ada',
};

/** A field that no route takes: who is let in gets a 400, and changes and follows nothing. */
const unexpected = { unexpected: true };

/** The address of a route in the world's app, with its first objects. */
function addressOf(route: string, { app, first }: World, query = '', params: Record<string, string> = {}): string {
  const path = pathOf(route);
  const segments = path.split('/');
  const given = segments.map((segment, i) => {
    if (!segment.startsWith(':')) return segment;
    const name = segment.slice(1);
    const fixed: Record<string, string> = { app, channel: 'webpush', version: '1' };
    return encodeURIComponent(params[name] ?? fixed[name] ?? first[segments[i - 1] ?? ''] ?? 'none');
  });
  const needed = queries[path];
  return `${given.join('/')}?${[needed, query].filter(Boolean).join('&')}`;
}

/** The body with the id at a place of a request. */
async function bodyWith(route: string, place: string, id: string, { owner, app }: World): Promise<object> {
  const [field = ''] = place.split(' ').slice(1);
  switch (pathOf(route)) {
    case '/apps/:app/channels/:channel/test':
      return { device_id: id };
    case '/apps/:app/messages':
    case '/apps/:app/segments/preview': {
      const isPreview = route.includes('preview');
      const rest = isPreview ? {} : { content, dry_run: true };
      if (field === 'segment_id') return { segment_id: id };
      if (field === 'exclude_segment_id') {
        return { ...(isPreview ? { filter: german } : { audience: { all: true } }), exclude_segment_id: id, ...rest };
      }
      const selector = field.replace('audience.', '');
      return { audience: { [selector]: selector.endsWith('s') ? [id] : id }, ...rest };
    }
    case '/apps/:app/render':
      return { content, channel: 'webpush', [field]: id };
    case '/apps/:app/drafts':
      return { id, message: {} };
    case '/apps/:app/test-users': {
      const { updated_at } = await ok(owner.send('GET', `/apps/${app}/test-users`));
      return { users: [{ [field.replace('users[].', '')]: id }], updated_at };
    }
    default:
      throw new Error(`${route} has no body for ${place}`);
  }
}

/** Asks as a person of the world's organisation, with `id` at the place. */
async function ask({ route, place }: IdPlace, id: string, own: World, person: Person): Promise<Response> {
  const [method = ''] = route.split(' ');
  const path = pathOf(route);
  const [part, name = ''] = place.split(' ');
  if (place === 'path app') {
    const send = person.send;
    const address = addressOf(route, own, method === 'GET' ? 'unexpected=true' : '', { app: id });
    return method === 'GET' ? send(method, address) : send(method, address, unexpected);
  }
  if (part === 'header') {
    const send = senderOf(t, { cookie: person.cookie, [name.toLowerCase()]: id });
    return send(method, addressOf(route, own), { audience: { all: true }, content, send_at: inDays(1) });
  }
  if (part === 'query') {
    const isSubject = path === '/apps/:app/explain' && name !== 'message_id';
    const query = `${name}=${encodeURIComponent(id)}`;
    const address = addressOf(route, own, query);
    return person.send(method, isSubject ? address.replace('external_id=ada&', '') : address);
  }
  if (part === 'path') {
    return person.send(method, addressOf(route, own, '', { [name]: id }), bodies[`${method} ${path}`]?.());
  }
  return person.send(method, addressOf(route, own), await bodyWith(route, place, id, own));
}

const idPlaces = listIdPlaces({ description: 'console-openapi.json', searches: ['q', 'key'] }).filter(
  (place) => !isNoId(place),
);
const isOfApp = ({ route, place }: IdPlace): boolean => pathOf(route).startsWith('/apps/:app/') && place !== 'path app';

/**
 * The caller's own id where a new one would not do: the app, and a device that the message went to.
 */
function knownId({ route, place }: IdPlace, own: World): string | undefined {
  if (place === 'path app') return own.app;
  return place === 'query device_id' && route.endsWith('/deliveries') ? own.first['devices'] : undefined;
}

const noPlace: IdPlace = { route: '', place: '' };
let cells = 0;

describe('R-60 the isolation matrix of the console', () => {
  it('has a subject for every place that takes an id', () => {
    expect(idPlaces.filter((place) => subjectOf(place) === undefined)).toEqual([]);
    expect(idPlaces.length).toBeGreaterThan(150);
  });

  it.each([
    ["another organisation's", one, two, idPlaces],
    ["the first organisation's", two, one, idPlaces],
    ["another app's of the same organisation", one, sibling, idPlaces.filter(isOfApp)],
  ])(
    '%s id is answered like an unknown one in each place, and changes nothing there',
    async (_whose, own, other, places) => {
      // One of each kind is enough, because nothing may change it.
      const ofKind = new Map<Subject | undefined, string>();
      const foreign: string[] = [];
      for (const place of places) {
        const subject = subjectOf(place);
        const isOfPlace = subject === cursorSubject;
        const id =
          (isOfPlace ? undefined : ofKind.get(subject)) ?? (await subject?.make(other, isOfPlace ? place : noPlace));
        foreign.push(id ?? '');
        if (id !== undefined) ofKind.set(subject, id);
      }
      const contents = async (): Promise<string[]> => [
        await contentsOf(t, 'app_id', decodeId('app', other.app) ?? ''),
        ...(own.organisationId === other.organisationId ? [] : [await contentsOf(t, 'org_id', other.organisationId)]),
      ];
      const before = await contents();
      const told: unknown[] = [];
      const unread: string[] = [];
      for (const [i, place] of places.entries()) {
        const subject = subjectOf(place);
        if (!subject) throw new Error(`${place.route} ${place.place} has no subject`);
        const cell = `${place.route} ${place.place}`;
        const id = foreign[i] ?? '';
        // Sessions belong to a person. For all else a new one asks, because each has a limit of
        // requests.
        const isOfPerson = pathOf(place.route).startsWith('/sessions');
        const person = isOfPerson ? own.owner : await signIn(t, 'owner', own.organisationId);
        const answer = await ask(place, id, own, person);
        cells++;
        expect(answer.status, cell).toBeLessThan(500);
        expect(JSON.stringify(answer.body), cell).not.toContain(other.canary);
        for (const unknown of await subject.unknown(own, place)) {
          cells++;
          const answerOfUnknown = essence(await ask(place, unknown, own, person), unknown);
          if (!isDeepStrictEqual(answerOfUnknown, essence(answer, id))) told.push([cell, answer, answerOfUnknown]);
        }
        if (subject.isChosen) continue;
        // The place is read: an id of the caller's own is answered otherwise.
        cells++;
        const mine = knownId(place, own) ?? (await subject.make(own, place));
        const answerOfOwn = essence(await ask(place, mine, own, person), mine);
        if (isDeepStrictEqual(answerOfOwn, essence(answer, id))) unread.push(cell);
      }
      expect(told).toEqual([]);
      expect(unread).toEqual([]);
      expect(await contents()).toEqual(before);
      if (own !== two && other === sibling) {
        process.stdout.write(`R-60: ${idPlaces.length} places of the console, ${cells} cells\n`);
      }
    },
  );
});
