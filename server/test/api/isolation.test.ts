import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Client, type Response, setup, type TestApp, unknownId } from '../setup.ts';

const t = await setup();

/**
 * An app with one of everything. Both apps are made the same way: texts may be equal, rows must not
 * be shared.
 */
interface World {
  readonly app: TestApp;
  readonly server: Client;
  readonly client: Client;
  readonly device: string;
  readonly messages: readonly string[];
  /** A property value and a name that only this app has. */
  readonly canary: string;
  readonly cursors: Readonly<Record<'messages' | 'devices' | 'deliveries' | 'properties' | 'segments', string>>;
  readonly segment: string;
}

async function makeWorld(canary: string): Promise<World> {
  const app = await t.newApp({ name: canary });
  const [server, client] = [t.clientOf(app.serverKey), t.clientOf(app.clientKey)];
  const device = await t.registerDevice({ token: t.pushSubscription(`push-${canary}`) }, app);
  await t.registerDevice({ model: canary }, app);
  const profile = { external_id: 'ada', first_name: canary, device_id: device, properties: { plan: canary, age: 7 } };
  await server.post('/v1/users', profile);
  const messages: string[] = [];
  for (let i = 0; i < 2; i++) {
    const request = { audience: { all: true }, content: { title: canary }, name: canary };
    messages.push((await server.post('/v1/messages', request, { 'idempotency-key': `sale-${i}` })).body.id);
  }
  const filter = { field: 'first_name', op: 'eq', value: canary };
  await server.post('/v1/segments', { name: 'Another', filter });
  const { body: segment } = await server.post('/v1/segments', { name: 'All of us', filter });
  const cursorOf = async (path: string): Promise<string> => (await server.get(path)).body.next_cursor;
  const cursors = {
    messages: await cursorOf('/v1/messages?limit=1'),
    devices: await cursorOf('/v1/devices?limit=1'),
    deliveries: await cursorOf(`/v1/messages/${messages[0]}/deliveries?limit=1`),
    properties: await cursorOf('/v1/properties?limit=1'),
    segments: await cursorOf('/v1/segments?limit=1'),
  };
  return { app, server, client, device, messages, canary, cursors, segment: segment.id };
}

const mine = await makeWorld('canary-mine');
const theirs = await makeWorld('canary-theirs');

/**
 * The parts of an answer that must be equal: status, headers and body, without what differs in each
 * request.
 */
function essence({ status, headers, body }: Response): unknown {
  const {
    'x-request-id': _id,
    date: _date,
    'keep-alive': _alive,
    connection: _connection,
    ...rest
  } = Object.fromEntries(headers);
  return { status, headers: rest, body: { ...body, request_id: undefined } };
}

describe("R-60 another app's object gives exactly the answer of a missing one", () => {
  // isolation-matrix.test.ts tries every place that takes an id. This file tests sent audiences and
  // lists.
  const content = { title: 'Sale' };

  it("in an audience another app's id is ignored, and counted like an unknown one", async () => {
    const reached = async (audience: Record<string, unknown>) => {
      const { body } = await mine.server.post('/v1/messages', { audience, content });
      const { audience_unmatched: unmatched } = (await mine.server.get(`/v1/messages/${body.id}`)).body;
      return { ...body.report, unmatched };
    };
    await theirs.server.post('/v1/users', { external_id: 'only-theirs', device_id: theirs.device });
    const before = t.push.requestsOf('push-canary-theirs').length;
    for (const id of [theirs.device, unknownId('dev')]) {
      expect(await reached({ device_ids: [mine.device, id] })).toEqual({
        accepted: 1,
        sent: 1,
        failed: 0,
        skipped: 0,
        unmatched: 1,
      });
    }
    for (const id of ['only-theirs', 'nobody']) {
      expect(await reached({ external_ids: ['ada', id] })).toMatchObject({ accepted: 1, unmatched: 1 });
    }
    expect(await reached({ all: true })).toMatchObject({ accepted: 2 });
    expect(t.push.requestsOf('push-canary-theirs')).toHaveLength(before);
  });

  it.each(Object.keys(mine.cursors) as (keyof World['cursors'])[])(
    'a cursor of the other app over %s counts as altered',
    async (list) => {
      const path = list === 'deliveries' ? `/v1/messages/${mine.messages[0]}/deliveries` : `/v1/${list}`;
      const own = mine.cursors[list];
      const altered = `${own.slice(0, -1)}${own.endsWith('A') ? 'B' : 'A'}`;
      const answer = await mine.server.get(`${path}?cursor=${theirs.cursors[list]}`);
      expect(answer.status).toBe(400);
      expect(essence(answer)).toEqual(essence(await mine.server.get(`${path}?cursor=${altered}`)));
      expect((await mine.server.get(`${path}?cursor=${own}`)).status).toBe(200);
    },
  );

  it('an Idempotency-Key of the other app has no effect here, even for another request', async () => {
    const request = { audience: { device_ids: ['x'] }, content: { title: 'Another request' } };
    await theirs.server.post('/v1/messages', request, { 'idempotency-key': 'taken-by-them' });
    const { status, body } = await mine.server.post(
      '/v1/messages',
      { ...request, name: 'Ours' },
      { 'idempotency-key': 'taken-by-them' },
    );
    expect([status, body.replayed]).toEqual([200, false]);
  });

  it('none of these requests changed the other app', async () => {
    const { body: device } = await theirs.server.get('/v1/devices?external_id=only-theirs');
    expect(device.data).toMatchObject([{ id: theirs.device, status: 'active' }]);
    expect((await theirs.server.get(`/v1/messages/${theirs.messages[0]}`)).body).toMatchObject({ status: 'sent' });
    expect((await mine.server.get('/v1/users/never')).status).toBe(404);
  });
});

