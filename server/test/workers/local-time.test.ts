import { describe, expect, it } from 'vitest';
import { decodeId } from '../../src/ground/values/ids.ts';
import { type Bundle, setup } from '../setup.ts';

const content = { title: 'Good morning', ttl: 3600 };
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const none = { accepted: 0, sent: 0, failed: 0, skipped: 0 };

// Zones without daylight saving time, so that the season does not matter.
const first = 'Etc/GMT-14';
const india = 'Asia/Kolkata';
const pacific = 'Etc/GMT+8';

/**
 * Without workers: each test starts them when it is ready. It is noon at UTC. The plan counts
 * deliveries.
 */
async function setUp(plan = 'pro') {
  const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0', DEFAULT_PLAN: plan } });
  const midnight = Math.floor(t.clock.nowMs() / dayMs) * dayMs;
  t.clock.hold(new Date(midnight + 12 * hourMs));
  /** An hour of today, at UTC. */
  const today = (hour: number): Date => new Date(midnight + hour * hourMs);
  /** That hour of local time, with an offset. */
  const onTheWall = (hour: number, offset = 'Z'): string => today(hour).toISOString().replace('Z', offset);
  const passTo = (at: Date): void => t.clock.advance(at.getTime() - t.clock.nowMs());
  return { t, today, onTheWall, passTo };
}

async function send(t: Bundle, fields: object): Promise<string> {
  const request = { audience: { all: true }, content, local_time: true, ...fields };
  const { status, body } = await t.server.post('/v1/messages', request);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return body.id;
}

const read = async (t: Bundle, message: string) => (await t.server.get(`/v1/messages/${message}`)).body;

async function usedBy(t: Bundle): Promise<number> {
  const [row] = await t.sql<{ used: number }[]>`SELECT sum(used)::int AS used FROM usage WHERE app_id = ${t.app.id}`;
  return row?.used ?? 0;
}

const batchesOf = (t: Bundle, message: string) => t.sql<
  { dueAt: Date; expiresAt: Date; size: number; skipReason: string | null }[]
>`
  SELECT due_at, expires_at, size, skip_reason FROM batches WHERE message_id = ${decodeId('msg', message) ?? ''}
  ORDER BY id`;

/** Registers web devices in bulk, all in one zone. */
async function registerIn(t: Bundle, zone: string | null, count: number): Promise<void> {
  await t.registerMany(count);
  await t.sql`UPDATE audience SET timezone = ${zone ?? 'none'} WHERE app_id = ${t.app.id} AND timezone IS NULL`;
  if (zone === null) await t.sql`UPDATE audience SET timezone = NULL WHERE timezone = 'none'`;
}

