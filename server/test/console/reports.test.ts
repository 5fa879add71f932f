// The reports of the console against what was sent, clicked and bought: every figure here is
// counted by hand.
import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/ground/host/log.ts';
import { decodeId, encodeId, mintUuid } from '../../src/ground/values/ids.ts';
import { doAskedRebuilds } from '../../src/insight/reports/asked-rebuild.ts';
import { startNextRebuild } from '../../src/insight/reports/asked-rebuild-queries.ts';
import { type MessageFigures, readMessageFigures } from '../../src/insight/reports/message-figures.ts';
import { foldOutcomes, forgetOldOutcomes } from '../../src/sending/delivery/fold-totals.ts';
import { addDeltas } from '../../src/sending/delivery/totals-queries.ts';
import { clickLook, hasClick } from '../../src/sending/messages/stored-queries.ts';
import { createToken } from '../../src/teams/accounts/operator-tokens.ts';
import type { Role } from '../../src/teams/accounts/roles.ts';
import { receiptTokenOf } from '../receipt-tokens.ts';
import { march, playMarch, stage } from '../reports/ledger.ts';
import { rowsReadBy } from '../rows-read.ts';
import { type Bundle, setup, unknownId } from '../setup.ts';
import { firstOrganisationId, type Send } from './console.ts';

interface Script {
  readonly name: string;
  readonly send: Send;
  /** The rows of a report as CSV. */
  csv(path: string): Promise<string[]>;
}

/** A script by its operator token, which does not end when the clock is set. */
async function scriptOf(t: Bundle, role: Role): Promise<Script> {
  const name = `script of ${role}`;
  const { text: key } = await createToken(t, { organisationId: firstOrganisationId, name, role });
  return {
    name,
    send: (method, path, body) =>
      t.request(method, `/console/api${path}`, { key, ...(body !== undefined && { body }) }),
    async csv(path) {
      const answer = await t.request('GET', `/console/api${path}`, { key, headers: { accept: 'text/csv' } });
      expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
      return answer.body.trimEnd().split('\r\n');
    },
  };
}

const setUp = async () => {
  const t = await setup({ workers: false });
  const app = encodeId('app', t.app.id);
  const at = (path: string): string => `/apps/${app}${path}`;
  return { t, at, viewer: await scriptOf(t, 'viewer') };
};
const none = { amount: '0', purchases: 0 };
const log = createLog('silent', 'test');

describe('revenue', () => {
  it('tells purchases apart whose windows are open, in every period and for every way to ask', async () => {
    const { t, at, viewer } = await setUp();
    const s = stage(t);
    await s.at('2027-11-05T12:00:00Z');
    await s.deviceOf('ada');
    await s.send({ external_ids: ['ada'] });
    await s.at('2027-11-05T13:00:00Z');
    await s.buy({ external_id: 'ada' }, 12.5, 'EUR');
    await s.buy({ external_id: 'nobody' }, 1, 'USD');
    await s.at('2027-11-06T11:00:00Z');
    await s.buy({ external_id: 'ada' }, 7, 'EUR');
    await t.server.post('/v1/users', { external_id: 'ada', country: 'DE' });
    const filter = { field: 'country', op: 'eq', value: 'DE' };
    const { body: segment } = await t.server.post('/v1/segments', { name: 'Germans', filter });
    const range = 'from=2027-11-05T00:00:00Z&to=2027-11-07T00:00:00Z';
    const openOf = async (query = '') => {
      const { body } = await viewer.send('GET', at(`/reports/revenue?${range}${query}`));
      const rows = body.revenue ?? body.groups.flatMap((group: { revenue: object[] }) => group.revenue);
      return rows.map((row: { currency: string; open: object }) => [row.currency, row.open]);
    };
    const both = { amount: '19.5', purchases: 2 };
    const later = { amount: '7', purchases: 1 };
    expect(await openOf()).toEqual([
      ['EUR', both],
      ['USD', { amount: '1', purchases: 1 }],
    ]);
    t.clock.advance(3 * 3_600_000);
    expect(await openOf()).toEqual([
      ['EUR', later],
      ['USD', none],
    ]);
    expect(await openOf('&group=day')).toEqual([
      ['EUR', none],
      ['USD', none],
      ['EUR', later],
    ]);
    expect(await openOf(`&segment_id=${segment.id}`)).toEqual([['EUR', later]]);
    expect(await openOf('&window_hours=48')).toEqual([
      ['EUR', both],
      ['USD', { amount: '1', purchases: 1 }],
    ]);
    const [heading, first] = await viewer.csv(at(`/reports/revenue?${range}`));
    expect(heading?.split(',').slice(-4)).toEqual(['open_amount', 'open_purchases', 'name', 'title']);
    expect(first?.split(',').slice(-4)).toEqual(['7', '1', '', '']);
    t.clock.advance(30 * 3_600_000);
    expect(await openOf()).toEqual([
      ['EUR', none],
      ['USD', none],
    ]);
  });
});

