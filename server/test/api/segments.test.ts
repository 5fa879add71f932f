import { transaction } from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { preview } from '../../src/people/segments/preview.ts';
import { resolveAudience } from '../../src/people/segments/resolve-audience.ts';
import { listLockWaits, untilLockWaits } from '../lock-waits.ts';
import { setup, unknownId } from '../setup.ts';

const t = await setup({ workers: false });
const german = { field: 'country', op: 'eq', value: 'DE' };
const content = { title: 'Sale' };

const conditioned = (comparison: object) => ({
  event: 'purchase',
  where: [{ field: 'properties.item', ...comparison }],
});

/** An app of its own with users in Germany and France, one of them without a device. */
async function newShop() {
  const app = await t.newApp();
  const server = t.clientOf(app.serverKey);
  const people = [
    ['u-1', 'DE', 'pro', 'ios'],
    ['u-2', 'DE', 'free', 'android'],
    ['u-3', 'FR', 'pro', 'android'],
  ] as const;
  for (const [external_id, country, plan, platform] of people) {
    const token = platform === 'ios' ? Buffer.from(external_id.padEnd(32)).toString('hex') : `${app.id}-${external_id}`;
    const { body: device } = await server.post('/v1/devices', { platform, token });
    await server.post('/v1/users', { external_id, country, properties: { plan }, device_id: device.id });
  }
  return { app, server };
}

describe('POST /v1/segments', () => {
  it('200 returns the segment as it was written, with the fields it reads', async () => {
    const { server } = await newShop();
    const filter = { and: [german, { field: 'properties.plan', op: 'eq', value: 'pro' }] };
    const { status, body } = await server.post('/v1/segments', { name: 'Pro users in DE', filter });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.stringMatching(/^seg_/),
      name: 'Pro users in DE',
      description: null,
      filter,
      fields: ['country', 'properties.plan'],
      valid: true,
      invalid_reason: null,
      created_at: expect.any(String),
      updated_at: body.created_at,
    });
    const { body: read } = await server.get(`/v1/segments/${body.id}`);
    expect(read).toEqual(body);
    // Equal even in the order of keys.
    expect([body.filter, read.filter].map((one) => JSON.stringify(one))).toEqual(Array(2).fill(JSON.stringify(filter)));
  });

  it('400 for a name that is taken, with the path of the name', async () => {
    const { server } = await newShop();
    await server.post('/v1/segments', { name: 'Germans', filter: german });
    const { status, body } = await server.post('/v1/segments', { name: 'Germans', filter: german });
    expect([status, body.issues]).toEqual([400, [{ path: ['name'], code: 'name_taken', message: expect.any(String) }]]);
    // Names are compared exactly.
    expect((await server.post('/v1/segments', { name: 'germans', filter: german })).status).toBe(200);
  });

  it.each([
    ['no name', { filter: german }, ['required', 'name']],
    ['a name that is a step in a path', { name: '..', filter: german }, ['invalid_value', 'name']],
    ['a name that is a dot', { name: '.', filter: german }, ['invalid_value', 'name']],
    ['an empty name', { name: '', filter: german }, ['too_small', 'name']],
    ['a name of 129', { name: 'x'.repeat(129), filter: german }, ['too_big', 'name']],
    [
      'a description of 1,025',
      { name: 'x', description: 'x'.repeat(1025), filter: german },
      ['too_big', 'description'],
    ],
    ['no filter', { name: 'x' }, ['required', 'filter']],
    ['null for the filter', { name: 'x', filter: null }, ['invalid_type', 'filter']],
    ['an unknown field', { name: 'x', filter: german, color: 'red' }, ['unrecognized_keys', 'color']],
    [
      'an operator of another type',
      { name: 'x', filter: { and: [german, { field: 'device.identified', op: 'gt', value: 1 }] } },
      ['operator_not_allowed', 'filter', 'and', 1, 'op'],
    ],
    [
      'a key that the catalog lacks',
      { name: 'x', filter: { field: 'properties.gone', op: 'exists' } },
      ['unknown_property', 'filter', 'field'],
    ],
    [
      "a text of 1,025 in an event's condition",
      { name: 'x', filter: conditioned({ op: 'eq', value: 'x'.repeat(1025) }) },
      ['too_big', 'filter', 'where', 0, 'value'],
    ],
    [
      "a text of 1,025 in the list of an event's condition",
      { name: 'x', filter: conditioned({ op: 'in', value: ['x', 'x'.repeat(1025)] }) },
      ['too_big', 'filter', 'where', 0, 'value', 1],
    ],
  ])('400 for %s', async (_what, request, [code, ...path]) => {
    const { status, body } = await t.server.post('/v1/segments', request);
    expect([status, body.issues[0].code, body.issues[0].path]).toEqual([400, code, path]);
  });

  it("400 for a number outside the range of doubles in an event's condition, which would be stored as null", async () => {
    const { app, server } = await newShop();
    const raw = '{"name":"x","filter":{"event":"a","where":[{"field":"properties.n","op":"gt","value":1e400}]}}';
    const headers = { 'content-type': 'application/json' };
    const answer = await t.request('POST', '/v1/segments', { key: app.serverKey, raw, headers });
    expect([answer.status, answer.body.issues?.[0].code, answer.body.issues?.[0].path]).toEqual([
      ...[400, 'invalid_value'],
      ['filter', 'where', 0, 'value'],
    ]);
    expect((await server.get('/v1/segments')).body.data).toEqual([]);
  });

  it('400 above a thousand, even when ten arrive at once', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    await t.sql`
      INSERT INTO segments (app_id, id, name, filter, fields, created_at, updated_at)
      SELECT ${app.id}, md5(n::text)::uuid, 'segment ' || n, ${t.sql.json(german)}, '{country}', now(), now() FROM generate_series(1, 995) n`;
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => server.post('/v1/segments', { name: `late ${i}`, filter: german })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    const refused = answers.find(({ status }) => status === 400);
    expect(refused?.body.issues).toEqual([{ path: [], code: 'too_big', message: expect.any(String) }]);
  });
});