describe('a message in local time', () => {
  it("reaches each device by its own clock: its zone, else its user's zone, else the written offset", async () => {
    const { t, today, onTheWall, passTo } = await setUp();
    await t.registerDevice({ timezone: first });
    const user = { external_id: 'u-1', timezone: india };
    await t.server.post('/v1/users', { ...user, device_id: await t.registerDevice() });
    await t.server.post('/v1/users', { ...user, device_id: await t.registerDevice({ timezone: pacific }) });
    await t.registerDevice();
    // Nine in the morning of tomorrow.
    const message = await send(t, { send_at: onTheWall(33, '+01:00') });
    expect(await read(t, message)).toMatchObject({ status: 'scheduled', run_at: today(19).toISOString() });
    const workers = t.service.startWorkers();
    await workers.idle();
    expect(t.push.requests).toHaveLength(0);

    passTo(today(19));
    await workers.idle();
    const expires = new Date(today(41).getTime() + hourMs).toISOString();
    expect(await read(t, message)).toMatchObject({
      status: 'sending',
      expires_at: expires,
      finished_at: null,
      report: { ...none, accepted: 4, sent: 1, pending: 3 },
    });
    expect(await usedBy(t)).toBe(4);
    const dues = [19, 27.5, 32, 41].map((hour) => today(hour));
    expect((await batchesOf(t, message)).map(({ dueAt, expiresAt, size }) => [dueAt, expiresAt, size])).toEqual(
      dues.map((due) => [due, new Date(due.getTime() + hourMs), 1]),
    );

    // A device that registers later does not get the message.
    await t.registerDevice({ timezone: india });
    for (const [index, due] of dues.entries()) {
      if (index === 0) continue;
      passTo(new Date(due.getTime() - 1));
      await workers.idle();
      expect(t.push.requests).toHaveLength(index);
      passTo(due);
      await workers.idle();
      expect(t.push.requests).toHaveLength(index + 1);
    }
    expect(await read(t, message)).toMatchObject({
      status: 'sent',
      expires_at: expires,
      report: { accepted: 4, sent: 4, failed: 0, skipped: 0 },
    });
  });

  it('R-91 gives each zone its whole window, from its own instant', async () => {
    const { t, today, onTheWall, passTo } = await setUp();
    await registerIn(t, first, 2);
    await registerIn(t, pacific, 3);
    const message = await send(t, { send_at: onTheWall(33) });
    // The first zone's window ends at 20.
    passTo(today(20));
    const workers = t.service.startWorkers();
    await workers.idle();
    expect((await read(t, message)).report).toEqual({ ...none, accepted: 5, failed: 2, pending: 3 });
    passTo(new Date(today(42).getTime() - 1));
    await workers.idle();
    expect(await read(t, message)).toMatchObject({
      status: 'sent',
      report: { accepted: 5, sent: 3, failed: 2, skipped: 0 },
      error_counts: { expired: 2 },
    });
  });

  it('makes batches for each zone, however many, in the order of their due times', async () => {
    const { t, today, onTheWall, passTo } = await setUp();
    await registerIn(t, pacific, 1200);
    for (let offset = 1; offset <= 12; offset++) await registerIn(t, `Etc/GMT-${offset}`, 1);
    for (let offset = 1; offset <= 7; offset++) await registerIn(t, `Etc/GMT+${offset}`, 1);
    const message = await send(t, { send_at: onTheWall(33) });
    passTo(today(19));
    await t.service.startWorkers().idle();
    const batches = await batchesOf(t, message);
    expect(batches.map(({ size }) => size)).toEqual([...Array(19).fill(1), 1000, 200]);
    const dues = batches.map(({ dueAt }) => dueAt.getTime());
    expect(dues).toEqual(dues.toSorted((a, b) => a - b));
    expect(new Set(dues).size).toBe(20);
    expect((await read(t, message)).report).toEqual({ ...none, accepted: 1219, pending: 1219 });
  });

  it('uses the written offset for a device whose zone is no longer known', async () => {
    const { t, today, onTheWall, passTo } = await setUp();
    await registerIn(t, 'Europe/Atlantis', 1);
    const message = await send(t, { send_at: onTheWall(33, '+02:00') });
    passTo(today(19));
    await t.service.startWorkers().idle();
    expect((await batchesOf(t, message)).map(({ dueAt }) => dueAt)).toEqual([today(31)]);
  });
});

describe('zones in which the time has passed', () => {
  it('now: are sent to when the message runs, and their window begins then', async () => {
    const { t, today, onTheWall, passTo } = await setUp();
    await registerIn(t, first, 2);
    await registerIn(t, india, 3);
    await registerIn(t, pacific, 4);
    // One in the afternoon: past at +14:00 and in India.
    const message = await send(t, { send_at: onTheWall(13), local_time_past: 'now' });
    const runAt = new Date(today(12).getTime() + 30_000);
    expect((await read(t, message)).run_at).toBe(runAt.toISOString());
    passTo(runAt);
    const workers = t.service.startWorkers();
    await workers.idle();
    expect((await batchesOf(t, message)).map(({ dueAt, size }) => [dueAt, size])).toEqual([
      [runAt, 5],
      [today(21), 4],
    ]);
    expect((await read(t, message)).report).toEqual({ ...none, accepted: 9, sent: 5, pending: 4 });
    passTo(today(21));
    await workers.idle();
    expect(await read(t, message)).toMatchObject({ status: 'sent', report: { accepted: 9, sent: 9 } });
  });

  it('skip: are skipped as local_time_past without a push, and refunded', async () => {
    const { t, today, onTheWall, passTo } = await setUp();
    await registerIn(t, first, 2);
    await registerIn(t, pacific, 4);
    const message = await send(t, { send_at: onTheWall(13), local_time_past: 'skip' });
    passTo(new Date(today(12).getTime() + 30_000));
    const workers = t.service.startWorkers();
    await workers.idle();
    expect(t.push.requests).toHaveLength(0);
    expect(await read(t, message)).toMatchObject({
      status: 'sending',
      report: { ...none, accepted: 6, skipped: 2, pending: 4 },
      error_counts: { local_time_past: 2 },
    });
    expect(await usedBy(t)).toBe(4);
    const skipped = await t.server.get(`/v1/messages/${message}/deliveries?error_code=local_time_past`);
    expect(skipped.body.data).toHaveLength(2);
    expect(skipped.body.data[0]).toMatchObject({ status: 'skipped', attempts: 0 });
    passTo(today(21));
    await workers.idle();
    expect(await read(t, message)).toMatchObject({
      status: 'sent',
      report: { accepted: 6, sent: 4, failed: 0, skipped: 2 },
    });
    expect(await usedBy(t)).toBe(4);
  });

  it('skip: with only such zones the message ends as sent, without a push', async () => {
    const { t, today, onTheWall, passTo } = await setUp();
    await registerIn(t, first, 2);
    const message = await send(t, { send_at: onTheWall(13), local_time_past: 'skip' });
    passTo(new Date(today(12).getTime() + 30_000));
    await t.service.startWorkers().idle();
    expect(await read(t, message)).toMatchObject({ status: 'sent', report: { ...none, accepted: 2, skipped: 2 } });
    expect(await usedBy(t)).toBe(0);
  });
});

