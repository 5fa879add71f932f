import { describe, expect, it } from 'vitest';
import { type Bundle, setup } from '../setup.ts';

const t = await setup();
const audience = { all: true };
const content = { title: 'Sale', body: 'Now on' };
const secondMs = 1000;
const dayMs = 24 * 3_600_000;

/** An instant this far ahead of the database's clock. */
const ahead = (ms: number): Date => new Date(t.clock.nowMs() + ms);
const schedule = (fields: object, headers?: Record<string, string>, bundle: Bundle = t) =>
  bundle.server.post('/v1/messages', { audience, content, ...fields }, headers);
const issuesOf = (body: { issues: { path: unknown[]; code: string }[] }) =>
  body.issues.map(({ path, code }) => [path.join('.'), code]);

describe('200', () => {
  it('a message with send_at is scheduled, and nothing is sent, resolved or charged yet', async () => {
    await t.registerDevice();
    const sendAt = ahead(dayMs).toISOString();
    const answer = await schedule({ send_at: sendAt });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ id: expect.stringMatching(/^msg_/), status: 'scheduled', run_at: sendAt });
    expect(Object.keys(answer.body)).toEqual(['id', 'status', 'run_at']);
    await t.workers.idle();
    const { body } = await t.server.get(`/v1/messages/${answer.body.id}`);
    const none = { accepted: 0, sent: 0, failed: 0, skipped: 0 };
    expect(body).toMatchObject({
      status: 'scheduled',
      status_reason: null,
      audience,
      audience_unmatched: 0,
      content,
      run_at: sendAt,
      started_at: null,
      finished_at: null,
      expires_at: null,
      report: none,
      by_channel: { webpush: none, apns: none, fcm: none },
      error_counts: {},
    });
    expect(body.report).toEqual(none);
    expect(t.push.requests).toHaveLength(0);
    const listed = await t.server.get('/v1/messages?status=scheduled');
    expect(listed.body.data).toMatchObject([{ id: answer.body.id, run_at: sendAt, title: 'Sale' }]);
    const deliveries = await t.server.get(`/v1/messages/${answer.body.id}/deliveries`);
    expect(deliveries.body).toMatchObject({ status: 'scheduled', report: none, data: [], has_more: false });
  });

  it.each([
    ['an offset', '+05:30'],
    ['a negative offset', '-08:00'],
    ['the offset zero', '+00:00'],
  ])('run_at is the instant in UTC, whatever %s it was written with', async (_what, offset) => {
    const instant = ahead(dayMs);
    const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)/.exec(offset) ?? [];
    const offsetMs = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
    const written = new Date(instant.getTime() + offsetMs).toISOString().replace('Z', offset);
    expect((await schedule({ send_at: written })).body.run_at).toBe(instant.toISOString());
  });

  it('is accepted 30.1 s ahead and, to the hour, 365 days ahead', async () => {
    expect((await schedule({ send_at: ahead(30_100).toISOString() })).body.status).toBe('scheduled');
    expect((await schedule({ send_at: ahead(365 * dayMs - secondMs).toISOString() })).body.status).toBe('scheduled');
  });

  it('null means now', async () => {
    expect((await schedule({ send_at: null })).body).toMatchObject({ status: 'sent', replayed: false });
  });

  it('a dry run checks send_at, counts, and schedules nothing', async () => {
    const before = await t.sql`SELECT 1 FROM messages`;
    const { body } = await schedule({ send_at: ahead(dayMs).toISOString(), dry_run: true });
    expect(body).toMatchObject({ dry_run: true, count: 1 });
    expect(await t.sql`SELECT 1 FROM messages`).toHaveLength(before.length);
    const tooSoon = await schedule({ send_at: ahead(secondMs).toISOString(), dry_run: true });
    expect(issuesOf(tooSoon.body)).toEqual([['send_at', 'too_soon']]);
  });
});

