// Every place of every route that takes an id. Two tenants call each with an id of the other
// tenant, with unknown ids, and with texts that are no id. The places come from the API's
// description, and a place without a row here fails.
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { contentsOf } from '../contents.ts';
import { essence } from '../essence.ts';
import { listIdPlaces } from '../id-places.ts';
import { type Client, type Response, setup, type TestApp, unknownId } from '../setup.ts';

const t = await setup({ workers: false });

/** A tenant. Both are made the same way: texts may be equal, rows must not be shared. */
interface World {
  readonly app: TestApp;
  readonly server: Client;
  readonly client: Client;
  /** A text that only this tenant's rows contain. */
  readonly canary: string;
  readonly device: string;
  readonly message: string;
  readonly cursors: Readonly<Record<string, string>>;
}

const content = { title: 'Sale' };
const german = { field: 'country', op: 'eq', value: 'DE' };
const webDevice = () => ({ platform: 'web', token: t.pushSubscription() });
const daysFromNow = (days: number): string => new Date(t.clock.nowMs() + days * 86_400_000).toISOString();
const span = `from=${daysFromNow(-10)}&to=${daysFromNow(1)}`;
const reportOf = (name: string): string => `/v1/reports/${name}?${span}`;
const later = (): string => new Date(t.clock.nowMs() + 3_600_000).toISOString();

/** Lists with pages, by the place of their cursor. `message` is a message of the asking tenant. */
const lists: Readonly<Record<string, (message: string) => string>> = {
  'GET /v1/messages query cursor': () => '/v1/messages?limit=1',
  'GET /v1/messages/:id/deliveries query cursor': (message) => `/v1/messages/${message}/deliveries?limit=1`,
  'GET /v1/properties query cursor': () => '/v1/properties?limit=1',
  'GET /v1/segments query cursor': () => '/v1/segments?limit=1',
  'GET /v1/devices query cursor': () => '/v1/devices?limit=1',
  'GET /v1/reports/revenue query cursor': () => `${reportOf('revenue')}&limit=1`,
  'GET /v1/reports/engagement query cursor': () => `${reportOf('engagement')}&limit=1`,
};

async function makeWorld(canary: string): Promise<World> {
  const app = await t.newApp({ name: canary });
  const [server, client] = [t.clientOf(app.serverKey), t.clientOf(app.clientKey)];
  const device = await t.registerDevice({ model: canary }, app);
  await t.registerDevice({}, app);
  const profile = { first_name: canary, properties: { plan: canary, age: 7 } };
  await server.post('/v1/users', { external_id: 'ada', device_id: device, ...profile });
  const audience = { all: true };
  const { body: first } = await server.post('/v1/messages', { audience, content: { title: canary } });
  await server.post('/v1/messages', { audience, content: { title: canary } });
  for (const name of ['One', 'Two']) await server.post('/v1/segments', { name, filter: german });
  for (const currency of ['EUR', 'USD']) {
    const properties = { amount: 5, currency };
    await server.post('/v1/events', { name: 'purchase', id: `order-${currency}`, external_id: 'ada', properties });
  }
  const cursors: Record<string, string> = {};
  for (const [place, list] of Object.entries(lists)) {
    const { body } = await server.get(list(first.id));
    expect(body.next_cursor, place).toEqual(expect.any(String));
    cursors[place] = body.next_cursor;
  }
  return { app, server, client, canary, device, message: first.id, cursors };
}

const worlds = [await makeWorld('canary-one'), await makeWorld('canary-two')] as const;

/**
 * The kind of thing that an id names. `make` makes one that only this tenant has; `unknown` lists
 * unknown ids and texts that are no id.
 */
interface Subject {
  make(world: World, place: string): Promise<string> | string;
  unknown(own: World, place: string): readonly string[];
}

const device: Subject = {
  make: ({ app }) => t.registerDevice({}, app),
  unknown: () => [unknownId('dev'), 'dev_none'],
};
const message: Subject = {
  make: async ({ server }) =>
    (await server.post('/v1/messages', { audience: { all: true }, content, send_at: later() })).body.id,
  unknown: () => [unknownId('msg'), 'msg_none'],
};
const segment: Subject = {
  make: async ({ server }) => (await server.post('/v1/segments', { name: randomUUID(), filter: german })).body.id,
  unknown: () => [unknownId('seg'), 'seg_none'],
};
const user: Subject = {
  async make({ server, canary }) {
    const externalId = `user-${randomUUID()}`;
    await server.post('/v1/users', { external_id: externalId, first_name: canary });
    return externalId;
  },
  unknown: () => [`user-${randomUUID()}`],
};
const event: Subject = {
  async make({ server }) {
    const id = `event-${randomUUID()}`;
    await server.post('/v1/events', { name: 'purchase', id, external_id: 'ada', properties: { amount: 1 } });
    return id;
  },
  unknown: () => [`event-${randomUUID()}`],
};
const idempotencyKey: Subject = {
  async make({ server }) {
    const key = randomUUID();
    await server.post(
      '/v1/messages',
      { audience: { all: true }, content, send_at: later() },
      { 'idempotency-key': key },
    );
    return key;
  },
  unknown: () => [randomUUID()],
};
const token: Subject = {
  async make({ app }) {
    const text = JSON.stringify(t.pushSubscription());
    await t.registerDevice({ token: text }, app);
    return text;
  },
  unknown: () => [JSON.stringify(t.pushSubscription())],
};
/** Another tenant's cursor counts as an altered cursor. */
const cursor: Subject = {
  make: (world, place) => world.cursors[place] ?? '',
  unknown(own, place) {
    const text = own.cursors[place] ?? '';
    return [`${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'A'}`];
  },
};