describe('revenue by message', () => {
  it('names messages that were sent before the range', async () => {
    const { t, at, viewer } = await setUp();
    const s = stage(t);
    await s.at('2027-11-05T20:00:00Z');
    await s.deviceOf('ada');
    const id = await s.send({ external_ids: ['ada'] });
    await t.sql`UPDATE messages SET name = 'Evening' WHERE id = ${decodeId('msg', id) ?? ''}`;
    await s.at('2027-11-06T11:00:00Z');
    await s.buy({ external_id: 'ada' }, 7, 'EUR');
    const range = 'from=2027-11-06T00:00:00Z&to=2027-11-07T00:00:00Z';
    const { body } = await viewer.send('GET', at(`/reports/revenue?${range}&group=day`));
    const [row] = body.messages;
    expect(row).toMatchObject({ message_id: id, name: 'Evening', influenced: { amount: '7', purchases: 1 } });
    expect(row.title).toBe('Sale');
    // A message without a name is known by its title.
    await t.sql`UPDATE messages SET name = NULL WHERE id = ${decodeId('msg', id) ?? ''}`;
    const day = 'from=2027-11-05T00:00:00Z&to=2027-11-06T00:00:00Z';
    const { body: engagement } = await viewer.send('GET', at(`/reports/engagement?${day}`));
    expect(engagement.messages).toMatchObject([{ message_id: id, name: null, title: 'Sale', purchases: 1 }]);
    // The CSV has the names of the table, and no name begins a formula.
    const [, , ofMessage] = await viewer.csv(at(`/reports/revenue?${range}`));
    expect(ofMessage?.split(',').slice(2, 3)).toEqual([id]);
    expect(ofMessage?.split(',').slice(-2)).toEqual(['', 'Sale']);
    await t.sql`UPDATE messages SET name = '=Evening' WHERE id = ${decodeId('msg', id) ?? ''}`;
    expect((await viewer.csv(at(`/reports/revenue?${range}`)))[2]?.split(',').slice(-2)).toEqual(["'=Evening", 'Sale']);
    const [columns, engaged] = await viewer.csv(at(`/reports/engagement?${day}`));
    expect([columns?.split(',').at(-1), engaged?.split(',').at(-1)]).toEqual(['title', 'Sale']);
    expect(engaged?.split(',').slice(0, 2)).toEqual([id, "'=Evening"]);
  });
});