describe('R-60 no list, page or object shows a row of another app', () => {
  const lists = [
    '/v1/messages',
    '/v1/messages?status=sent',
    '/v1/devices',
    '/v1/devices?platform=web&status=active',
    '/v1/devices?external_id=ada',
    '/v1/properties',
    '/v1/segments',
    '/v1/users/ada',
    '/v1/config',
  ];

  it.each(lists)('%s', async (path) => {
    for (const [own, other] of [
      [mine, theirs],
      [theirs, mine],
    ] as const) {
      const { status, body } = await own.server.get(path);
      expect(status).toBe(200);
      const text = JSON.stringify(body);
      const strange = [other.canary, other.device, other.segment, other.app.vapidPublicKey, ...other.messages];
      expect(strange.filter((word) => text.includes(word))).toEqual([]);
    }
  });

  it('the same external id and the same property in two apps are two users and two properties', async () => {
    for (const own of [mine, theirs]) {
      const { body: user } = await own.server.get('/v1/users/ada');
      expect(user).toMatchObject({ first_name: own.canary, properties: { plan: own.canary } });
      const { body: catalog } = await own.server.get('/v1/properties');
      expect(catalog.data.find(({ key }: { key: string }) => key === 'plan').samples).toEqual([own.canary]);
    }
    await mine.server.delete('/v1/users/ada');
    expect((await theirs.server.get('/v1/users/ada')).body).toMatchObject({ first_name: theirs.canary });
  });
});

