import { describe, expect, it } from 'vitest';
import { decodeId } from '../../src/ground/values/ids.ts';
import { type Bundle, setup } from '../setup.ts';

const content = { title: 'Sale' };
const hourMs = 3_600_000;

const setUp = (environment: Record<string, string> = {}) =>
  setup({ workers: false, environment: { SEND_WAIT_MS: '0', ...environment } });

/**
 * Queues more devices than an accepting process works itself, without workers, so that the batches
 * wait.
 */
async function queue(t: Bundle, devices: number, fields: object): Promise<string> {
  await t.registerMany(devices);
  const { body } = await t.server.post('/v1/messages', { audience: { all: true }, content: { ...content, ...fields } });
  return body.id;
}

const messageOf = async (t: Bundle, id: string) => (await t.server.get(`/v1/messages/${id}`)).body;

async function usedBy(t: Bundle): Promise<number> {
  const [row] = await t.sql<{ used: number }[]>`SELECT sum(used)::int AS used FROM usage WHERE app_id = ${t.app.id}`;
  return row?.used ?? 0;
}

describe('R-91 deliveries that are open after their send window', () => {
  it('fail as expired without a request; they were accepted, so they stay charged', async () => {
    const t = await setUp({ DEFAULT_PLAN: 'pro' });
    const id = await queue(t, 60, { ttl: 30 });
    t.clock.advance(60_001);
    await t.service.startWorkers().idle();
    const message = await messageOf(t, id);
    expect(message).toMatchObject({ status: 'failed', error_counts: { expired: 60 } });
    expect(message.report).toEqual({ accepted: 60, sent: 0, failed: 60, skipped: 0 });
    expect(t.push.requests).toHaveLength(0);
    expect(await usedBy(t)).toBe(60);
    const [delivery] = (await t.server.get(`/v1/messages/${id}/deliveries?limit=1`)).body.data;
    expect(delivery.timeline.map((entry: { type: string }) => entry.type)).toEqual(['queued', 'expired']);
  });

  it('are not even read: a whole batch ends without its content', async () => {
    const t = await setUp();
    const id = await queue(t, 60, { ttl: 3600 });
    await t.sql`UPDATE messages SET content = '{"title": "{{ broken"}' WHERE id = ${decodeId('msg', id) ?? ''}`;
    t.clock.advance(hourMs);
    await t.service.startWorkers().idle();
    expect((await messageOf(t, id)).error_counts).toEqual({ expired: 60 });
  });

  it('in one batch expire alone: another batch that is due later has its whole window', async () => {
    const t = await setUp();
    const id = await queue(t, 1100, { ttl: 3600 });
    // The due times of a message in local time.
    await t.sql`
      UPDATE batches SET due_at = due_at + interval '1 hour', expires_at = expires_at + interval '1 hour',
        available_at = available_at + interval '1 hour'
      WHERE size = 100`;
    t.clock.advance(2 * hourMs - 60_000);
    await t.service.startWorkers().idle();
    expect(await messageOf(t, id)).toMatchObject({
      status: 'sent',
      report: { accepted: 1100, sent: 100, failed: 1000, skipped: 0 },
      error_counts: { expired: 1000 },
    });
    expect(t.push.requests).toHaveLength(100);
    expect(new Set(t.push.requests.map(({ headers }) => headers['ttl']))).toEqual(new Set(['60']));
  });

  it('expire by the window of their own channel, within that of the batch', async () => {
    const t = await setUp();
    const id = await queue(t, 60, { ttl: 86_400, webpush: { ttl: 120 } });
    t.clock.advance(120_001);
    await t.service.startWorkers().idle();
    expect((await messageOf(t, id)).error_counts).toEqual({ expired: 60 });
    expect(t.push.requests).toHaveLength(0);
  });

  it('expire also while they wait for a retry: nothing is sent late after a long outage', async () => {
    const t = await setUp();
    const id = await queue(t, 60, { ttl: 3600 });
    t.push.scriptAll((_request, response) => {
      response.writeHead(503, { 'retry-after': '30' });
      response.end();
    });
    const workers = t.service.startWorkers();
    await workers.idle();
    const asked = t.push.requests.length;
    t.push.scriptAll(undefined);
    t.clock.advance(hourMs);
    await workers.idle();
    expect((await messageOf(t, id)).error_counts).toEqual({ expired: 60 });
    expect(t.push.requests).toHaveLength(asked);
    const { data } = (await t.server.get(`/v1/messages/${id}/deliveries?limit=500`)).body;
    const attempts: number[] = data.map((one: { attempts: number }) => one.attempts);
    expect(attempts.reduce((sum, count) => sum + count, 0)).toBe(asked);
  });
});

describe('R-02 the 60 minutes from the first request of a delivery', () => {
  it.each([
    ['are not outlasted by an outage: its last code stays', hourMs + 1000, 'failed', 60],
    ['are its own: until then it is tried again', hourMs - 1000, 'sent', 120],
  ])('%s', async (_what, awayMs, status, requests) => {
    const t = await setUp();
    // Waits have any length from 0 on; none ends before the outage does.
    t.clock.hold(t.clock.date());
    const id = await queue(t, 60, { ttl: 86_400 });
    t.push.scriptAll((_request, response) => {
      response.writeHead(503);
      response.end();
    });
    const workers = t.service.startWorkers();
    await workers.idle();
    expect(t.push.requests).toHaveLength(60);
    t.push.scriptAll(undefined);
    t.clock.advance(awayMs);
    await workers.idle();
    const { error_counts, ...message } = await messageOf(t, id);
    expect(message).toMatchObject({ status });
    expect(error_counts).toEqual(status === 'sent' ? {} : { provider_unavailable: 60 });
    expect(t.push.requests).toHaveLength(requests);
  });
});

describe('a ttl of 0', () => {
  it('is sent as 0 within the minute that its window lasts, and tried once', async () => {
    const t = await setUp();
    const id = await queue(t, 60, { ttl: 0 });
    t.push.scriptAll((_request, response) => {
      response.writeHead(503);
      response.end();
    });
    t.clock.advance(50_000);
    await t.service.startWorkers().idle();
    expect(await messageOf(t, id)).toMatchObject({ status: 'failed', error_counts: { provider_unavailable: 60 } });
    expect(t.push.requests).toHaveLength(60);
    expect(new Set(t.push.requests.map(({ headers }) => headers['ttl']))).toEqual(new Set(['0']));
  });

  it('R-91 is not sent after that minute', async () => {
    const t = await setUp();
    const id = await queue(t, 60, { ttl: 0 });
    t.clock.advance(60_001);
    await t.service.startWorkers().idle();
    expect((await messageOf(t, id)).error_counts).toEqual({ expired: 60 });
    expect(t.push.requests).toHaveLength(0);
  });
});