describe('the first click', () => {
  it('is found on the newest and on the oldest messages, by reading few rows', async () => {
    const { t, at, viewer } = await setUp();
    const s = stage(t);
    await s.at('2027-11-05T20:00:00Z');
    const ada = await s.deviceOf('ada');
    const isSeen = async () => (await viewer.send('GET', at('/first-click'))).body;
    expect(await isSeen()).toEqual({ seen: false });
    const id = await s.send({ external_ids: ['ada'] });
    expect(await isSeen()).toEqual({ seen: false });
    await s.click(id, ada);
    expect(await isSeen()).toEqual({ seen: true });
    const other = await t.newApp();
    expect((await viewer.send('GET', `/apps/${encodeId('app', other.id)}/first-click`)).body).toEqual({ seen: false });

    // An app has far more messages than are looked at, and each of them has one batch.
    const copyOf = async (number: number, days: number): Promise<void> => {
      await t.sql`
        WITH copied AS (
          INSERT INTO messages (app_id, id, fingerprint, status, created_by, audience, content, created_at, started_at,
            finished_at, expires_at)
          SELECT app_id, gen_random_uuid(), fingerprint, status, created_by, audience, content, created_at,
            started_at + make_interval(days => ${days}, secs => n), finished_at, expires_at
          FROM messages CROSS JOIN generate_series(1, ${number}::int) AS n
          WHERE app_id = ${t.app.id} AND id = ${decodeId('msg', id) ?? ''}
          RETURNING app_id, id
        )
        INSERT INTO batches (id, app_id, message_id, device_ids, size, state, queued_at, due_at, expires_at, available_at,
          sent, finished_at)
        SELECT gen_random_uuid(), c.app_id, c.id, b.device_ids, b.size, b.state, b.queued_at, b.due_at, b.expires_at,
          b.available_at, b.sent, b.finished_at
        FROM copied c CROSS JOIN batches b WHERE b.message_id = ${decodeId('msg', id) ?? ''}`;
    };
    await copyOf(2_000, 1);
    expect(await isSeen()).toEqual({ seen: true });
    await copyOf(2_000, -2);
    // Now the click is in the middle, too far from both ends.
    expect(await isSeen()).toEqual({ seen: false });
    await t.sql`ANALYZE messages, batches`;
    const read = await rowsReadBy(t.sql, (tx) => hasClick(tx, t.app.id));
    expect(read.get('batches')).toBeLessThanOrEqual(clickLook.batches);
    expect(read.get('messages')).toBeLessThanOrEqual(2 * clickLook.messagesPerEnd);
  });
});

describe('the overview', () => {
  it("has yesterday, 7 and 30 days beside the time before, in days of the viewer's zone", async () => {
    const { t, at, viewer } = await setUp();
    const ledger = await playMarch(stage(t));
    // Noon in Berlin on 29 March: the day before had 23 hours.
    t.clock.hold(new Date('2027-03-29T10:00:00Z'));
    const { status, body } = await viewer.send('GET', at('/overview?tz=Europe/Berlin'));
    expect(status).toBe(200);
    const [yesterday, week, month] = body.spans;
    expect(
      body.spans.map(({ name, now }: { name: string; now: { from: string; to: string } }) => [name, now.from, now.to]),
    ).toEqual([
      ['yesterday', '2027-03-27T23:00:00.000Z', '2027-03-28T22:00:00.000Z'],
      ['last_7_days', '2027-03-22T11:00:00.000Z', '2027-03-29T10:00:00.000Z'],
      ['last_30_days', '2027-02-27T11:00:00.000Z', '2027-03-29T10:00:00.000Z'],
    ]);
    expect(yesterday.now.revenue).toEqual([{ currency: 'EUR', total: '6', direct: '0', influenced: '0' }]);
    expect(yesterday.before.revenue).toEqual([{ currency: 'EUR', total: '1', direct: '0', influenced: '0' }]);
    expect(week.now).toMatchObject({ accepted: 0, revenue: [{ currency: 'EUR', total: '15' }] });
    expect(week.before).toMatchObject({ accepted: 2, sent: 2, failed: 0, clicked: 1 });
    // All seven messages, eight devices; the purchase of 28 February belongs to the month too.
    expect(month.now).toMatchObject({ accepted: 9, sent: 9, failed: 0, clicked: 4, active_devices: 5 });
    const march = ledger.revenue as { currency: string; total: string; direct: { amount: string } }[];
    for (const { currency, total, direct } of march) {
      const found = month.now.revenue.find((row: { currency: string }) => row.currency === currency);
      expect([found.total, found.direct]).toEqual([currency === 'EUR' ? '231.12' : total, direct.amount]);
    }
    expect(month.before).toMatchObject({ accepted: 0, active_devices: 4, revenue: [] });
    expect(body.days).toHaveLength(30);
    const total = (name: string) =>
      body.days.reduce((sum: number, day: Record<string, number>) => sum + (day[name] ?? 0), 0);
    expect([total('accepted'), total('clicked')]).toEqual([9, 4]);
    expect(body.days.at(-1)).toMatchObject({ from: '2027-03-28T22:00:00.000Z', revenue: [{ total: '8' }] });
    const rows = await viewer.csv(at('/overview?tz=Europe/Berlin'));
    expect(rows.at(-1)).toBe('2027-03-28T22:00:00.000Z,2027-03-29T10:00:00.000Z,0,0,0,0,5,EUR,8,0,0');
    expect((await viewer.send('GET', at('/overview?tz=Nowhere'))).body.issues).toMatchObject([{ path: ['tz'] }]);
  });

  it('of an empty app is zeros, and reads no other app', async () => {
    const { t, viewer } = await setUp();
    await playMarch(stage(t));
    const other = await t.newApp();
    const { body } = await viewer.send('GET', `/apps/${encodeId('app', other.id)}/overview`);
    for (const figures of [
      ...body.days,
      ...body.spans.flatMap((span: { now: object; before: object }) => [span.now, span.before]),
    ]) {
      expect(figures).toMatchObject({ accepted: 0, sent: 0, failed: 0, clicked: 0, active_devices: 0, revenue: [] });
    }
  });
});