describe('GET /v1/segments', () => {
  it('200 returns all segments of the app once, newest first', async () => {
    const app = await t.newApp();
    const server = t.clientOf(app.serverKey);
    const made: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      made.unshift((await server.post('/v1/segments', { name, filter: german })).body.id);
    }
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await server.get(`/v1/segments?limit=2${cursor}`);
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      if (!body.has_more) break;
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(seen).toEqual(made);
  });

  it('200 marks a segment whose key is deleted as invalid with the reason, and as valid again when the key returns', async () => {
    const { app, server } = await newShop();
    const filter = { field: 'properties.plan', op: 'starts_with', value: 'p' };
    const { body: made } = await server.post('/v1/segments', { name: 'Pro', filter });
    const read = async () => (await server.get('/v1/segments')).body.data[0];
    await t.sql`UPDATE properties SET key = 'other' WHERE app_id = ${app.id} AND key = 'plan'`;
    expect(await read()).toMatchObject({ id: made.id, valid: false, invalid_reason: 'unknown_property' });
    await t.sql`UPDATE properties SET key = 'plan', type = 'number' WHERE app_id = ${app.id} AND key = 'other'`;
    expect(await read()).toMatchObject({ valid: false, invalid_reason: 'operator_not_allowed' });
    await t.sql`UPDATE properties SET type = 'string' WHERE app_id = ${app.id} AND key = 'plan'`;
    expect(await read()).toMatchObject({ valid: true, invalid_reason: null });
  });
});

