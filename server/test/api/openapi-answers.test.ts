// Compares real answers of every operation with the description, at least one for each promised
// status.

import { beforeAll, describe, expect, it } from 'vitest';
import { createDatabaseGate } from '../../../packages/postgres/test/database-gate.ts';
import { errorsOf } from '../../src/ground/openapi/operation.ts';
import { v1 } from '../../src/ground/openapi/v1.ts';
import { createSeal } from '../../src/ground/secrets/seal.ts';
import { apiRoutes } from '../../src/operation/process/api-routes.ts';
import { rotateIdentifySecret } from '../../src/teams/apps/identify-secrets.ts';
import { updateAppSuspension } from '../../src/teams/apps/queries.ts';
import { type Call, readDescription } from '../api-description.ts';
import { receiptTokenOf } from '../receipt-tokens.ts';
import { setup, type TestApp, unknownId } from '../setup.ts';

const gate = createDatabaseGate();
const t = await setup({ environment: { SEND_WAIT_MS: '500' }, reachDatabase: gate.reach });
const { operations, ask, seen, errors } = await readDescription(t);
/** Answers of a service that has no room for any request. */
const shed = new Set<string>();
const shedErrors = new Set<string>();

const content = { title: 'Sale', body: 'Now on', url: 'https://shop.example/sale' };

const rich = {
  ...content,
  data: { campaign: 'autumn', discount: 20 },
  locales: { de: { title: 'Ausverkauf' }, 'pt-br': { body: null } },
  webpush: { actions: [{ action: 'open', title: 'Open' }], badge: null },
};

/** A call that succeeds, for each operation. */
const valid: Record<string, Call> = {};
/** Calls with a token of their own, so that their limit leaves the token of `valid` alone. */
const calls429: Record<string, Call> = {};
let suspended: TestApp;

beforeAll(async () => {
  const [device, other] = [await t.registerDevice(), await t.registerDevice()];
  const { body } = await t.server.post('/v1/messages', { audience: { device_ids: [device, other] }, content });
  const token = await receiptTokenOf(t, body.id, device);
  const otherToken = await receiptTokenOf(t, body.id, other);
  Object.assign(calls429, {
    recordReceipt: { body: { token: otherToken, event: 'displayed' } },
    openLink: { in: { token: otherToken } },
  } satisfies Record<string, Call>);
  const later = { audience: { all: true }, content, send_at: new Date(t.clock.nowMs() + 3_600_000).toISOString() };
  const toCancel = await t.server.post('/v1/messages', later);
  await t.server.post('/v1/users', { external_id: 'u-42' });
  const german = { field: 'country', op: 'eq', value: 'DE' };
  const segment = async (name: string): Promise<string> =>
    (await t.server.post('/v1/segments', { name, filter: german })).body.id;
  const kept = await segment('kept');
  const day = (days: number): string => new Date(t.clock.nowMs() + days * 86_400_000).toISOString();
  const month = `from=${day(-15)}&to=${day(15)}`;
  let segments = 0;
  const made = {
    createSegment: {
      // A new name for each call, because a name can be taken only once.
      get body() {
        return { name: `segment ${++segments}`, filter: german };
      },
    },
  };
  Object.defineProperties(valid, Object.getOwnPropertyDescriptors(made));
  Object.assign(valid, {
    sendMessage: { body: { audience: { all: true }, content, dry_run: true } },
    listMessages: {},
    getMessage: { in: { id: body.id } },
    explain: { query: '?external_id=u-42' },
    cancelMessage: { in: { id: toCancel.body.id } },
    listDeliveries: { in: { id: body.id } },
    upsertUser: { body: { external_id: 'u-42' } },
    getUser: { in: { external_id: 'u-42' } },
    deleteUser: { in: { external_id: 'u-42' } },
    listProperties: {},
    previewAudience: { body: { audience: { all: true } } },
    listSegments: {},
    getSegment: { in: { id: kept } },
    replaceSegment: { in: { id: kept }, body: { name: 'kept', description: 'x', filter: { not: german } } },
    deleteSegment: { in: { id: await segment('gone') } },
    identifyDevice: { body: { device_id: device, external_id: 'u-43' } },
    registerDevice: { body: { platform: 'web', token: t.pushSubscription() } },
    listDevices: {},
    optOutDevice: { in: { id: await t.registerDevice() } },
    trackEvents: { body: { name: 'article_read', properties: { section: 'news' } } },
    reportRevenue: { query: `?${month}&group=week` },
    reportEngagement: { query: `?${month}&limit=1` },
    reportDevices: { query: `?${month}` },
    reportEvents: { query: `?${month}&group=month` },
    recordReceipt: { body: { token, event: 'displayed' } },
    openLink: { in: { token } },
    getConfig: {},
    listChannels: {},
    getDescription: {},
    getConsoleDescription: {},
    getHealth: {},
    getReadiness: {},
  } satisfies Record<string, Call>);
  suspended = await t.newApp({ name: 'Suspended' });
  await updateAppSuspension(t.sql, t.clock, suspended.id, true);
});