interface Row {
  readonly subject: Subject;
  readonly ask: (caller: Client, id: string, own: World) => Promise<Response>;
  /** Whether client keys may call it, too. */
  readonly isOpen?: true;
}

const rows: Readonly<Record<string, Row>> = {
  'POST /v1/messages header Idempotency-Key': {
    subject: idempotencyKey,
    ask: (caller, key) =>
      caller.post('/v1/messages', { audience: { all: true }, content, send_at: later() }, { 'idempotency-key': key }),
  },
  ...audienceRows('POST /v1/messages', (caller, body) =>
    caller.post('/v1/messages', { audience: { all: true }, ...body, content, dry_run: true }),
  ),
  'GET /v1/messages/:id path id': { subject: message, ask: (caller, id) => caller.get(`/v1/messages/${id}`) },
  'POST /v1/messages/:id/cancel path id': {
    subject: message,
    ask: (caller, id) => caller.post(`/v1/messages/${id}/cancel`),
  },
  'GET /v1/messages/:id/deliveries path id': {
    subject: message,
    ask: (caller, id) => caller.get(`/v1/messages/${id}/deliveries`),
  },
  'GET /v1/messages/:id/deliveries query device_id': {
    subject: device,
    ask: (caller, id, own) => caller.get(`/v1/messages/${own.message}/deliveries?device_id=${id}`),
  },
  'GET /v1/explain query message_id': {
    subject: message,
    ask: (caller, id) => caller.get(`/v1/explain?external_id=ada&message_id=${id}`),
  },
  'GET /v1/explain query external_id': {
    subject: user,
    ask: (caller, id) => caller.get(`/v1/explain?external_id=${id}`),
  },
  'GET /v1/explain query device_id': {
    subject: device,
    ask: (caller, id) => caller.get(`/v1/explain?device_id=${id}`),
  },
  'POST /v1/users body external_id': {
    subject: user,
    ask: (caller, id) => caller.post('/v1/users', { external_id: id, properties: { plan: 'x' } }),
  },
  'POST /v1/users body device_id': {
    subject: device,
    ask: (caller, id) => caller.post('/v1/users', { external_id: 'never', device_id: id }),
  },
  'GET /v1/users/:external_id path external_id': {
    subject: user,
    ask: (caller, id) => caller.get(`/v1/users/${id}`),
  },
  'DELETE /v1/users/:external_id path external_id': {
    subject: user,
    ask: (caller, id) => caller.delete(`/v1/users/${id}`),
  },
  'POST /v1/identify body device_id': {
    subject: device,
    ask: (caller, id) => caller.post('/v1/identify', { device_id: id, external_id: 'never' }),
    isOpen: true,
  },
  'POST /v1/identify body external_id': {
    subject: user,
    ask: async (caller, id, { app }) =>
      caller.post('/v1/identify', { device_id: await t.registerDevice({}, app), external_id: id }),
    isOpen: true,
  },
  ...audienceRows('POST /v1/segments/preview', (caller, body) =>
    caller.post('/v1/segments/preview', 'audience' in body ? body : { filter: german, ...body }),
  ),
  'POST /v1/segments/preview body segment_id': {
    subject: segment,
    ask: (caller, id) => caller.post('/v1/segments/preview', { segment_id: id }),
  },
  'GET /v1/segments/:id path id': { subject: segment, ask: (caller, id) => caller.get(`/v1/segments/${id}`) },
  'PUT /v1/segments/:id path id': {
    subject: segment,
    ask: (caller, id) => caller.put(`/v1/segments/${id}`, { name: 'Another', filter: german }),
  },
  'DELETE /v1/segments/:id path id': { subject: segment, ask: (caller, id) => caller.delete(`/v1/segments/${id}`) },
  // registering the token of another tenant's device makes a device of the caller's own.
  'POST /v1/devices body token': {
    subject: token,
    ask: (caller, text) => caller.post('/v1/devices', { platform: 'web', token: text }),
    isOpen: true,
  },
  'POST /v1/devices body device_id': {
    subject: device,
    ask: (caller, id) => caller.post('/v1/devices', { ...webDevice(), device_id: id }),
    isOpen: true,
  },
  'GET /v1/devices query external_id': {
    subject: user,
    ask: (caller, id) => caller.get(`/v1/devices?external_id=${id}`),
  },
  'DELETE /v1/devices/:id path id': {
    subject: device,
    ask: (caller, id) => caller.delete(`/v1/devices/${id}`),
    isOpen: true,
  },
  ...Object.fromEntries(
    (['', 'events[].'] as const).flatMap((within) => {
      const track = (caller: Client, fields: object): Promise<Response> =>
        caller.post('/v1/events', within === '' ? fields : { events: [{ name: 'opened' }, fields] });
      const row = (name: string, subject: Subject, fieldsOf: (id: string, own: World) => object) => [
        `POST /v1/events body ${within}${name}`,
        { subject, ask: (caller: Client, id: string, own: World) => track(caller, fieldsOf(id, own)), isOpen: true },
      ];
      return [
        row('device_id', device, (id) => ({ name: 'opened', device_id: id })),
        row('external_id', user, (id) => ({ name: 'opened', external_id: id })),
        row('id', event, (id, own) => ({ name: 'opened', id, device_id: own.device })),
      ];
    }),
  ),
  'GET /v1/reports/revenue query message_id': {
    subject: message,
    ask: (caller, id) => caller.get(`${reportOf('revenue')}&message_id=${id}`),
  },
  'GET /v1/reports/revenue query segment_id': {
    subject: segment,
    ask: (caller, id) => caller.get(`${reportOf('revenue')}&segment_id=${id}`),
  },
  ...Object.fromEntries(
    Object.entries(lists).map(([place, list]) => [
      place,
      {
        subject: cursor,
        ask: (caller: Client, text: string, own: World) => caller.get(`${list(own.message)}&cursor=${text}`),
      },
    ]),
  ),
};