describe('PUT /v1/segments/{id}', () => {
  it('200 replaces name, description and filter', async () => {
    const { server } = await newShop();
    const { body: made } = await server.post('/v1/segments', { name: 'A', description: 'first', filter: german });
    const french = { field: 'country', op: 'eq', value: 'FR' };
    const { status, body } = await server.put(`/v1/segments/${made.id}`, { name: 'B', filter: french });
    expect([status, body]).toEqual([
      200,
      { ...made, name: 'B', description: null, filter: french, updated_at: expect.any(String) },
    ]);
    expect(JSON.stringify(body.filter)).toBe(JSON.stringify(french));
    // A segment may keep its own name.
    expect((await server.put(`/v1/segments/${made.id}`, { name: 'B', filter: german })).status).toBe(200);
  });

  it("400 for another segment's name", async () => {
    const { server } = await newShop();
    await server.post('/v1/segments', { name: 'A', filter: german });
    const { body: second } = await server.post('/v1/segments', { name: 'B', filter: german });
    const { status, body } = await server.put(`/v1/segments/${second.id}`, { name: 'A', filter: german });
    expect([status, body.issues[0].code]).toEqual([400, 'name_taken']);
  });

  it('400 before 404, for an unknown id and for a malformed one', async () => {
    const { server } = await newShop();
    await server.post('/v1/segments', { name: 'Taken', filter: german });
    const gone = { field: 'properties.gone', op: 'exists' };
    for (const id of [unknownId('seg'), 'seg_x']) {
      const unfit = await server.put(`/v1/segments/${id}`, { name: 'A', filter: gone });
      expect([unfit.status, unfit.body.issues?.[0].code]).toEqual([400, 'unknown_property']);
      const taken = await server.put(`/v1/segments/${id}`, { name: 'Taken', filter: german });
      expect([taken.status, taken.body.issues?.[0].code]).toEqual([400, 'name_taken']);
    }
  });

  it("404 for an unknown segment and for another app's", async () => {
    const { body: foreign } = await (await newShop()).server.post('/v1/segments', { name: 'A', filter: german });
    for (const id of [foreign.id, unknownId('seg'), 'seg_x']) {
      for (const answer of [
        await t.server.get(`/v1/segments/${id}`),
        await t.server.put(`/v1/segments/${id}`, { name: 'A', filter: german }),
        await t.server.delete(`/v1/segments/${id}`),
      ]) {
        expect([answer.status, answer.body.error]).toEqual([404, 'not_found']);
      }
    }
  });
});

describe('DELETE /v1/segments/{id}', () => {
  it('200 deletes it and frees its name', async () => {
    const { server } = await newShop();
    const { body: made } = await server.post('/v1/segments', { name: 'A', filter: german });
    expect((await server.delete(`/v1/segments/${made.id}`)).body).toEqual({ id: made.id, deleted: true });
    expect((await server.get(`/v1/segments/${made.id}`)).status).toBe(404);
    expect((await server.post('/v1/segments', { name: 'A', filter: german })).status).toBe(200);
  });
});

describe('a segment that a scheduled message uses', () => {
  const inAnHour = () => new Date(t.clock.nowMs() + 3_600_000).toISOString();

  it('400 in_use names the scheduled messages that include or exclude it, until these have run', async () => {
    const { server } = await newShop();
    const { body: segment } = await server.post('/v1/segments', { name: 'A', filter: german });
    const ids: string[] = [];
    for (const request of [
      { audience: { segment_id: segment.id } },
      { audience: { all: true }, exclude_segment_id: segment.id },
    ]) {
      ids.push((await server.post('/v1/messages', { ...request, content, send_at: inAnHour() })).body.id);
    }
    const { status, body } = await server.delete(`/v1/segments/${segment.id}`);
    expect([status, body.issues]).toEqual([
      400,
      [{ path: ['id'], code: 'in_use', message: `Scheduled messages use this segment: ${ids.join(', ')}.` }],
    ]);
    t.clock.advance(3_600_000);
    await t.startWorkers().idle();
    expect((await server.delete(`/v1/segments/${segment.id}`)).status).toBe(200);
  });

  it('cannot be deleted while the message is being stored', async () => {
    const { server } = await newShop();
    const { body: segment } = await server.post('/v1/segments', { name: 'A', filter: german });
    const requests = { name: 'carillon transactions' };
    let isAnswered = false;
    const { scheduling, deleting } = await transaction(t.sql, async (tx) => {
      // From now on messages can be read but not stored.
      await tx`LOCK TABLE messages IN SHARE MODE`;
      const request = { audience: { segment_id: segment.id }, content, send_at: inAnHour() };
      const scheduling = server.post('/v1/messages', request);
      await untilLockWaits(t.sql, 1, requests);
      const deleting = server.delete(`/v1/segments/${segment.id}`).finally(() => {
        isAnswered = true;
      });
      while (!isAnswered && (await listLockWaits(t.sql, requests)).length < 2);
      return { scheduling, deleting };
    });
    expect((await scheduling).status).toBe(200);
    const { status, body } = await deleting;
    expect([status, body.issues?.[0].code]).toEqual([400, 'in_use']);
    expect((await server.get(`/v1/segments/${segment.id}`)).status).toBe(200);
  });

  it('is read when the message runs; if it no longer fits the catalog, the message fails with nothing sent', async () => {
    const { app, server } = await newShop();
    const filter = { field: 'properties.plan', op: 'eq', value: 'pro' };
    const { body: segment } = await server.post('/v1/segments', { name: 'Pro', filter });
    const request = { audience: { segment_id: segment.id }, content, send_at: inAnHour() };
    const { body: message } = await server.post('/v1/messages', request);
    await t.sql`DELETE FROM properties WHERE app_id = ${app.id} AND key = 'plan'`;
    t.clock.advance(3_600_000);
    await t.startWorkers().idle();
    expect((await server.get(`/v1/messages/${message.id}`)).body).toMatchObject({
      status: 'failed',
      status_reason: 'segment_invalid',
      report: { accepted: 0, sent: 0, failed: 0, skipped: 0 },
    });
  });
});