describe('deliverability', () => {
  const range = 'from=2027-05-01T00:00:00Z&to=2027-05-03T00:00:00Z';

  it('counts each delivery once, by push service and code, before and after its sums are folded', async () => {
    const { t, at, viewer } = await setUp();
    const s = stage(t);
    // Ten past midnight in India, whose days begin at half past six in the evening in UTC.
    await s.at('2027-05-01T18:40:00Z');
    await t.registerMany(40);
    t.push.script('gone', (_request, response) => response.writeHead(410).end());
    await t.registerDevice({ token: JSON.stringify(t.pushSubscription('gone')) });
    const { body: first } = await t.server.post('/v1/messages', { audience: { all: true }, content: { title: 'One' } });
    expect(first.report).toMatchObject({ sent: 40, failed: 1 });
    await t.judged();
    await s.at('2027-05-02T12:00:00Z');
    await t.server.post('/v1/messages', { audience: { all: true }, content: { title: 'Two' } });
    const ask = async (query = range) => (await viewer.send('GET', at(`/reports/deliverability?${query}`))).body;
    const before = await ask();
    expect(before.services).toMatchObject([
      { channel: 'webpush', provider: 'other', sent: 80, failed: 1, error_counts: { unregistered: 1 } },
    ]);
    expect(before.services[0].p50_ms).toBeLessThanOrEqual(before.services[0].p95_ms);
    await Promise.all([foldOutcomes(t), foldOutcomes(t)]);
    expect(await t.sql`SELECT FROM delivery_deltas`).toHaveLength(0);
    expect(await ask()).toEqual(before);
    const days = await ask(`${range}&group=day&tz=Asia/Kolkata`);
    expect(days.groups.map(({ services }: { services: { sent: number }[] }) => services[0]?.sent ?? 0)).toEqual([
      0, 80, 0,
    ]);
    const [heading, ...rows] = await viewer.csv(at(`/reports/deliverability?${range}&group=day`));
    expect(heading).toMatch(/^from,to,channel,provider,sent,failed,p50_ms,p95_ms,unregistered,/);
    expect(rows.map((row) => row.split(',').slice(2, 6))).toEqual([
      ['webpush', 'other', '40', '1'],
      ['webpush', 'other', '40', '0'],
    ]);
    const other = encodeId('app', (await t.newApp()).id);
    expect((await viewer.send('GET', `/apps/${other}/reports/deliverability?${range}`)).body.services).toEqual([]);
  });

  it('answers percentiles from counts, and forgets sums that no report can ask for', async () => {
    const { t, at, viewer } = await setUp();
    await stage(t).at('2029-05-02T00:00:00Z');
    const bucketMs = Date.parse('2027-05-01T12:00:00Z');
    const total = { bucketMs, channel: 1, vendor: 2, code: 0 };
    await addDeltas(t.sql, t.app.id, [
      { ...total, step: 4, count: 90 },
      { ...total, step: 14, count: 10 },
    ]);
    await foldOutcomes(t);
    const ask = async () => (await viewer.send('GET', at(`/reports/deliverability?${range}`))).body.services;
    // Half of the hundred are 5/9 of the way from 22.6 ms to 32 ms; 95 are half way from 724 to
    // 1,024.
    expect(await ask()).toEqual([
      { channel: 'apns', provider: 'apple', sent: 100, failed: 0, error_counts: {}, p50_ms: 28, p95_ms: 874 },
    ]);
    await forgetOldOutcomes(t);
    expect(await ask()).toHaveLength(1);
    t.clock.advance(2 * 86_400_000);
    await forgetOldOutcomes(t);
    expect(await ask()).toEqual([]);
  });
});