describe('as one message', () => {
  it('a cancel between zones cancels the remaining ones and refunds them', async () => {
    const { t, today, onTheWall, passTo } = await setUp();
    await registerIn(t, first, 2);
    await registerIn(t, india, 3);
    await registerIn(t, pacific, 4);
    const message = await send(t, { send_at: onTheWall(33) });
    passTo(today(28));
    const workers = t.service.startWorkers();
    await workers.idle();
    expect((await read(t, message)).report).toMatchObject({ accepted: 9, pending: 4 });
    expect((await t.server.post(`/v1/messages/${message}/cancel`)).body.status).toBe('canceled');
    await workers.idle();
    const { report, status, error_counts } = await read(t, message);
    expect(status).toBe('canceled');
    expect(report.pending).toBeUndefined();
    expect(error_counts).toMatchObject({ canceled: 4 });
    const pushed = t.push.requests.length;
    passTo(today(41));
    await workers.idle();
    expect(t.push.requests).toHaveLength(pushed);
    expect(await usedBy(t)).toBe(5);
  });

  it('R-68 the quota is charged for all zones when it runs, or it runs in none', async () => {
    const { t, today, onTheWall, passTo } = await setUp('free');
    await registerIn(t, first, 1);
    await registerIn(t, pacific, 1);
    const message = await send(t, { send_at: onTheWall(33) });
    await t.sql`INSERT INTO usage (app_id, month, used) VALUES (${t.app.id}, date_trunc('month', ${today(19)}::timestamptz), 9999)`;
    passTo(today(19));
    await t.service.startWorkers().idle();
    expect(await read(t, message)).toMatchObject({ status: 'failed', status_reason: 'quota_exceeded', report: none });
    expect(await usedBy(t)).toBe(9999);
    expect(t.push.requests).toHaveLength(0);
  });

  it('R-91 expires uncharged after the last window of its own zones, whatever zones exist elsewhere', async () => {
    const { t, today, onTheWall, passTo } = await setUp();
    await registerIn(t, first, 2);
    const early = await send(t, { send_at: onTheWall(33), name: 'early' });
    passTo(today(20));
    const workers = t.service.startWorkers();
    await workers.idle();
    expect(await read(t, early)).toMatchObject({ status: 'failed', status_reason: 'expired', report: none });
    expect(await usedBy(t)).toBe(0);
  });

  it('per_second is checked zone by zone, when windows do not overlap', async () => {
    const { t, onTheWall } = await setUp();
    const request = {
      audience: { all: true },
      content: { title: 'x', ttl: 0 },
      send_at: onTheWall(33),
      local_time: true,
      per_second: 1,
    };
    await registerIn(t, india, 50);
    await registerIn(t, pacific, 50);
    expect((await t.server.post('/v1/messages', request)).body.status).toBe('scheduled');
    expect((await t.server.post('/v1/messages', { ...request, dry_run: true })).body.warnings).toEqual([]);
    await registerIn(t, pacific, 50);
    const refused = await t.server.post('/v1/messages', request);
    expect(refused).toMatchObject({
      status: 400,
      body: { issues: [{ path: ['per_second'], code: 'too_small', limit: 2 }] },
    });
    const dry = await t.server.post('/v1/messages', { ...request, dry_run: true });
    expect(dry.body.warnings).toMatchObject([{ code: 'rate_too_low', limit: 2 }]);
    // Devices in a skipped zone are not sent to.
    const later = { ...request, send_at: onTheWall(13), local_time_past: 'skip' };
    await registerIn(t, first, 500);
    expect((await t.server.post('/v1/messages', { ...later, per_second: 2 })).body.status).toBe('scheduled');
  });
});