describe('local_time', () => {
  const hourMs = 3_600_000;
  const issuesWithLimit = (body: { issues: { path: string[]; code: string; limit?: string }[] }) =>
    body.issues.map(({ path, code, limit }) => ({ path: path.join('.'), code, limit }));

  it('runs at the instant of +14:00', async () => {
    const { body } = await schedule({ send_at: ahead(dayMs).toISOString(), local_time: true });
    expect(Date.parse(body.run_at)).toBeLessThan(t.clock.nowMs() + 10 * hourMs + secondMs);
    expect(Date.parse(body.run_at)).toBeGreaterThan(t.clock.nowMs() + 9 * hourMs);
    expect((await t.server.get(`/v1/messages/${body.id}`)).body.run_at).toBe(body.run_at);
  });

  it('refuses a time that is past in the first zone, and returns the earliest allowed time in the given offset', async () => {
    const s = await setup({ workers: false });
    s.clock.hold(new Date(Math.floor(s.clock.nowMs() / secondMs) * secondMs));
    const written = new Date(s.clock.nowMs() + 2 * hourMs).toISOString().replace('Z', '+01:00');
    const refused = await schedule({ send_at: written, local_time: true }, {}, s);
    const limit = new Date(s.clock.nowMs() + 14 * hourMs + 30 * secondMs).toISOString().replace('Z', '+01:00');
    expect(refused.status).toBe(400);
    expect(issuesWithLimit(refused.body)).toEqual([{ path: 'send_at', code: 'too_soon', limit }]);
    const runAt = new Date(s.clock.nowMs() + 30 * secondMs).toISOString();
    expect((await schedule({ send_at: limit, local_time: true }, {}, s)).body.run_at).toBe(runAt);
  });

  it.each(['now', 'skip'])('runs 30 s from now if past in some zone and local_time_past is %s', async (past) => {
    const s = await setup({ workers: false });
    s.clock.hold(new Date(s.clock.nowMs()));
    const soon = new Date(s.clock.nowMs() + hourMs).toISOString();
    const headers = { 'idempotency-key': 'local' };
    const request = { send_at: soon, local_time: true, local_time_past: past };
    const { body } = await schedule(request, headers, s);
    expect(body.run_at).toBe(new Date(s.clock.nowMs() + 30 * secondMs).toISOString());
    // A replay returns the first message's run_at.
    s.clock.advance(5 * secondMs);
    expect((await schedule(request, headers, s)).body).toEqual({ ...body, replayed: true });
    const tooSoon = await schedule({ ...request, send_at: new Date(s.clock.nowMs() + secondMs).toISOString() }, {}, s);
    expect(issuesWithLimit(tooSoon.body)).toEqual([{ path: 'send_at', code: 'too_soon', limit: undefined }]);
  });

  it('R-11 the same instant in another offset is another local time, and not a replay', async () => {
    const headers = { 'idempotency-key': 'wall' };
    const sendAt = ahead(2 * dayMs).toISOString();
    const first = await schedule({ send_at: sendAt, local_time: true }, headers);
    const spelled = await schedule({ send_at: sendAt.replace('Z', '+00:00'), local_time: true }, headers);
    expect(spelled.body).toEqual({ ...first.body, replayed: true });
    const elsewhere = new Date(Date.parse(sendAt) + hourMs).toISOString().replace('Z', '+01:00');
    const other = await schedule({ send_at: elsewhere, local_time: true }, headers);
    expect(issuesOf(other.body)).toEqual([['idempotency-key', 'idempotency_key_reused']]);
  });

  it.each<[string, object, [string, string]]>([
    ['without send_at', { local_time: true }, ['send_at', 'required']],
    ['with send_at: null', { local_time: true, send_at: null }, ['send_at', 'required']],
    ['as a word', { local_time: 'yes', send_at: '2026-12-01T09:00:00Z' }, ['local_time', 'invalid_type']],
    ['whose past is another word', { local_time_past: 'later' }, ['local_time_past', 'invalid_value']],
    ['whose past is a boolean', { local_time_past: true }, ['local_time_past', 'invalid_value']],
    ['that is only a past', { local_time_past: 'now' }, ['local_time', 'required']],
    ['that is false, with a past', { local_time: false, local_time_past: 'skip' }, ['local_time', 'required']],
  ])('is refused %s', async (_what, fields, issue) => {
    const answer = await schedule(fields);
    expect(answer.status).toBe(400);
    expect(issuesOf(answer.body)).toEqual([issue]);
  });

  it('false, and null for its past, count as absent', async () => {
    expect((await schedule({ local_time: false })).body.status).toBe('sent');
    expect((await schedule({ local_time: null, local_time_past: null })).body.status).toBe('sent');
    const sendAt = ahead(hourMs).toISOString();
    expect((await schedule({ send_at: sendAt, local_time: false, local_time_past: null })).body.run_at).toBe(sendAt);
  });
});

describe('Idempotency-Key', () => {
  it('R-14 a repeat returns the scheduled message with its run_at, even after it has run', async () => {
    const s = await setup();
    await s.registerDevice();
    const sendAt = new Date(s.clock.nowMs() + 60_000).toISOString();
    const headers = { 'idempotency-key': 'later' };
    const first = await schedule({ send_at: sendAt }, headers, s);
    const replay = { id: first.body.id, status: 'scheduled', run_at: sendAt, replayed: true };
    expect((await schedule({ send_at: sendAt }, headers, s)).body).toEqual(replay);
    s.clock.advance(61_000);
    await s.workers.idle();
    expect((await s.server.get(`/v1/messages/${first.body.id}`)).body.status).toBe('sent');
    const late = await schedule({ send_at: sendAt }, headers, s);
    expect(late.body).toEqual(replay);
    expect(Object.keys(late.body)).toEqual(['id', 'status', 'run_at', 'replayed']);
    expect(s.push.requests).toHaveLength(1);
  });

  it('R-10 20 concurrent identical requests schedule one message', async () => {
    const request = { send_at: ahead(dayMs).toISOString(), name: 'one of twenty' };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => schedule(request, { 'idempotency-key': 'twenty' })),
    );
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ body }) => body.replayed === undefined)).toHaveLength(1);
    expect(await t.sql`SELECT 1 FROM messages WHERE name = 'one of twenty'`).toHaveLength(1);
  });

  it('R-11 another spelling of the instant is a replay, another instant is not', async () => {
    const headers = { 'idempotency-key': 'spelled' };
    const instant = ahead(dayMs).toISOString();
    const first = await schedule({ send_at: instant }, headers);
    const spelled = await schedule({ send_at: instant.replace('Z', '+00:00') }, headers);
    expect(spelled.body).toEqual({ ...first.body, replayed: true });
    const other = await schedule({ send_at: ahead(2 * dayMs).toISOString() }, headers);
    expect(issuesOf(other.body)).toEqual([['idempotency-key', 'idempotency_key_reused']]);
  });

  it('R-13 a refused send_at does not use the key up', async () => {
    const headers = { 'idempotency-key': 'refused' };
    expect((await schedule({ send_at: ahead(secondMs).toISOString() }, headers)).status).toBe(400);
    expect((await schedule({ send_at: ahead(dayMs).toISOString() }, headers)).body.status).toBe('scheduled');
  });
});

