import { describe, expect, it } from 'vitest';
import { setup } from '../setup.ts';

const content = { title: 'Sale', ttl: 60 };
const audience = { all: true };
const minuteMs = 60_000;

/** 130 devices and a window of a minute: at 2 a second only 120 could be sent to. */
const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0', DEFAULT_PLAN: 'pro' } });
await t.registerMany(130);

const post = (fields: object, headers?: Record<string, string>) =>
  t.server.post('/v1/messages', { audience, content, ...fields }, headers);

async function stored(): Promise<{ messages: number; used: number }> {
  const [row] = await t.sql<{ messages: number; used: number }[]>`
    SELECT (SELECT count(*) FROM messages) AS messages, coalesce((SELECT sum(used) FROM usage), 0)::int AS used`;
  return row ?? { messages: 0, used: 0 };
}

const refusal = (limit: number) => ({
  status: 400,
  body: {
    error: 'validation_failed',
    issues: [{ path: ['per_second'], code: 'too_small', limit, message: expect.any(String) }],
  },
});

describe('per_second', () => {
  it.each([
    [0, 'too_small'],
    [-1, 'too_small'],
    [100_001, 'too_big'],
    [1.5, 'invalid_type'],
    ['10', 'invalid_type'],
  ])('%j is 400', async (perSecond, code) => {
    const { status, body } = await post({ per_second: perSecond });
    expect(status).toBe(400);
    expect(body.issues).toMatchObject([{ path: ['per_second'], code }]);
  });

  it('that cannot reach everybody within the window is refused with the lowest sufficient rate, and nothing is stored', async () => {
    const before = await stored();
    expect(await post({ per_second: 2 })).toMatchObject(refusal(3));
    expect(await stored()).toEqual(before);
  });

  it('that is just sufficient is accepted, and null means no rate', async () => {
    for (const perSecond of [3, 100_000, null]) {
      const { status, body } = await post({ per_second: perSecond });
      expect(status).toBe(200);
      expect(body.report.accepted).toBe(130);
    }
  });

  it('is checked against the largest ttl of the channels', async () => {
    expect((await post({ per_second: 2, content: { ...content, apns: { ttl: 120 } } })).status).toBe(200);
    expect(await post({ per_second: 1, content: { ...content, apns: { ttl: 120 } } })).toMatchObject(refusal(2));
  });

  it('that is too low is a warning in a dry run, with the lowest sufficient rate', async () => {
    const { status, body } = await post({ per_second: 2, dry_run: true });
    expect(status).toBe(200);
    expect(body.warnings).toEqual([{ code: 'rate_too_low', limit: 3, message: expect.any(String) }]);
    expect((await post({ per_second: 3, dry_run: true })).body.warnings).toEqual([]);
  });

  it('of a scheduled message is checked when it is accepted', async () => {
    const sendAt = new Date(t.clock.nowMs() + minuteMs).toISOString();
    const before = await stored();
    expect(await post({ per_second: 2, send_at: sendAt })).toMatchObject(refusal(3));
    expect(await stored()).toEqual(before);
    expect((await post({ per_second: 3, send_at: sendAt })).body.status).toBe('scheduled');
  });

  it('makes a request with the same Idempotency-Key a different one, and a replay is never refused for it', async () => {
    const headers = { 'idempotency-key': 'paced' };
    const first = await post({ per_second: 3 }, headers);
    expect((await post({ per_second: 4 }, headers)).body.issues).toMatchObject([{ code: 'idempotency_key_reused' }]);
    await t.registerMany(60);
    expect(await post({ per_second: 3 })).toMatchObject(refusal(4));
    expect((await post({ per_second: 3 }, headers)).body).toMatchObject({ id: first.body.id, replayed: true });
  });
});

describe('a scheduled message with per_second', () => {
  it('whose audience has grown when it runs is sent as far as its window lasts; the rest expires', async () => {
    const grown = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
    await grown.registerMany(60);
    const sendAt = new Date(grown.clock.nowMs() + minuteMs).toISOString();
    const message = { audience, content, per_second: 1, send_at: sendAt };
    const { body } = await grown.server.post('/v1/messages', message);
    expect(body.status).toBe('scheduled');
    await grown.registerMany(60);
    grown.clock.advance(minuteMs);
    grown.service.startWorkers();
    await grown.push.waitForCount(2);
    grown.clock.advance(minuteMs);
    for (;;) {
      const { body: now } = await grown.server.get(`/v1/messages/${body.id}`);
      if (now.status !== 'sent') continue;
      expect(now.report.accepted).toBe(120);
      expect(now.error_counts).toEqual({ expired: now.report.failed });
      expect(now.report.failed).toBeGreaterThan(60);
      break;
    }
  });
});