describe('one message over time', () => {
  it('has outcomes by minute, marks by hour, both by channel, and the purchases credited to it', async () => {
    const { t, at, viewer } = await setUp();
    const s = stage(t);
    await s.at('2027-06-01T12:00:30Z');
    const devices = [await s.deviceOf('ada'), await s.deviceOf('bob')];
    const id = await s.send({ external_ids: ['ada', 'bob'] });
    const mark = async (device: string, event: string): Promise<void> => {
      const token = await receiptTokenOf(t, id, device);
      expect((await t.request('POST', '/v1/receipts', { body: { token, event } })).status).toBe(200);
    };
    await mark(devices[0] ?? '', 'displayed');
    await s.at('2027-06-01T14:10:00Z');
    await mark(devices[0] ?? '', 'clicked');
    await s.buy({ external_id: 'ada' }, 20, 'EUR');
    const ask = async () => (await viewer.send('GET', at(`/messages/${id}/figures`))).body;
    const early = await ask();
    expect(early.marks.step).toBe('minute');
    expect(early.marks.points).toHaveLength(131);
    await s.at('2027-06-10T12:00:00Z');
    await mark(devices[1] ?? '', 'dismissed');
    const none = { sent: 0, failed: 0, displayed: 0, clicked: 0, dismissed: 0 };
    expect(await ask()).toEqual({
      accepted: 2,
      read: 2,
      outcomes: { step: 'minute', points: [{ at: '2027-06-01T12:00:00.000Z', sent: 2, failed: 0 }] },
      marks: {
        step: 'hour',
        points: [
          { at: '2027-06-01T12:00:00.000Z', displayed: 1, clicked: 0, dismissed: 0 },
          { at: '2027-06-01T13:00:00.000Z', displayed: 0, clicked: 0, dismissed: 0 },
          { at: '2027-06-01T14:00:00.000Z', displayed: 0, clicked: 1, dismissed: 0 },
        ],
      },
      later_marks: { displayed: 0, clicked: 0, dismissed: 1 },
      by_channel: { webpush: { sent: 2, failed: 0, displayed: 1, clicked: 1, dismissed: 1 }, apns: none, fcm: none },
      purchases: 1,
      revenue: [{ currency: 'EUR', direct: { amount: '20', purchases: 1 }, influenced: { amount: '0', purchases: 0 } }],
    });
  });

  it('of many batches is drawn from some of them, scaled to the exact totals', async () => {
    const { t } = await setUp();
    const device = await t.registerDevice();
    const { body } = await t.server.post('/v1/messages', { audience: { all: true }, content: { title: 'Many' } });
    const id = decodeId('msg', body.id) ?? '';
    await t.request('POST', '/v1/receipts', {
      body: { token: await receiptTokenOf(t, body.id, device), event: 'displayed' },
    });
    // Nine more batches like the first one, of which the last was displayed nowhere.
    const batches = Array.from({ length: 9 }, () => mintUuid(t.clock.nowMs()));
    for (const [i, batch] of batches.entries()) {
      const displayed = i < 8 ? 1 : 0;
      await t.sql`
        INSERT INTO batches (id, app_id, message_id, device_ids, size, state, queued_at, due_at, expires_at, available_at, sent,
          displayed, finished_at)
        SELECT ${batch}, app_id, message_id, device_ids, size, state, queued_at, due_at, expires_at, available_at, sent,
          ${displayed}::int, finished_at
        FROM batches WHERE message_id = ${id} LIMIT 1`;
      await t.sql`
        INSERT INTO deliveries (batch_id, device_id, done_at, displayed_at, channel, status, attempts)
        SELECT ${batch}, device_id, done_at, CASE WHEN ${displayed}::int = 1 THEN displayed_at END, channel, status, attempts
        FROM deliveries d WHERE batch_id = (SELECT id FROM batches WHERE message_id = ${id} ORDER BY id LIMIT 1)`;
    }
    await t.sql`UPDATE messages SET webpush_accepted = 10, webpush_sent = 10 WHERE id = ${id}`;
    const totals = (figures: MessageFigures | undefined) => [
      figures?.read,
      figures?.outcomes.points.reduce((sum, { sent }) => sum + sent, 0),
      figures?.marks.points.reduce((sum, { displayed }) => sum + displayed, 0),
    ];
    expect(totals(await readMessageFigures(t, t.app.id, id))).toEqual([10, 10, 9]);
    expect(totals(await readMessageFigures({ ...t, readMost: 5 }, t.app.id, id))).toEqual([5, 10, 9]);
  });

  it('is 404 for a message that another app has, or nobody', async () => {
    const { t, viewer } = await setUp();
    const s = stage(t);
    await s.at('2027-06-01T12:00:00Z');
    await s.deviceOf('ada');
    const id = await s.send({ external_ids: ['ada'] });
    const other = encodeId('app', (await t.newApp()).id);
    for (const one of [id, unknownId('msg'), 'msg_x']) {
      expect((await viewer.send('GET', `/apps/${other}/messages/${one}/figures`)).status).toBe(404);
    }
  });
});