/** The five selectors of an audience, and the excluded segment. */
function audienceRows(
  route: string,
  ask: (caller: Client, body: Record<string, unknown>) => Promise<Response>,
): Record<string, Row> {
  const places: readonly (readonly [string, Subject, (id: string) => Record<string, unknown>])[] = [
    ['audience.device_ids', device, (id) => ({ audience: { device_ids: [id] } })],
    ['audience.external_ids', user, (id) => ({ audience: { external_ids: [id] } })],
    ['audience.segment_id', segment, (id) => ({ audience: { segment_id: id } })],
    ['exclude_segment_id', segment, (id) => ({ exclude_segment_id: id })],
  ];
  return Object.fromEntries(
    places.map(([place, subject, bodyOf]) => [
      `${route} body ${place}`,
      { subject, ask: (caller: Client, id: string) => ask(caller, bodyOf(id)) },
    ]),
  );
}

/** Fields that look like ids and are none of ours, with the reason. */
const noIds: Readonly<Record<string, string>> = {
  'POST /v1/messages body content.apns.thread_id': 'a word of the app on the phone',
  'POST /v1/messages body content.apns.target_content_id': 'a word of the app on the phone',
  'POST /v1/messages body content.fcm.channel_id': 'a word of the app on the phone',
  'POST /v1/receipts body token': 'its bearer needs no key and has no tenant: forged-receipts.test.ts',
  'GET /v1/r/:token path token': 'as above',
};

const idPlaces = listIdPlaces({ description: 'openapi.json' });
const keysOf = (isOpen?: true) => (isOpen ? (['server', 'client'] as const) : (['server'] as const));

describe('R-60 the isolation matrix', () => {
  it('has a row for every place that takes an id, and no other row', () => {
    const places = idPlaces.map(({ route, place }) => `${route} ${place}`);
    expect([...Object.keys(rows), ...Object.keys(noIds)].sort()).toEqual(places.sort());
  });

  it('only described paths have places: all others lead to files', () => {
    const described = new Set(idPlaces.map(({ route }) => route));
    const others = t.service.routes
      .filter(({ path, method }) => path.includes(':') && !described.has(`${method} ${path}`))
      .map(({ path }) => path);
    expect(others).toEqual(['/demo/:file']);
  });

  const title = "in each place the other tenant's id is answered like an unknown one, and changes nothing there";
  it(title, async () => {
    let cells = 0;
    for (const [own, other] of [worlds, [worlds[1], worlds[0]]] as const) {
      // All ids are made before the first request; after that nothing of the other tenant may
      // change.
      const foreign = new Map<string, string>();
      for (const [place, { subject, isOpen }] of Object.entries(rows)) {
        for (const key of keysOf(isOpen)) foreign.set(`${place}, ${key} key`, await subject.make(other, place));
      }
      const before = await contentsOf(t, 'app_id', other.app.id);
      for (const [place, { subject, ask, isOpen }] of Object.entries(rows)) {
        for (const key of keysOf(isOpen)) {
          const cell = `${place}, ${key} key`;
          const id = foreign.get(cell) ?? '';
          const answer = await ask(own[key], id, own);
          cells++;
          expect(answer.status, cell).toBeLessThan(500);
          expect(JSON.stringify(answer.body), cell).not.toContain(other.canary);
          for (const unknown of subject.unknown(own, place)) {
            cells++;
            expect(essence(await ask(own[key], unknown, own), unknown), cell).toEqual(essence(answer, id));
          }
        }
      }
      expect(await contentsOf(t, 'app_id', other.app.id)).toBe(before);
    }
    process.stdout.write(`R-60: ${Object.keys(rows).length} places, ${cells} cells\n`);
    expect(cells).toBeGreaterThan(4 * Object.keys(rows).length);
  });
});