describe('POST /v1/segments/preview', () => {
  it('200 counts devices and users, for a filter, a segment and any audience alike', async () => {
    const { server } = await newShop();
    const { body: segment } = await server.post('/v1/segments', { name: 'Germans', filter: german });
    const counts = {
      count: 2,
      users: 2,
      by_channel: { webpush: 0, apns: 1, fcm: 1 },
      evaluated_at: expect.any(String),
    };
    for (const request of [
      { filter: german },
      { segment_id: segment.id },
      { audience: { filter: german } },
      { audience: { segment_id: segment.id } },
    ]) {
      expect((await server.post('/v1/segments/preview', request)).body).toEqual(counts);
    }
    const { body: all } = await server.post('/v1/segments/preview', { audience: { all: true } });
    expect(all).toMatchObject({ count: 3, users: 3 });
    const { body: others } = await server.post('/v1/segments/preview', {
      audience: { all: true },
      exclude_segment_id: segment.id,
    });
    expect(others).toMatchObject({ count: 1, users: 1 });
  });

  it.each([
    ['nothing', {}],
    ['two of them', { filter: german, audience: { all: true } }],
  ])('400 for %s', async (_what, request) => {
    const { status, body } = await t.server.post('/v1/segments/preview', request);
    expect([status, body.issues[0].code, body.issues[0].path]).toEqual([400, 'exactly_one_required', []]);
  });

  it('400 for a segment that no longer fits the catalog, 404 for an unknown one', async () => {
    const { app, server } = await newShop();
    const filter = { field: 'properties.plan', op: 'exists' };
    const { body: segment } = await server.post('/v1/segments', { name: 'Planned', filter });
    await t.sql`DELETE FROM properties WHERE app_id = ${app.id} AND key = 'plan'`;
    const { status, body } = await server.post('/v1/segments/preview', { segment_id: segment.id });
    expect([status, body.issues[0].code, body.issues[0].path]).toEqual([400, 'segment_invalid', ['segment_id']]);
    const { status: missing } = await server.post('/v1/segments/preview', { segment_id: unknownId('seg') });
    expect(missing).toBe(404);
  });

  it('R-73 a count that takes too long names its slowest part, which may be the exclusion', async () => {
    const { app, server } = await newShop();
    const columns = await t.sql<{ name: string }[]>`
      SELECT quote_ident(column_name) AS name FROM information_schema.columns WHERE table_name = 'audience' AND is_generated = 'NEVER'`;
    const names = columns.map(({ name }) => name);
    const values = names.map((name) => (name === 'device_id' ? 'gen_random_uuid()' : name));
    await t.sql.unsafe(
      `INSERT INTO audience (${names}) SELECT ${values} FROM audience, generate_series(1, 4000) WHERE app_id = '${app.id}'`,
    );
    await t.sql`ANALYZE audience`;
    const slow = { field: 'first_name', op: 'not_contains', value: 'x' };
    const quick = { field: 'external_id', op: 'eq', value: 'nobody' };
    const segmentOf = async (name: string, filter: object): Promise<string> =>
      (await server.post('/v1/segments', { name, filter })).body.id;
    const [slowOne, quickOne] = [await segmentOf('Slow', slow), await segmentOf('Quick', quick)];
    const pathOf = async (audience: Parameters<typeof resolveAudience>[2], excluded: string | null) => {
      const resolved = await resolveAudience(t.sql, app.id, audience, excluded);
      const isInRequest = 'filter' in audience;
      const place = { path: [isInRequest ? 'filter' : 'segment_id'], isInRequest };
      const cancel = { signal: new AbortController().signal, sql: t.sql };
      const deps = { sql: t.sql, clock: t.clock, cancel };
      const error = await preview(deps, app.id, resolved, place, 1).catch((thrown) => thrown);
      return error.details?.extra?.path;
    };
    const mixed = { or: [quick, slow] };
    expect(await pathOf({ filter: mixed }, quickOne)).toEqual(['filter', 'or', 1]);
    expect(await pathOf({ filter: { or: [quick, quick, { not: quick }] } }, slowOne)).toEqual(['exclude_segment_id']);
    expect(await pathOf({ segment_id: slowOne }, quickOne)).toEqual(['segment_id']);
    expect(await pathOf({ all: true }, slowOne)).toEqual(['exclude_segment_id']);
  });

  it('is safe against SQL in every value and key', async () => {
    const { app, server } = await newShop();
    const hostile = `x'); DROP TABLE audience; --`;
    for (const filter of [
      { field: 'country', op: 'eq', value: hostile },
      { field: 'first_name', op: 'in', value: [hostile, '$1', "\\' OR 1=1"] },
      { field: 'first_name', op: 'contains', value: `%_${hostile}` },
      { event: hostile, where: [{ field: `properties.${hostile}`, op: 'eq', value: hostile }] },
    ]) {
      const { status, body } = await server.post('/v1/segments/preview', { filter });
      expect([status, body.count]).toEqual([200, 0]);
    }
    for (const field of [`properties.${hostile}`, `properties.plan'--`, 'properties."plan"', hostile]) {
      const { status, body } = await server.post('/v1/segments/preview', { filter: { field, op: 'exists' } });
      const code = field.startsWith('properties.') ? 'unknown_property' : 'invalid_value';
      expect([status, body.issues[0].code]).toEqual([400, code]);
    }
    const [left] = await t.sql`SELECT count(*) AS count FROM audience WHERE app_id = ${app.id}`;
    expect(left?.['count']).toBe(3);
  });
});