describe('real answers are as described', () => {
  it('a message that was sent to one device, failed for one and skipped one; its replay, receipts and timeline', async () => {
    const key = { 'idempotency-key': 'sale-1' };
    t.push.script('gone', (_request, response) => {
      response.writeHead(410, { 'content-type': 'text/plain' });
      response.end('Gone');
    });
    const reached = await t.registerDevice();
    const missed = await t.registerDevice({ token: t.pushSubscription('gone') });
    const skipped = await t.registerDevice({ platform: 'ios', token: 'ab'.repeat(32) });
    await ask('upsertUser', { body: { external_id: 'u-1', device_id: reached } });
    const body = {
      audience: { device_ids: [reached, missed, skipped] },
      content: rich,
      name: 'Autumn',
      metadata: { a: 1 },
    };
    const sent = await ask('sendMessage', { body, headers: key });
    expect(sent.body.report).toEqual({ accepted: 3, sent: 1, failed: 1, skipped: 1 });
    const again = await ask('sendMessage', { body, headers: key });
    expect(again.body).toMatchObject({ id: sent.body.id, replayed: true });
    const token = await receiptTokenOf(t, sent.body.id, reached);
    for (const event of ['displayed', 'clicked', 'dismissed']) await ask('recordReceipt', { body: { token, event } });
    const timeline = await ask('listDeliveries', { in: { id: sent.body.id } });
    expect(timeline.body.data).toHaveLength(3);
    await ask('getMessage', { in: { id: sent.body.id } });
  });

  it('a scheduled message, its replay, its state before it runs, and its cancellation', async () => {
    const headers = { 'idempotency-key': 'later' };
    const send_at = new Date(t.clock.nowMs() + 3_600_000).toISOString();
    const body = { audience: { all: true }, content, send_at };
    const scheduled = await ask('sendMessage', { body, headers });
    expect(scheduled.body).toMatchObject({ status: 'scheduled', run_at: send_at });
    expect((await ask('sendMessage', { body, headers })).body).toEqual({ ...scheduled.body, replayed: true });
    expect((await ask('getMessage', { in: { id: scheduled.body.id } })).body.status).toBe('scheduled');
    await ask('listMessages', { query: '?status=scheduled' });
    const canceled = await ask('cancelMessage', { in: { id: scheduled.body.id } });
    expect(canceled.body.status).toBe('canceled');
  });

  it('a message that waits for a retry, and a dry run with warnings', async () => {
    t.push.script('busy', (_request, response) => {
      response.writeHead(503, { 'retry-after': '30' });
      response.end();
    });
    const waiting = await t.registerDevice({ token: t.pushSubscription('busy') });
    const pending = await ask('sendMessage', { body: { audience: { device_ids: [waiting] }, content } });
    expect(pending.body.report).toEqual({ accepted: 1, sent: 0, failed: 0, skipped: 0, pending: 1 });
    await ask('listDeliveries', { in: { id: pending.body.id }, query: '?status=retrying&limit=1' });

    const app = await t.newApp({ plan: 'free', channels: false });
    await t.registerDevice({}, app);
    const dry = {
      audience: { all: true },
      content: { title: 'x'.repeat(1000), body: 'x'.repeat(4000) },
      dry_run: true,
    };
    const run = await ask('sendMessage', { key: app.serverKey, body: dry });
    expect(run.body.warnings.map(({ code }: { code: string }) => code)).toEqual([
      'channel_not_configured',
      'large_payload',
    ]);
  });

  it('devices and users with every field, for both kinds of keys, in pages', async () => {
    const facts = { locale: 'de-DE', timezone: 'Europe/Berlin', app_version: '4.2.0', sdk: 'web 1', os: 'Windows' };
    const body = {
      platform: 'ios',
      token: 'cd'.repeat(32),
      ...facts,
      os_version: '11',
      model: 'x',
      environment: 'sandbox',
    };
    const device = await ask('registerDevice', { body: { ...body, properties: { topic: 'sport', age: 30 } } });
    await ask('registerDevice', { key: t.app.clientKey, body: { ...body, properties: { age: 'x' } } });
    const profile = { first_name: 'Ada', country: 'de', language: 'de', timezone: 'Europe/Berlin' };
    const user = await ask('upsertUser', {
      body: {
        external_id: 'Ä/2',
        ...profile,
        properties: { age: '31', plan: 'pro', vip: true },
        device_id: device.body.id,
      },
    });
    expect(user.body.property_conflicts).toHaveLength(1);
    await ask('getUser', { in: { external_id: 'Ä/2' } });
    const first = await ask('listDevices', { query: '?limit=1' });
    await ask('listDevices', { query: `?limit=1&cursor=${first.body.next_cursor}` });
    await ask('listProperties', { query: '?limit=1' });
    await ask('listMessages', { query: '?limit=1&status=sent' });
    await ask('getConfig', { key: t.app.clientKey });
  });

  it('every operation can succeed', async () => {
    expect(Object.keys(valid).sort()).toEqual(operations.map(({ operationId }) => operationId).sort());
    for (const [id, call] of Object.entries(valid)) {
      const { status } = await ask(id, call);
      expect({ id, status }).toEqual({ id, status: id === 'openLink' ? 302 : 200 });
    }
    await t.server.post('/v1/users', { external_id: 'u-42' });
  });

  it('query parameters accept what their schemas describe', async () => {
    const asked = [];
    for (const { operationId: id, parameters = [] } of operations) {
      for (const { name, in: where, schema } of parameters) {
        const { enum: values, minimum, maximum } = schema as { enum?: string[]; minimum?: number; maximum?: number };
        if (where !== 'query' || !(values || maximum)) continue;
        const taken = values ?? [minimum, maximum];
        const refused = values ? [`${values[0]}s`] : [Number(minimum) - 1, Number(maximum) + 1, 'x'];
        for (const value of taken) asked.push({ id, query: `?${name}=${value}`, isTaken: true });
        for (const value of refused) asked.push({ id, query: `?${name}=${value}`, isTaken: false });
      }
    }
    expect(asked.length).toBeGreaterThan(40);
    for (const { id, query, isTaken } of asked) {
      // Added to the parameters that the operation needs.
      const needed = new URLSearchParams(valid[id]?.query);
      for (const [name, value] of new URLSearchParams(query)) needed.set(name, value);
      const { status } = await ask(id, { ...valid[id], query: `?${needed}` });
      expect({ id, query, status }).toEqual({ id, query, status: isTaken ? 200 : 400 });
    }
  });

  it('400: an unknown query parameter, or headers that are too large', async () => {
    for (const { operationId: id, path } of operations) {
      const isDescription = id === 'getDescription' || id === 'getConsoleDescription';
      const takesAnyQuery = !path.startsWith('/v1/') ? !isDescription : id === 'openLink';
      const wrong = takesAnyQuery ? { headers: { 'x-long': 'x'.repeat(17_000) } } : { query: '?nonsense=1' };
      expect({ id, status: (await ask(id, { ...valid[id], ...wrong })).status }).toEqual({ id, status: 400 });
    }
  });

  it('401 and 403: exactly on the routes that need a key, and a server key', async () => {
    for (const { operationId: id, security } of operations) {
      const isKeyed = security.length > 0;
      const isForServers = isKeyed && security.every((requirement) => !('clientKey' in requirement));
      for (const [key, refused, status] of [
        [null, isKeyed, 401],
        [t.app.clientKey, isForServers, 403],
        [suspended.serverKey, isKeyed, 403],
      ] as const) {
        const answer = await ask(id, { ...valid[id], key, ...(!refused && { query: '?nonsense=1' }) });
        expect({ id, isRefused: answer.status === status }).toEqual({ id, isRefused: refused });
      }
    }
  });

  it('403: a proof of identity that is missing', async () => {
    const app = await t.newApp();
    await rotateIdentifySecret({ ...t, seal: createSeal(t.masterKey) }, app.id);
    const body = { device_id: await t.registerDevice({}, app), external_id: 'u-1' };
    const refused = await ask('identifyDevice', { key: app.clientKey, body });
    expect(refused).toMatchObject({ status: 403, body: { error: 'identity_check_failed' } });
  });

  it('404 and 429', async () => {
    const token = 'A'.repeat(47);
    const unknown: Record<string, Call> = {
      getMessage: { in: { id: unknownId('msg') } },
      explain: { query: `?external_id=u-42&message_id=${unknownId('msg')}` },
      cancelMessage: { in: { id: unknownId('msg') } },
      listDeliveries: { in: { id: 'msg_x' } },
      upsertUser: { body: { external_id: 'u-3', device_id: unknownId('dev') } },
      getUser: { in: { external_id: 'nobody' } },
      deleteUser: { in: { external_id: 'nobody' } },
      registerDevice: { body: { platform: 'web', token: t.pushSubscription(), device_id: unknownId('dev') } },
      identifyDevice: { body: { device_id: unknownId('dev'), external_id: 'u-3' } },
      optOutDevice: { in: { id: unknownId('dev') } },
      trackEvents: { body: { events: [{ name: 'a', device_id: unknownId('dev') }] } },
      previewAudience: { body: { segment_id: unknownId('seg') } },
      reportRevenue: { query: `${valid['reportRevenue']?.query}&segment_id=${unknownId('seg')}` },
      getSegment: { in: { id: unknownId('seg') } },
      replaceSegment: { in: { id: unknownId('seg') }, body: { name: 'x', filter: { event: 'x' } } },
      deleteSegment: { in: { id: 'seg_x' } },
      sendMessage: { body: { audience: { segment_id: unknownId('seg') }, content } },
      recordReceipt: { body: { token, event: 'clicked' } },
      openLink: { in: { token } },
    };
    for (const [id, call] of Object.entries(unknown)) expect((await ask(id, call)).status).toBe(404);
    const app = await t.newApp({ plan: 'free' });
    await t.registerDevice({}, app);
    await t.sql`INSERT INTO usage (app_id, month, used) VALUES (${app.id}, date_trunc('month', now()), 10000)`;
    const refused = await ask('sendMessage', { key: app.serverKey, body: { audience: { all: true }, content } });
    expect(refused.body.error).toBe('quota_exceeded');
  });

  it('429: above the limit of a key, an address or a token', async () => {
    const app = await t.newApp({ plan: 'free' });
    for (const { operationId: id, responses, security } of operations) {
      if (!responses[429]) continue;
      const key = security.length > 0 ? app.serverKey : null;
      const call = { ...(calls429[id] ?? valid[id]), key };
      let answer = await ask(id, call);
      while (answer.status !== 429) answer = await ask(id, call);
      expect(answer.body.error).toBe('rate_limited');
    }
  });

  it('500 and 503: a fault of the service, and an unreachable database', async () => {
    // Only a key that was not used before is looked up.
    const unseen = await Promise.all([t.newApp(), t.newApp()]);
    await t.sql`ALTER TABLE keys RENAME TO keys_gone`;
    const fault = await ask('listMessages', { key: unseen[0].serverKey });
    expect(fault.status).toBe(500);
    await t.sql`ALTER TABLE keys_gone RENAME TO keys`;

    t.service.leave();
    await gate.shut();
    for (const operation of operations) {
      // The list of channels needs no database.
      if (!operation.responses[503] || operation.operationId === 'listChannels') continue;
      const { operationId: id, security } = operation;
      const key = security.length > 0 ? unseen[1].serverKey : null;
      expect({ id, status: (await ask(id, { ...valid[id], key })).status }).toEqual({ id, status: 503 });
    }
  });

  it('503: more concurrent requests than one process accepts', async () => {
    const busy = await setup({ workers: false, http: { doorLimits: { devices: 0, servers: 0 } } });
    const description = await readDescription(busy);
    for (const { operationId: id, path } of description.operations) {
      const { status } = await description.ask(id, { ...valid[id], query: '' });
      expect({ id, isShed: status === 503 }).toEqual({ id, isShed: path.startsWith('/v1/') });
    }
    for (const one of description.seen) shed.add(one);
    for (const one of description.errors) shedErrors.add(one);
  });

  it('every promised status was tested, except 500, which no request can cause', () => {
    const promised = operations.flatMap(({ operationId, responses }) =>
      Object.keys(responses).map((status) => `${operationId} ${status}`),
    );
    expect(promised.filter((one) => !one.endsWith(' 500') && !seen.has(one) && !shed.has(one))).toEqual([]);
  });

  it('answers the errors that a route names, and no other', () => {
    const answered = [...errors, ...shedErrors];
    const named = apiRoutes.flatMap((route) => errorsOf(route, v1).map((code) => `${route.id} ${code}`));
    expect(answered.filter((one) => !named.includes(one))).toEqual([]);
    const ownToRoutes = apiRoutes.flatMap(({ id, refusals = [] }) => refusals.map((code) => `${id} ${code}`));
    expect(ownToRoutes.filter((one) => !answered.includes(one))).toEqual([]);
  });
});
