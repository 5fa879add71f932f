import { describe, expect, it } from 'vitest';
import { decodeId } from '../../src/ground/values/ids.ts';
import { ensurePartitionsAt } from '../../src/insight/events/partitions.ts';
import { reportEngagement } from '../../src/insight/reports/engagement.ts';
import { readOverview } from '../../src/insight/reports/overview.ts';
import { reportRevenue } from '../../src/insight/reports/revenue.ts';
import { settleDue } from '../../src/insight/reports/settle.ts';
import { resolveAudience } from '../../src/people/segments/resolve-audience.ts';
import { ensureDeliveryPartitions } from '../../src/sending/delivery/partitions.ts';
import { stage } from '../reports/ledger.ts';
import { type Bundle, setup, unknownId } from '../setup.ts';

const hourMs = 3_600_000;
const setUp = () => setup({ workers: false });
const settle = (t: Bundle) => settleDue({ sql: t.sql, clock: t.clock });

const november = 'from=2027-11-01T00:00:00Z&to=2027-12-01T00:00:00Z';

/** A message to Ada on 5 November at noon, and a purchase an hour later. */
async function sale(t: Bundle) {
  const s = stage(t);
  await s.at('2027-11-05T12:00:00Z');
  const device = await s.deviceOf('ada');
  const message = await s.send({ external_ids: ['ada'] });
  await s.at('2027-11-05T13:00:00Z');
  await s.buy({ external_id: 'ada' }, 12.5, 'EUR');
  return { s, device, message };
}

/** A report without what is provisional about it. */
const settledPart = (body: unknown) =>
  JSON.parse(JSON.stringify(body), (key, value) => (key === 'open' ? undefined : value));

const classesOf = async (t: Bundle, query = november) => {
  const { body } = await t.server.get(`/v1/reports/revenue?${query}`);
  return body.revenue.map(({ currency, direct, influenced, unattributed }: Record<string, { amount: string }>) => [
    currency,
    ...[direct, influenced, unattributed].map((sum) => sum?.amount),
  ]);
};

describe('the class of a purchase', () => {
  it('is provisional until the window has closed: a late receipt counts until then, and not after', async () => {
    const t = await setUp();
    const { s, device, message } = await sale(t);
    await settle(t);
    expect(await classesOf(t)).toEqual([['EUR', '0', '12.5', '0']]);
    // A click that is reported now and happened before the purchase.
    await s.click(message, device);
    await t.sql`UPDATE deliveries SET clicked_at = '2027-11-05T12:30:00Z'`;
    expect(await classesOf(t)).toEqual([['EUR', '12.5', '0', '0']]);
    t.clock.advance(25 * hourMs);
    await settle(t);
    await t.sql`UPDATE deliveries SET clicked_at = NULL`;
    expect(await classesOf(t)).toEqual([['EUR', '12.5', '0', '0']]);
  });

  it('counts a log-in until the window has closed, and not after', async () => {
    const t = await setUp();
    const { s } = await sale(t);
    const [early, late] = [await t.registerDevice(), await t.registerDevice()];
    await s.buy({ device_id: early }, 3, 'USD');
    await s.buy({ device_id: late }, 4, 'USD');
    expect(await classesOf(t)).toContainEqual(['USD', '0', '0', '7']);
    await s.login('ada', early);
    expect(await classesOf(t)).toContainEqual(['USD', '0', '3', '4']);
    t.clock.advance(25 * hourMs);
    await settle(t);
    await s.login('ada', late);
    expect(await classesOf(t)).toContainEqual(['USD', '0', '3', '4']);
  });

  it('is settled at receipt for a purchase that arrives after its window has closed', async () => {
    const t = await setUp();
    const { s } = await sale(t);
    await settle(t);
    await s.at('2027-11-20T12:00:00Z');
    await settle(t);
    await s.buy({ external_id: 'ada' }, 7, 'EUR', '2027-11-05T14:00:00Z');
    await s.track({ name: 'session_start', external_id: 'ada', occurred_at: '2027-11-05T14:00:00Z' });
    const sessions = async () => (await t.server.get(`/v1/reports/revenue?${november}`)).body.events.session_start;
    expect([await classesOf(t), await sessions()]).toEqual([
      [['EUR', '0', '19.5', '0']],
      { count: 1, direct: 0, influenced: 1, unattributed: 0 },
    ]);
    t.clock.advance(2 * 60_000);
    await settle(t);
    await t.sql`DELETE FROM deliveries`;
    expect([await classesOf(t), await sessions()]).toEqual([
      [['EUR', '0', '19.5', '0']],
      { count: 1, direct: 0, influenced: 1, unattributed: 0 },
    ]);
  });

  it('uses a new window for purchases that are not settled', async () => {
    const t = await setUp();
    const { s } = await sale(t);
    await t.sql`UPDATE apps SET attribution_window_hours = 720`;
    await s.at('2027-11-15T12:00:00Z');
    await s.buy({ external_id: 'ada' }, 5, 'EUR');
    expect(await classesOf(t)).toEqual([['EUR', '0', '17.5', '0']]);
    await t.sql`UPDATE apps SET attribution_window_hours = 1`;
    expect(await classesOf(t)).toEqual([['EUR', '0', '12.5', '5']]);
  });

  it('is settled once, however many processes settle at once and however often', async () => {
    const t = await setUp();
    const { s } = await sale(t);
    for (let i = 0; i < 60; i++) {
      const events = Array.from({ length: 50 }, () => ({ name: 'session_start', external_id: 'ada' }));
      await s.track(...events);
    }
    t.clock.advance(25 * hourMs);
    await Promise.all([settle(t), settle(t), settle(t)]);
    await settle(t);
    const { body } = await t.server.get(`/v1/reports/revenue?${november}`);
    expect(body.events.session_start).toEqual({ count: 3_000, direct: 0, influenced: 3_000, unattributed: 0 });
    expect(body.revenue).toMatchObject([{ total: '12.5', influenced: { amount: '12.5' } }]);
  });
});