describe('rebuilding reports', () => {
  it('is asked for by an admin, done by a worker, done again after a crash, and stands in the audit log', async () => {
    const { t, at, viewer } = await setUp();
    const ledger = await playMarch(stage(t));
    const admin = await scriptOf(t, 'admin');
    const last = async () => (await viewer.send('GET', at('/reports/rebuild'))).body.rebuild;
    expect(await last()).toBeNull();
    const asked = await admin.send('POST', at('/reports/rebuild'), {});
    expect(asked).toMatchObject({ status: 200, body: { status: 'waiting', from: null, to: null } });
    expect((await admin.send('POST', at('/reports/rebuild'), {})).body).toEqual(asked.body);
    await t.sql`DELETE FROM rollups`;
    await t.sql`DELETE FROM rollup_deltas`;
    // A process began it and died.
    await t.sql`UPDATE report_rebuilds SET started_at = asked_at`;
    expect((await last()).status).toBe('running');
    await doAskedRebuilds({ ...t, log });
    expect(await last()).toMatchObject({ status: 'done', events: 30 });
    const { body } = await viewer.send('GET', at(`/reports/revenue?${march}&tz=Europe/Berlin`));
    expect(body.revenue).toMatchObject(ledger.revenue);
    const entries = await t.sql`SELECT actor_name FROM audit_entries WHERE action = 'reports.rebuild'`;
    expect(entries.map(({ actorName }) => actorName)).toEqual([admin.name]);
    const range = { from: '2027-03-02T00:00:00.000Z', to: '2027-03-01T00:00:00.000Z' };
    expect((await admin.send('POST', at('/reports/rebuild'), range)).body.issues).toMatchObject([{ path: ['to'] }]);
    const impossible = { from: '2026-13-45T99:99:99.999Z' };
    expect((await admin.send('POST', at('/reports/rebuild'), impossible)).body.issues).toMatchObject([
      { path: ['from'], code: 'invalid_format' },
    ]);
  });

  it('that fails has the reason, and may be asked for again', async () => {
    const { t, at, viewer } = await setUp();
    const admin = await scriptOf(t, 'admin');
    await admin.send('POST', at('/reports/rebuild'), {});
    await t.sql`ALTER TABLE rollups RENAME TO elsewhere`;
    await doAskedRebuilds({ ...t, log });
    await t.sql`ALTER TABLE elsewhere RENAME TO rollups`;
    expect((await viewer.send('GET', at('/reports/rebuild'))).body.rebuild).toMatchObject({ status: 'failed' });
    expect((await admin.send('POST', at('/reports/rebuild'), {})).body.status).toBe('waiting');
    await doAskedRebuilds({ ...t, log });
    expect((await viewer.send('GET', at('/reports/rebuild'))).body.rebuild).toMatchObject({ status: 'done' });
  });

  it('is given up after its process died three times, so that others get their turn', async () => {
    const { t, at, viewer } = await setUp();
    const admin = await scriptOf(t, 'admin');
    await admin.send('POST', at('/reports/rebuild'), {});
    // Each process began it and died.
    for (let process = 0; process < 3; process++) await startNextRebuild(t.sql, t.clock);
    await doAskedRebuilds({ ...t, log });
    expect((await viewer.send('GET', at('/reports/rebuild'))).body.rebuild).toMatchObject({ status: 'failed' });
    await admin.send('POST', at('/reports/rebuild'), {});
    await doAskedRebuilds({ ...t, log });
    expect((await viewer.send('GET', at('/reports/rebuild'))).body.rebuild).toMatchObject({ status: 'done' });
  });
});