describe('R-61 apps are separate in the database', () => {
  /** Tables with another key, with the reason. */
  const exceptions: Readonly<Record<string, string>> = {
    apps: 'its id is the app',
    organisations: 'apps belong to it',
    members: 'people belong to an organisation, which has the apps',
    accounts: 'of a person, who belongs to an organisation',
    account_logins: 'of a person',
    account_sessions: 'of a person',
    second_factors: 'of a person',
    login_steps: 'of a person who signs in',
    login_failures: 'by the address of a person, or by network',
    account_links: 'of an organisation, or of a person',
    operator_tokens: 'of an organisation',
    instance: 'one row for the service',
    event_retention: 'one row for the service',
    locale_passes: 'a row for each pass over the devices of all apps',
    lookouts: 'one row for the service',
    provider_paces: 'keyed by the account of the push service, which several apps may use',
    schema_migrations: 'the ledger of migrations',
    batches: 'its id is the key that deliveries are reached by; every statement that names an app says so',
    deliveries: 'keyed by batch and device, and reaches app and message through the batch',
    early_receipts: 'keyed as deliveries are',
  };

  it('every primary and unique key of a table that belongs to an app begins with the app', async () => {
    const keys = await t.sql<{ tableName: string; columns: string[]; hasApp: boolean }[]>`
      SELECT c.relname AS table_name,
        array_agg(a.attname::text ORDER BY k.position) AS columns,
        EXISTS (SELECT 1 FROM pg_attribute x WHERE x.attrelid = c.oid AND x.attname = 'app_id') AS has_app
      FROM pg_index i
      JOIN pg_class c ON c.oid = i.indrelid AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'public'
      CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (attribute, position)
      LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attribute
      WHERE i.indisunique GROUP BY c.oid, c.relname, i.indexrelid`;
    expect(keys.length).toBeGreaterThan(10);
    const loose = keys.filter(({ tableName, columns }) => !(tableName in exceptions) && !columns.includes('app_id'));
    expect(loose).toEqual([]);
    // A table without the column belongs to no app, or it is one of the exceptions.
    const strangers = keys.filter(({ tableName, hasApp }) => !hasApp && !(tableName in exceptions));
    expect(strangers).toEqual([]);
  });

  /** Statements that read more than one app, or name the app otherwise, with the reason. */
  const acrossApps: Readonly<Record<string, string>> = {
    'people/devices/reach-queries.ts: SELECT app_id, count(*) AS unreached, count(*) FILTER (WHERE':
      'the doctor counts made-up devices of all apps',
    'people/devices/reach-queries.ts: SELECT count(*) FROM (SELECT 1 FROM devices WHERE by_client ':
      'a gauge of the whole service',
    'teams/audit/queries.ts: SELECT app_id, id, at, actor_kind, actor_id, actor_name, add':
      'of one organisation and its apps; the command line may ask for all',
    'insight/explain/queries.ts: SELECT batch_id, device_id, channel, status, error_code, att':
      'an id of a person is nobody else’s; whose it is was asked before',
    'insight/requests/queries.ts: DELETE FROM request_chunks WHERE id < ${uuidFloorOf(before)}': 'forgets what is old',
    'teams/apps/key-queries.ts: SELECT app_id, id, scope, name, start, last4, created_at, cr':
      'the command line names a key alone',
    'sending/messages/schedule-queries.ts: SELECT (extract(epoch FROM next_start_at - ${clock.now}) * 1':
      'says when the next message of any app is due',
    'sending/messages/schedule-queries.ts: UPDATE messages SET next_start_at = ${latest} WHERE status =':
      'the clock of all apps was set back',
    'sending/webhooks/work-queries.ts: UPDATE webhooks SET paused_until = ${soonOf(sql, clock, paus':
      'the clock of all apps was set back',
    'sending/webhooks/work-queries.ts: UPDATE webhook_events SET due_at = CASE WHEN claim_id IS NUL':
      'the clock of all apps was set back',
    'sending/webhooks/work-queries.ts: UPDATE webhook_work SET next_at = ${clock.now} WHERE next_at':
      'the clock of all apps was set back',
    'people/properties/queries.ts: SELECT app_id FROM property_catalogs WHERE counted_at IS NUL':
      'finds the app to count next',
    'sending/delivery/pace-queries.ts: DELETE FROM message_paces WHERE asked_at < ${clock.now} - in':
      'forgets what has ended',
    'sending/webhooks/queries.ts: SELECT ${webhookColumns(sql)} FROM webhooks w WHERE w.id = $':
      'the command line names a webhook alone',
    'sending/webhooks/queries.ts: SELECT app_id, id FROM webhooks WHERE finish_at <= ${clock.n':
      'finds the rotation to finish next',
    "operation/metrics/queries.ts: SELECT count(*) FROM messages WHERE status = 'scheduled'":
      'a gauge of the whole service',
    'operation/cli/doctor-queries.ts: SELECT app_id, key, type, slot, move_slot, move_phase, moved':
      'the operator sees the slots of all apps',
    'sending/delivery/timeline-queries.ts: SELECT ${deliveryColumns(tx)} FROM deliveries WHERE coalesce':
      'an id of a person is nobody else’s; whose it is was asked before',
    'people/imports/queries.ts: DELETE FROM imports WHERE updated_at < ${clock.now} - ${days': 'forgets what is old',
    'people/properties/move-queries.ts: SELECT app_id, id, key, type, slot, move_slot, move_phase, m':
      'finds the moves to go on with, app by app',
    'people/audience/index-queries.ts: SELECT app_id, field, sum(uses)::bigint AS uses FROM ( SELEC':
      'indexes are of a table that all apps share',
    'people/audience/index-queries.ts: SELECT DISTINCT s.app_id, ARRAY( SELECT DISTINCT (field #>> ':
      'indexes are of a table that all apps share',
    'people/audience/count-queries.ts: SELECT count(*) AS devices FROM audience a WHERE ${audienceP':
      'names the app in `audiencePredicate`',
    'people/audience/count-queries.ts: SELECT ${devicesOf(context)}, count(DISTINCT a.user_id) AS u':
      'names the app in `audiencePredicate`',
    'people/audience/count-queries.ts: SELECT web, ios, devices, CASE WHEN linked = 0 THEN 0 WHEN s':
      'names the app in `audiencePredicate`',
    'people/users/erasure-queries.ts: SELECT DISTINCT app_id FROM erasures WHERE at < ${clock.now}':
      'finds the apps with something to be cleared',
    'insight/events/retention-queries.ts: DELETE FROM event_ids WHERE at < ${to} ${from === null ? sql':
      'forgets what retention has taken',
    'insight/events/retention-queries.ts: SELECT min(at) AS oldest FROM events WHERE at >= ${from} AND':
      'finds the oldest event for retention',
    'insight/events/retention-queries.ts: DELETE FROM events WHERE at >= ${from} AND at < ${to}':
      'takes what is old, of all apps',
    'insight/events/retention-queries.ts: DELETE FROM subject_events WHERE day >= (${from}::timestampt':
      'takes what is old, of all apps',
    'insight/reports/attribution-queries.ts: SELECT device_id, user_id, batch_id, done_at AS sent_at, cli':
      'a person belongs to one app, and so does what was sent to them',
    'people/audience/index-queries.ts: DELETE FROM field_uses WHERE last_preview_at < ${clock.now} ':
      'forgets what is old',
    'people/properties/queries.ts: SELECT app_id, id, type, slot FROM retired_properties WHERE ':
      'finds the values to clear, app by app',
    'teams/apps/credential-queries.ts: DELETE FROM credential_minutes WHERE minute < ${clock.now} -':
      'removes old rows, of all apps',
    'teams/apps/credential-queries.ts: DELETE FROM hearings WHERE judged_at < ${clock.now} - interv':
      'removes old rows, of all apps',
    'sending/webhooks/work-queries.ts: SELECT (extract(epoch FROM next_at - ${clock.now}) * 1000)::':
      'finds when the next webhook has work, of all apps',
    'sending/delivery/totals-queries.ts: DELETE FROM delivery_totals WHERE bucket < ${clock.now} - ${':
      'forgets what is old',
    "insight/events/recent-queries.ts: SELECT name, (bucket AT TIME ZONE 'UTC')::date::text AS day,":
      'names the app in `ofNames`',
    'insight/reports/deliverability-queries.ts: SELECT ${periodOf(tx, tx`bucket`, periods)} AS period, chann':
      'names the app in `inRange`',
    'teams/quotas/queries.ts: DELETE FROM rate_limits WHERE full_at < ${clock.now} - inter':
      'forgets what every key may have forgotten',
  };

  it("no statement reads an app's table without the app, or a delivery without its batch", async () => {
    const src = fileURLToPath(new URL('../../src/', import.meta.url));
    const sources = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((path) =>
      /(queries|insert-many)\.ts$/.test(path),
    );
    const statements = sources.flatMap((path) =>
      statementsOf(readFileSync(join(src, path), 'utf8')).map((text) => ({ path, text })),
    );
    expect(statements.length).toBeGreaterThan(60);
    const withApp = await t.sql<{ name: string }[]>`
      SELECT c.relname AS name FROM pg_attribute a
      JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p') AND NOT c.relispartition
      JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'public'
      WHERE a.attname = 'app_id'`;
    const names = withApp.map(({ name }) => name).filter((name) => !(name in exceptions));
    expect(names).toContain('audience');
    const table = (some: readonly string[]): RegExp =>
      new RegExp(`\\b(?:FROM|JOIN|INTO|UPDATE)\\s+(?:${some.join('|')})\\b`);
    const owned = table(names);
    const batched = table(['deliveries', 'early_receipts']);
    // Inserted rows carry their app. A fragment that gets the app as a parameter filters by it.
    const namesApp = /\bapp_id\s*=|=\s*\w+\.app_id|\bINSERT INTO\b|\bappId\b/;
    const namesBatch = /\bbatch_id\s*(?:=|IN)|=\s*\w+\.batch_id|\bINSERT INTO\b/;
    const loose = statements
      .filter(
        ({ text }) => (owned.test(text) && !namesApp.test(text)) || (batched.test(text) && !namesBatch.test(text)),
      )
      .map(({ path, text }) => `${path}: ${text.trim().replace(/\s+/g, ' ').slice(0, 60)}`);
    expect(loose.filter((statement) => !(statement in acrossApps))).toEqual([]);
    expect(Object.keys(acrossApps).filter((statement) => !loose.includes(statement))).toEqual([]);
  });
});

/** The tagged templates of a source that are whole statements, with their nested templates. */
function statementsOf(source: string): string[] {
  const found: string[] = [];
  for (let at = source.indexOf('`'); at >= 0; at = source.indexOf('`', at)) {
    let depth = 0;
    let end = at + 1;
    for (; end < source.length; end++) {
      if (source[end] === '\\') end++;
      else if (source.startsWith('${', end)) depth++;
      else if (source[end] === '}' && depth > 0) depth--;
      else if (source[end] === '`' && depth === 0) break;
    }
    const text = source.slice(at + 1, end);
    if (/^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(text)) found.push(text);
    at = end + 1;
  }
  return found;
}