describe('GET /v1/reports/revenue', () => {
  it('has one row for every message and currency over its pages, highest direct amount first', async () => {
    const t = await setUp();
    const s = stage(t);
    await s.at('2027-11-05T12:00:00Z');
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      const device = await s.deviceOf(name);
      const message = await s.send({ external_ids: [name] });
      if (name !== 'e') await s.click(message, device);
      ids.push(message);
      await s.buy({ external_id: name }, name === 'b' ? 100 : 9, 'EUR');
      await s.buy({ external_id: name }, 10, 'USD');
    }
    t.clock.advance(30 * hourMs);
    await settle(t);
    const rows: { message_id: string; currency: string; direct: { amount: string } }[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await t.server.get(`/v1/reports/revenue?${november}&limit=3${cursor}`);
      rows.push(...body.messages);
      expect(body.has_more).toBe(body.next_cursor !== null);
      if (!body.has_more) break;
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(rows.map(({ direct }) => direct.amount)).toEqual(['100', '10', '10', '10', '10', '9', '9', '9', '0', '0']);
    const all = ids.flatMap((id) => [`${id} EUR`, `${id} USD`]);
    expect(rows.map((row) => `${row.message_id} ${row.currency}`).sort()).toEqual(all.sort());
  });

  it('for one message, has only what is attributed to it', async () => {
    const t = await setUp();
    const { s, message } = await sale(t);
    await s.at('2027-11-05T14:00:00Z');
    const other = await s.send({ external_ids: ['ada'] });
    await s.buy({ external_id: 'nobody' }, 50, 'EUR');
    const { body } = await t.server.get(`/v1/reports/revenue?${november}&message_id=${message}`);
    const none = { amount: '0', purchases: 0 };
    const influenced = { amount: '12.5', purchases: 1 };
    expect(body).toMatchObject({
      revenue: [{ currency: 'EUR', total: '12.5', purchases: 1, direct: none, influenced, unattributed: none }],
      messages: [{ message_id: message, currency: 'EUR', direct: none, influenced }],
      events: { install: { count: 0 } },
    });
    t.clock.advance(30 * hourMs);
    await settle(t);
    const settled = await t.server.get(`/v1/reports/revenue?${november}&message_id=${message}`);
    expect(settledPart(settled.body)).toEqual(settledPart(body));
    const empty = await t.server.get(`/v1/reports/revenue?${november}&message_id=${other}`);
    expect(empty.body).toMatchObject({ revenue: [], messages: [] });
  });

  it('for a segment, has the purchases of the people who are in it now', async () => {
    const t = await setUp();
    const { s, message } = await sale(t);
    await s.deviceOf('bob');
    const anonymous = await t.registerDevice({ model: 'Pixel' });
    await s.buy({ external_id: 'bob' }, 20, 'EUR');
    await s.buy({ device_id: anonymous }, 30, 'EUR');
    await t.server.post('/v1/users', { external_id: 'ada', country: 'DE' });
    const filter = {
      or: [
        { field: 'country', op: 'eq', value: 'DE' },
        { field: 'device.model', op: 'eq', value: 'Pixel' },
      ],
    };
    const { body: segment } = await t.server.post('/v1/segments', { name: 'Germans', filter });
    expect(segment.id).toBeDefined();
    const ask = async () => (await t.server.get(`/v1/reports/revenue?${november}&segment_id=${segment.id}`)).body;
    const report = await ask();
    expect(report.revenue).toMatchObject([
      { total: '42.5', influenced: { amount: '12.5' }, unattributed: { amount: '30' } },
    ]);
    expect(report.messages).toMatchObject([{ message_id: message, influenced: { amount: '12.5' } }]);
    t.clock.advance(30 * hourMs);
    await settle(t);
    expect(settledPart(await ask())).toEqual(settledPart(report));
    // Settled: the class stays, although nothing is left to compute it from.
    await t.sql`DELETE FROM deliveries`;
    expect((await ask()).revenue).toMatchObject([{ total: '42.5', influenced: { amount: '12.5' } }]);
    await t.server.post('/v1/users', { external_id: 'ada', country: 'FR' });
    expect((await ask()).revenue).toMatchObject([{ total: '30' }]);
  });

  it('returns the same rows as CSV: all groups, or one page of messages', async () => {
    const t = await setUp();
    const { s, message } = await sale(t);
    await s.deviceOf('bob');
    const second = await s.send({ external_ids: ['bob'] });
    await s.buy({ external_id: 'bob' }, 3, 'USD');
    const ask = (query: string) =>
      t.request('GET', `/v1/reports/revenue?${query}`, { key: t.app.serverKey, headers: { accept: 'text/csv' } });
    const heading =
      'from,to,message_id,currency,total,purchases,direct_amount,direct_purchases,influenced_amount,influenced_purchases,' +
      'unattributed_amount,unattributed_purchases,open_amount,open_purchases';
    const days = 'from=2027-11-04T00:00:00Z&to=2027-11-06T00:00:00Z';
    const both = '2027-11-04T00:00:00.000Z,2027-11-06T00:00:00.000Z';
    const first = await ask(`${days}&group=day&limit=1`);
    expect(first.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const groups = [
      heading,
      '2027-11-04T00:00:00.000Z,2027-11-05T00:00:00.000Z,,,0,0,0,0,0,0,0,0,0,0',
      '2027-11-05T00:00:00.000Z,2027-11-06T00:00:00.000Z,,EUR,12.5,1,0,0,12.5,1,0,0,12.5,1',
      '2027-11-05T00:00:00.000Z,2027-11-06T00:00:00.000Z,,USD,3,1,0,0,3,1,0,0,3,1',
    ];
    expect(first.body.split('\r\n')).toEqual([...groups, `${both},${message},EUR,12.5,1,0,0,12.5,1,,,,`, '']);
    const cursor = first.headers.get('x-next-cursor');
    const next = await ask(`${days}&group=day&limit=1&cursor=${cursor}`);
    expect(next.body.split('\r\n')).toEqual([...groups, `${both},${second},USD,3,1,0,0,3,1,,,,`, '']);
    expect(next.headers.get('x-next-cursor')).toBeNull();
    const whole = await ask(days);
    expect(whole.body.split('\r\n').slice(1, 3)).toEqual([
      `${both},,EUR,12.5,1,0,0,12.5,1,0,0,12.5,1`,
      `${both},,USD,3,1,0,0,3,1,0,0,3,1`,
    ]);
    expect((await ask('from=2027-10-01T00:00:00Z&to=2027-10-02T00:00:00Z')).body).toBe(`${heading}\r\n`);
  });

  it('never calls installs and sessions unattributed because their deliveries are deleted', async () => {
    const t = await setUp();
    const { s } = await sale(t);
    await s.track({ name: 'session_start', external_id: 'ada' }, { name: 'install', external_id: 'ada' });
    await t.server.post('/v1/users', { external_id: 'ada', country: 'DE' });
    const filter = { field: 'country', op: 'eq', value: 'DE' };
    const { body: segment } = await t.server.post('/v1/segments', { name: 'Germans', filter });
    const once = { count: 1, direct: 0, influenced: 1, unattributed: 0 };
    const ofSegment = async (query = november) =>
      (await t.server.get(`/v1/reports/revenue?${query}&segment_id=${segment.id}`)).body;
    const before = await ofSegment();
    expect(before.events).toEqual({ install: once, session_start: once });
    const whole = (await t.server.get(`/v1/reports/revenue?${november}`)).body;
    t.clock.advance(120 * 24 * hourMs);
    await t.startWorkers().upkeep.runOnce();
    expect(await t.sql`SELECT FROM deliveries`).toHaveLength(0);
    // Settled purchases are stored for each person. Other events are stored only as sums over
    // everybody.
    const { events: _unknown, ...purchases } = before;
    expect(settledPart(await ofSegment())).toEqual(settledPart(purchases));
    expect((await ofSegment(`${november}&group=month`)).groups[0]).not.toHaveProperty('events');
    // A range that begins within a quarter of an hour uses whole quarters for its events.
    const cut = await t.server.get('/v1/reports/revenue?from=2027-11-01T00:07:00Z&to=2027-11-05T13:00:00.001Z');
    expect([cut.body.events, settledPart(cut.body.revenue)]).toEqual([whole.events, settledPart(whole.revenue)]);
  });

  it('with another window needs the deliveries of its range', async () => {
    const t = await setUp();
    await sale(t);
    t.clock.hold(new Date('2027-11-30T00:00:00Z'));
    const day = (date: string, hours: number) =>
      t.server.get(`/v1/reports/revenue?from=${date}T00:00:00Z&to=2027-11-30T00:00:00Z&window_hours=${hours}`);
    expect((await day('2027-09-02', 24)).status).toBe(200);
    expect((await day('2027-09-02', 48)).body.issues).toMatchObject([
      { path: ['window_hours'], code: 'invalid_value' },
    ]);
    expect((await day('2027-09-03', 24 + 1)).status).toBe(200);
    // Settled classes with the app's own window are kept without time limit.
    expect((await day('2027-01-01', 24)).status).toBe(200);
  });
});

describe('the other reports', () => {
  it('engagement: the funnel of each message, and the purchases after it', async () => {
    const t = await setUp();
    const { s, device, message } = await sale(t);
    await s.at('2027-11-05T14:00:00Z');
    await s.click(message, device);
    await s.at('2027-11-10T12:00:00Z');
    const second = await s.send({ external_ids: ['ada'] });
    await s.at('2027-11-11T00:00:00Z');
    const funnel = { accepted: 1, sent: 1, failed: 0, skipped: 0, displayed: 0, dismissed: 0 };
    const none = { amount: '0', purchases: 0 };
    const revenue = [{ currency: 'EUR', direct: none, influenced: { amount: '12.5', purchases: 1 } }];
    const first = { ...funnel, message_id: message, name: null, clicked: 1, purchases: 1, revenue };
    const ask = async (more = '') => (await t.server.get(`/v1/reports/engagement?${november}${more}`)).body;
    const whole = await ask();
    expect(whole).toMatchObject({
      messages: [{ message_id: second, clicked: 0, purchases: 0, revenue: [] }, first],
      has_more: false,
    });
    const page = await ask('&limit=1');
    expect(page.messages).toMatchObject([{ message_id: second }]);
    expect((await ask(`&limit=1&cursor=${page.next_cursor}`)).messages).toEqual([whole.messages[1]]);
    const weeks = await ask('&group=week');
    expect(weeks.groups.map(({ accepted, purchases }: Record<string, number>) => [accepted, purchases])).toEqual([
      [1, 1],
      [1, 0],
      ...[0, 0, 0].map((nothing) => [nothing, nothing]),
    ]);
    await settle(t);
    expect(await ask()).toEqual(whole);
    const csv = await t.request('GET', `/v1/reports/engagement?${november}&limit=1`, {
      key: t.app.serverKey,
      headers: { accept: 'text/csv' },
    });
    expect(csv.body.split('\r\n')).toHaveLength(3);
    expect(csv.headers.get('x-next-cursor')).not.toBeNull();
  });

  it('devices: by channel and period, from the history of their states', async () => {
    const t = await setUp();
    const s = stage(t);
    await s.at('2027-11-02T12:00:00Z');
    const [gone, back] = [await t.registerDevice(), await t.registerDevice(), await t.registerDevice()];
    await t.registerDevice({ platform: 'ios', token: 'ab'.repeat(32) });
    await s.at('2027-11-03T12:00:00Z');
    await t.server.delete(`/v1/devices/${gone}`);
    const token = JSON.stringify(t.pushSubscription('again'));
    await t.server.post('/v1/devices', { platform: 'web', token, device_id: back });
    await t.server.delete(`/v1/devices/${back}`);
    await s.at('2027-11-05T12:00:00Z');
    expect((await t.server.post('/v1/devices', { platform: 'web', token })).body.id).toBe(back);
    const { body } = await t.server.get(
      '/v1/reports/devices?from=2027-11-02T00:00:00Z&to=2027-11-05T00:00:00Z&group=day',
    );
    const none = { registered: 0, active: 0, invalid: 0, unsubscribed: 0 };
    const ios = { ...none, active: 1 };
    expect(body.groups.map(({ devices }: { devices: unknown }) => devices)).toEqual([
      { webpush: { ...none, registered: 3, active: 3 }, apns: { ...ios, registered: 1 }, fcm: none },
      { webpush: { ...none, active: 1, unsubscribed: 2 }, apns: ios, fcm: none },
      { webpush: { ...none, active: 1 }, apns: ios, fcm: none },
    ]);
    const now = await t.server.get('/v1/reports/devices?from=2027-11-05T00:00:00Z&to=2027-11-06T00:00:00Z');
    expect(now.body.devices.webpush).toEqual({ ...none, active: 2 });
  });

  it('events: a count for each name, and no name is a formula in a spreadsheet', async () => {
    const t = await setUp();
    const s = stage(t);
    await s.at('2027-11-02T12:00:00.500Z');
    await s.track({ name: 'page_view' }, { name: 'page_view' }, { name: '=1+1,"x"' }, { name: '__proto__' });
    await s.at('2027-11-03T00:00:00.000Z');
    await s.track({ name: 'page_view' });
    const ask = async (query: string) => (await t.server.get(`/v1/reports/events?${query}`)).body;
    const whole = await ask('from=2027-11-02T12:00:00.500Z&to=2027-11-03T00:00:00.001Z');
    expect(JSON.stringify(whole.events)).toBe(
      '{"=1+1,\\"x\\"":{"count":1},"__proto__":{"count":1},"page_view":{"count":3}}',
    );
    const days = await ask('from=2027-11-02T12:00:00.501Z&to=2027-11-04T00:00:00Z&group=day');
    expect(days.groups.map(({ events }: { events: unknown }) => events)).toEqual([{}, { page_view: { count: 1 } }]);
    const csv = await t.request('GET', '/v1/reports/events?from=2027-11-02T00:00:00Z&to=2027-11-03T00:00:00Z', {
      key: t.app.serverKey,
      headers: { accept: 'text/csv, application/json;q=0.5' },
    });
    expect(csv.body.split('\r\n').slice(1, 3)).toEqual([
      `2027-11-02T00:00:00.000Z,2027-11-03T00:00:00.000Z,"'=1+1,""x""",1`,
      '2027-11-02T00:00:00.000Z,2027-11-03T00:00:00.000Z,__proto__,1',
    ]);
  });
});

describe('the rows that a report reads', () => {
  /** Purchases and sessions without a user, none of them settled. */
  const addEvents = async (t: Bundle, at: string, count: number): Promise<void> => {
    await ensurePartitionsAt(t.sql, { atMs: Date.parse(at), nowMs: t.clock.nowMs(), waitMs: 10_000 });
    await t.sql`
      INSERT INTO events (app_id, subject_id, id, name, at, amount, currency)
      SELECT ${t.app.id}, gen_random_uuid(), gen_random_uuid(), name, ${at}::timestamptz, amount, currency
      FROM generate_series(1, ${count}::int), (VALUES ('purchase', 1, 'EUR'), ('session_start', NULL, NULL)) AS e (name, amount, currency)`;
  };

  it('engagement: no purchase from before its range', async () => {
    const t = await setUp();
    const { message } = await sale(t);
    await addEvents(t, '2027-10-05T12:00:00Z', 4_000);
    // Every chunk takes as long as half a report may take.
    let nowMs = 0;
    const clock = { ...t.clock, now: t.clock.now, steadyMs: () => (nowMs += 15_000) };
    const range = { fromMs: Date.UTC(2027, 10, 1), toMs: Date.UTC(2027, 11, 1) };
    const asked = { appId: t.app.id, range, periods: [range], after: null, limit: 10 };
    const { messages } = await reportEngagement({ sql: t.sql, clock }, asked);
    expect(messages).toMatchObject([{ messageId: decodeId('msg', message), purchases: 1 }]);
  });

  it('the overview: no install and no session, which no figure of it counts', async () => {
    const t = await setUp();
    await sale(t);
    await addEvents(t, '2027-11-04T12:00:00Z', 4_000);
    await t.sql`DELETE FROM events WHERE name = 'purchase' AND device_id IS NULL AND external_id IS NULL`;
    // The overview ends with the present quarter of an hour, and the sale is on its first instant.
    t.clock.advance(60_000);
    // Each chunk takes a third of the time that a report may take.
    let nowMs = 0;
    const clock = { ...t.clock, now: t.clock.now, steadyMs: () => (nowMs += 10_000) };
    const deps = { sql: t.sql, clock, retentionDays: 90 };
    const { spans } = await readOverview(deps, { appId: t.app.id, zone: 'UTC' });
    const month = spans.find(({ name }) => name === 'last_30_days')?.now;
    expect(month).toMatchObject({ accepted: 1, revenue: [{ total: '12.5', influenced: '12.5' }] });
  });

  it('of a segment: each member once, however many events they have', async () => {
    const t = await setUp();
    await sale(t);
    await addEvents(t, '2027-11-04T12:00:00Z', 2_500);
    await t.server.post('/v1/users', { external_id: 'ada', country: 'DE' });
    const filter = { field: 'country', op: 'eq', value: 'DE' };
    const { body } = await t.server.post('/v1/segments', { name: 'Germans', filter });
    const audience = { segment_id: body.id };
    const resolved = await resolveAudience(t.sql, t.app.id, audience, null, { audience: [], exclude: [] });
    if (!('filter' in resolved)) throw new Error('a segment has a filter');
    // A filter reads the clock once for each statement that contains it.
    let evaluations = 0;
    const clock = {
      ...t.clock,
      get now() {
        evaluations++;
        return t.clock.now;
      },
    };
    const range = { fromMs: Date.UTC(2027, 10, 1), toMs: Date.UTC(2027, 11, 1) };
    const report = await reportRevenue(
      { sql: t.sql, clock, retentionDays: 90 },
      {
        appId: t.app.id,
        range,
        periods: [range],
        windowHours: null,
        messageId: null,
        segment: resolved.filter,
        after: null,
        limit: 10,
      },
    );
    expect(report.sums.revenueOf(0)).toMatchObject([{ total: '12.5', influenced: { amount: '12.5' } }]);
    expect(evaluations).toBe(1);
  });
});

describe('GET /v1/reports/events of many names', () => {
  it('counts the names with the most events in the range; among equals the first', async () => {
    const t = await setUp();
    await t.sql`
      INSERT INTO rollups (app_id, name, bucket, currency, count, amount, last_at)
      SELECT ${t.app.id}, 'name ' || lpad(i::text, 4, '0'), at, '', CASE WHEN i > 1005 THEN 2 ELSE 1 END, 0, at
      FROM generate_series(1, 1010) AS i, unnest('{2027-11-02,2027-11-03}'::timestamptz[]) AS at`;
    for (const group of ['', '&group=month']) {
      const { body } = await t.server.get(`/v1/reports/events?${november}${group}`);
      const names = Object.keys((body.groups?.[0] ?? body).events);
      expect([names.length, names[0], names[994], names[995], names[999]]).toEqual([
        ...[1_000, 'name 0001', 'name 0995', 'name 1006', 'name 1010'],
      ]);
    }
  });
});

describe('the limits of reports', () => {
  it('R-60 exclude another app’s data: the same objects there count nowhere here', async () => {
    const t = await setUp();
    const { message } = await sale(t);
    const other = await t.newApp();
    const theirs = t.clientOf(other.serverKey);
    await ensureDeliveryPartitions(t.sql, t.clock.nowMs());
    for (const report of ['revenue', 'engagement', 'devices', 'events']) {
      const { body } = await theirs.get(`/v1/reports/${report}?${november}`);
      expect([report, JSON.stringify(body).includes(message)]).toEqual([report, false]);
      expect(body.revenue ?? body.messages ?? []).toEqual([]);
    }
    t.clock.advance(30 * hourMs);
    await settle(t);
    expect((await theirs.get(`/v1/reports/revenue?${november}`)).body).toMatchObject({ revenue: [], messages: [] });
  });

  it.each([
    [
      'no range',
      '',
      [
        ['from', 'required'],
        ['to', 'required'],
      ],
    ],
    ['a time without an offset', 'from=2027-11-01T00:00:00&to=2027-12-01T00:00:00Z', [['from', 'invalid_format']]],
    ['a range that ends before it begins', 'from=2027-12-01T00:00Z&to=2027-11-01T00:00Z', [['to', 'too_small']]],
    ['an empty range', 'from=2027-12-01T00:00Z&to=2027-12-01T00:00Z', [['to', 'too_small']]],
    ['more than 366 days', 'from=2027-01-01T00:00Z&to=2028-01-02T00:00:00.001Z', [['to', 'too_big']]],
    ['an unknown zone', `${november}&tz=Mars/Olympus`, [['tz', 'unknown_timezone']]],
    ['an offset as a zone', `${november}&tz=%2B01:00`, [['tz', 'unknown_timezone']]],
    ['an unknown group', `${november}&group=hour`, [['group', 'invalid_value']]],
    ['a window of nothing', `${november}&window_hours=0`, [['window_hours', 'too_small']]],
    ['a window of more than 30 days', `${november}&window_hours=721`, [['window_hours', 'too_big']]],
    ['a window that is no number', `${november}&window_hours=1e2`, [['window_hours', 'invalid_format']]],
    ['a limit beyond 200', `${november}&limit=201`, [['limit', 'too_big']]],
    ['a parameter that there is not', `${november}&app=x`, [['app', 'unrecognized_keys']]],
    ['a parameter twice', `${november}&tz=UTC&tz=UTC`, [['tz', 'invalid_value']]],
    ['a cursor of nobody', `${november}&cursor=abc`, [['cursor', 'invalid_value']]],
  ])('refuse %s', async (_what, query, issues) => {
    const { status, body } = await asked.server.get(`/v1/reports/revenue?${query}`);
    expect([status, body.issues?.map(({ path, code }: { path: string[]; code: string }) => [path[0], code])]).toEqual([
      400,
      issues,
    ]);
  });

  it('refuse pages of reports that have none, client keys, and unknown ids', async () => {
    for (const report of ['devices', 'events']) {
      const { body } = await asked.server.get(`/v1/reports/${report}?${november}&limit=1`);
      expect(body.issues).toMatchObject([{ path: ['limit'], code: 'unrecognized_keys' }]);
    }
    expect((await asked.client.get(`/v1/reports/events?${november}`)).body.error).toBe('wrong_key_scope');
    for (const query of [`message_id=${unknownId('msg')}`, `segment_id=${unknownId('seg')}`, 'message_id=x']) {
      expect((await asked.server.get(`/v1/reports/revenue?${november}&${query}`)).status).toBe(404);
    }
  });

  it('refuse a refund, and count nothing of its request', async () => {
    const purchase = (amount: number) => ({ name: 'purchase', properties: { amount, currency: 'EUR' } });
    const { status, body } = await asked.server.post('/v1/events', { events: [purchase(5), purchase(-5)] });
    expect([status, body.issues[0].path]).toEqual([400, ['events', 1, 'properties', 'amount']]);
    const now = asked.clock.nowMs();
    const day = `from=${new Date(now - 12 * hourMs).toISOString()}&to=${new Date(now + 12 * hourMs).toISOString()}`;
    expect((await asked.server.get(`/v1/reports/revenue?${day}`)).body.revenue).toEqual([]);
  });
});

const asked = await setUp();
