import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { findPause, type Pause, pause, pauseWhereMoved, resume } from '../../src/ground/database/restore-guard.ts';
import { createService, type Service } from '../../src/operation/process/service.ts';
import { accept } from '../push-service.ts';
import { type Bundle, type SetupOptions, setup } from '../setup.ts';

const content = { title: 'Sale' };

const setUp = (options: SetupOptions = {}) => setup({ workers: false, environment: { SEND_WAIT_MS: '0' }, ...options });

/** Waits until a process believes this. The process looks by itself and is not told. */
async function until(service: Service, isPaused: boolean): Promise<void> {
  while (service.pause.isPaused() !== isPaused) await new Promise((resolve) => setImmediate(resolve));
}

async function pauseAll(t: Bundle): Promise<void> {
  await pause(t.sql, 'operator');
  await until(t.service, true);
}

async function resumeAll(t: Bundle): Promise<Pause | null> {
  const ended = await resume(t.sql);
  await until(t.service, false);
  return ended;
}

/** Another process on the same database. */
async function startAnother(t: Bundle): Promise<Service> {
  const service = await createService({
    config: t.config,
    databaseUrl: t.databaseUrl,
    masterKeys: { key: t.masterKey, previous: undefined },
    log: t.service.run.log,
  });
  whenDone(() => service.close());
  return service;
}

const messageOf = async (t: Bundle, id: string) => (await t.server.get(`/v1/messages/${id}`)).body;

describe('R-92 while the service is paused', () => {
  it('a small send is accepted, returns pending after its wait, and is sent after the pause', async () => {
    const t = await setUp({ environment: { SEND_WAIT_MS: '50' } });
    const device = await t.registerDevice();
    await pauseAll(t);
    const { status, body } = await t.server.post('/v1/messages', { audience: { device_ids: [device] }, content });
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'sent', report: { accepted: 1, sent: 0, pending: 1 } });
    const workers = t.service.startWorkers();
    await workers.idle();
    expect(t.push.requests).toHaveLength(0);

    await resumeAll(t);
    await t.push.waitForCount(1);
    await workers.idle();
    expect(await messageOf(t, body.id)).toMatchObject({ status: 'sent', report: { sent: 1 } });
  });

  it('a large send in progress finishes its pushes in flight and hands back the rest; each device is sent to once', async () => {
    const t = await setUp();
    await t.registerMany(400);
    const held: (() => void)[] = [];
    t.push.scriptAll((request, response, count) => {
      if (t.service.pause.isPaused()) accept(request, response, count);
      else held.push(() => accept(request, response, count));
    });
    const { body } = await t.server.post('/v1/messages', { audience: { all: true }, content });
    const workers = t.service.startWorkers();
    // The most pushes that one process has in flight.
    await t.push.waitForCount(200);
    await pauseAll(t);
    for (const answer of held) answer();
    await workers.idle();
    expect(await messageOf(t, body.id)).toMatchObject({ status: 'sending', report: { sent: 200, pending: 200 } });
    expect(await t.sql`SELECT state, claims FROM batches`).toMatchObject([{ state: 'waiting', claims: 0 }]);
    expect(t.push.requests).toHaveLength(200);

    t.push.scriptAll(accept);
    await resumeAll(t);
    await t.push.waitForCount(400);
    await workers.idle();
    expect(await messageOf(t, body.id)).toMatchObject({ status: 'sent', report: { accepted: 400, sent: 400 } });
    expect(new Set(t.push.requests.map(({ token }) => token)).size).toBe(400);
  });

  it('R-91 deliveries that expire meanwhile are not sent afterwards', async () => {
    const t = await setUp();
    await t.registerMany(60);
    await pauseAll(t);
    const short = { ...content, webpush: { ttl: 60 } };
    const { body } = await t.server.post('/v1/messages', { audience: { all: true }, content: short });
    const workers = t.service.startWorkers();
    t.clock.advance(60_001);
    await resumeAll(t);
    await workers.idle();
    expect(await messageOf(t, body.id)).toMatchObject({
      status: 'failed',
      report: { accepted: 60, sent: 0, failed: 60 },
      error_counts: { expired: 60 },
    });
    expect(t.push.requests).toHaveLength(0);
  });

  it('the service is still ready, because it accepts', async () => {
    const t = await setUp();
    await pauseAll(t);
    t.service.startWorkers();
    expect((await t.request('GET', '/readyz')).status).toBe(200);
  });

  it('every process pauses, also those that miss the NOTIFY and those that start later', async () => {
    const t = await setUp();
    const other = await startAnother(t);
    // Written directly, without the NOTIFY that the command sends.
    await t.sql`UPDATE instance SET paused_at = now(), pause_reason = 'operator'`;
    await Promise.all([until(t.service, true), until(other, true)]);
    expect((await startAnother(t)).pause.isPaused()).toBe(true);
    await t.sql`UPDATE instance SET paused_at = NULL, pause_reason = NULL`;
    await Promise.all([until(t.service, false), until(other, false)]);
  });

  it('a second pause keeps the first one, and one resume ends both', async () => {
    const { sql } = await setUp();
    const first = await pause(sql, 'restore');
    expect(await pause(sql, 'operator')).toEqual(first);
    expect(await resume(sql)).toEqual(first);
    expect(await findPause(sql)).toBeNull();
    expect(await resume(sql)).toBeNull();
  });

  it('the log tells of it, at the start and when it ends', async () => {
    const lines: string[] = [];
    const t = await setUp({
      environment: { SEND_WAIT_MS: '0', LOG_LEVEL: 'warn' },
      logTo: { write: (line) => void lines.push(line) },
    });
    await pauseAll(t);
    await resumeAll(t);
    const said = lines.map((line) => JSON.parse(line).msg).filter((line) => line.startsWith('sends and webhooks'));
    expect(said).toEqual(['sends and webhooks are paused', 'sends and webhooks go on']);
  });
});

describe('R-92 the restore guard', () => {
  it('another process on the same database causes no pause', async () => {
    const t = await setUp();
    expect((await startAnother(t)).pause.isPaused()).toBe(false);
    expect(await findPause(t.sql)).toBeNull();
  });

  it('a start that finds rows of another server pauses once; after a resume they belong to this one', async () => {
    const t = await setUp();
    await t.sql`UPDATE instance SET system_identifier = '7000000000000000001'`;
    expect((await startAnother(t)).pause.isPaused()).toBe(true);
    await until(t.service, true);
    expect(await findPause(t.sql)).toMatchObject({ reason: 'other_server' });
    // Nobody has confirmed yet, so the next start must stay paused, too.
    expect(await pauseWhereMoved(t.sql)).toMatchObject({ reason: 'other_server' });
    expect(await resumeAll(t)).toMatchObject({ reason: 'other_server' });
    expect((await startAnother(t)).pause.isPaused()).toBe(false);
  });
});