describe('400', () => {
  const day = '2026-12-01';
  it.each<[string, () => unknown, string]>([
    ['past', () => '2020-12-01T09:00:00Z', 'too_soon'],
    ['29.9 s ahead', () => ahead(29_900).toISOString(), 'too_soon'],
    ['366 days ahead', () => ahead(366 * dayMs).toISOString(), 'too_big'],
    ['without an offset', () => `${day}T09:00:00`, 'invalid_format'],
    ['a 30th of February', () => '2026-02-30T09:00:00Z', 'invalid_format'],
    ['a 29th of February in a year without one', () => '2027-02-29T09:00:00Z', 'invalid_format'],
    ['in the year 275760', () => '+275760-09-13T00:00:00Z', 'invalid_format'],
    ['in the year 2101', () => '2101-01-01T00:00:00Z', 'invalid_format'],
    ['in the year 1999', () => '1999-12-31T00:00:00Z', 'invalid_format'],
    ['a date alone', () => day, 'invalid_format'],
    ['with an offset that has no colon', () => `${day}T09:00:00+0100`, 'invalid_format'],
    ['with hour 24', () => `${day}T24:00:00Z`, 'invalid_format'],
    ['in words', () => 'tomorrow', 'invalid_format'],
    ['an empty string', () => '', 'invalid_format'],
    ['with U+0000', () => `${day}T09:00:00Z\u0000`, 'invalid_format'],
    ['a number', () => 1_796_120_000, 'invalid_type'],
    ['true', () => true, 'invalid_type'],
    ['an object', () => ({ at: day }), 'invalid_type'],
    ['a list', () => [`${day}T09:00:00Z`], 'invalid_type'],
  ])('R-71 send_at %s', async (_what, sendAt, code) => {
    const answer = await schedule({ send_at: sendAt() });
    expect(answer).toMatchObject({ status: 400, body: { error: 'validation_failed' } });
    expect(issuesOf(answer.body)).toEqual([['send_at', code]]);
  });

  it('wrong fields are reported before a wrong time', async () => {
    const { body } = await schedule({ send_at: ahead(secondMs).toISOString(), colour: 'red' });
    expect(issuesOf(body)).toEqual([['colour', 'unrecognized_keys']]);
  });
});

describe('429', () => {
  it('only when the month is already used up: whether it fits is decided when it runs', async () => {
    const s = await setup({ environment: { DEFAULT_PLAN: 'free' } });
    await s.registerMany(3);
    const setUsed = (used: number) => s.sql`
      INSERT INTO usage (app_id, month, used) VALUES (${s.app.id}, date_trunc('month', now()), ${used})
      ON CONFLICT (app_id, month) DO UPDATE SET used = excluded.used`;
    const request = { send_at: new Date(s.clock.nowMs() + dayMs).toISOString() };
    await setUsed(9999);
    const accepted = await schedule(request, { 'idempotency-key': 'first' }, s);
    expect(accepted.body.status).toBe('scheduled');
    await setUsed(10_000);
    const refused = await schedule(request, {}, s);
    expect(refused).toMatchObject({
      status: 429,
      body: {
        error: 'quota_exceeded',
        message: 'This message needs 3 deliveries; 0 are left this month.',
        quota: { plan: 'free', limit: 10_000, used: 10_000, requested: 3 },
        upgrade: expect.any(String),
      },
    });
    expect(refused.headers.get('retry-after')).toBeNull();
    expect(await s.sql`SELECT 1 FROM messages`).toHaveLength(1);
    // The time is checked before the quota, and a replay before both.
    const tooSoon = await schedule({ send_at: new Date(s.clock.nowMs()).toISOString() }, {}, s);
    expect(issuesOf(tooSoon.body)).toEqual([['send_at', 'too_soon']]);
    expect((await schedule(request, { 'idempotency-key': 'first' }, s)).body).toEqual({
      ...accepted.body,
      replayed: true,
    });
  });
});