describe('a message to a segment or a filter', () => {
  it('reaches exactly the devices that the preview counted', async () => {
    const { server } = await newShop();
    const filter = { or: [german, { field: 'properties.plan', op: 'neq', value: 'pro' }] };
    const { body: segment } = await server.post('/v1/segments', { name: 'S', filter });
    const { body: counted } = await server.post('/v1/segments/preview', { filter });
    for (const audience of [{ filter }, { segment_id: segment.id }]) {
      const { body: dry } = await server.post('/v1/messages', { audience, content, dry_run: true });
      expect(dry).toMatchObject({ count: counted.count, users: counted.users, by_channel: counted.by_channel });
      const { status, body } = await server.post('/v1/messages', { audience, content });
      expect([status, body.report.accepted]).toEqual([200, counted.count]);
    }
  });

  it('leaves out the devices of the excluded segment', async () => {
    const { server } = await newShop();
    const { body: segment } = await server.post('/v1/segments', { name: 'Germans', filter: german });
    const request = { audience: { all: true }, exclude_segment_id: segment.id, content };
    expect((await server.post('/v1/messages', request)).body.report.accepted).toBe(1);
    const { status } = await server.post('/v1/messages', { ...request, exclude_segment_id: unknownId('seg') });
    expect(status).toBe(404);
  });

  it('400 when the filter does not fit the catalog, with its path in the request; nothing is stored', async () => {
    const { server } = await newShop();
    const audience = { filter: { not: { field: 'properties.gone', op: 'exists' } } };
    const { status, body } = await server.post('/v1/messages', { audience, content });
    expect([status, body.issues[0].code, body.issues[0].path]).toEqual([
      400,
      'unknown_property',
      ['audience', 'filter', 'not', 'field'],
    ]);
    expect((await server.get('/v1/messages')).body.data).toEqual([]);
  });
});
