// the host sleeps, and its clock or the database's is set, while a service sends. Nothing
// late is sent, nothing early, nobody is rung twice, and no credential and no webhook is blamed.
import { afterEach, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../../packages/postgres/test/database.ts';
import {
  createSettableHost,
  installDatabaseClock,
  type SettableHost,
  setDatabaseClock,
} from '../../../rig/src/settable-clocks.ts';
import { whenDone } from '../../../rig/src/when-done.ts';
import { armFailpoints } from '../../src/ground/host/failpoint.ts';
import { nilUuid, uuidFloorOf } from '../../src/ground/values/ids.ts';
import { listSpans } from '../../src/insight/events/partitions.ts';
import { prepareDatabase } from '../../src/operation/process/prepare-database.ts';
import { listPartitions } from '../../src/sending/delivery/partitions.ts';
import { claimLateMessage } from '../../src/sending/messages/schedule-queries.ts';
import { startAlone } from '../../src/sending/messages/start-due.ts';
import { builtInPlans } from '../../src/teams/quotas/plan.ts';
import { apnsKey, bundleId, keyId, teamId } from '../channels/phone-bundle.ts';
import { type Served, startPushServer } from '../channels/push-server.ts';
import { listLockWaits, untilLockWaits } from '../lock-waits.ts';
import { accept } from '../push-service.ts';
import { type Bundle, type SetupOptions, setup } from '../setup.ts';
import { holdAt, until } from './held.ts';
import { openShop } from './webhook-shop.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const content = { title: 'Sale' };

interface World extends Bundle {
  readonly host: SettableHost;
  /** The host sleeps; the database's clock goes on. */
  sleep(ms: number): Promise<void>;
  /** Sets the database's clock this far from its own time. */
  setDatabase(aheadMs: number): Promise<void>;
}

async function setUp(options: SetupOptions = {}): Promise<World> {
  const host = createSettableHost();
  const database = options.database ?? (await createTestDatabase());
  if (!options.database) await installDatabaseClock(database.sql);
  const { environment, ...others } = options;
  const t = await setup({
    workers: false,
    database,
    hostClock: host,
    environment: { SEND_WAIT_MS: '0', ...environment },
    ...others,
  });
  return {
    ...t,
    host,
    async sleep(ms) {
      await setDatabaseClock(database.sql, ms);
      host.sleep(ms);
    },
    setDatabase: (aheadMs) => setDatabaseClock(database.sql, aheadMs),
  };
}

afterEach(() => armFailpoints(() => undefined)());

const messageOf = async (t: Bundle, id: string) => (await t.server.get(`/v1/messages/${id}`)).body;

async function send(t: Bundle, more: object = {}): Promise<string> {
  const { status, body } = await t.server.post('/v1/messages', { audience: { all: true }, content, ...more });
  expect(status).toBe(200);
  return body.id;
}

const isSettled = (t: Bundle) => async () => !t.clock.isInDoubt();

describe('R-100 a host that slept', () => {
  it('sends nothing late: deliveries that waited for a retry have expired', async () => {
    const t = await setUp();
    await t.registerMany(60);
    t.push.scriptAll((_request, response) => {
      response.writeHead(503, { 'retry-after': '30' });
      response.end();
    });
    const id = await send(t, { content: { ...content, webpush: { ttl: 60 } } });
    const workers = t.service.startWorkers();
    await workers.idle();
    const asked = t.push.requests.length;
    t.push.scriptAll(undefined);
    await t.sleep(hourMs / 2);
    await until(isSettled(t));
    await workers.idle();
    expect(await messageOf(t, id)).toMatchObject({ status: 'failed', error_counts: { expired: 60 } });
    expect(t.push.requests).toHaveLength(asked);
  });

  it('R-04 pushes nothing that another finished meanwhile, although its own clock stood still', async () => {
    const asleep = await setUp();
    await asleep.registerMany(400);
    const answers: (() => void)[] = [];
    asleep.push.scriptAll((request, response, count) => void answers.push(() => accept(request, response, count)));
    const id = await send(asleep);
    const hold = holdAt('lease.before_renew');
    asleep.service.startWorkers();
    await asleep.push.waitForCount(200);
    await hold.held;

    const awake = await setUp({ database: { url: asleep.databaseUrl, sql: asleep.sql } });
    awake.host.pass(2 * hourMs);
    await awake.setDatabase(2 * hourMs);
    await awake.clock.synchronize();
    awake.clock.advance(10_000);
    armFailpoints(() => undefined);
    await until(async () => {
      await awake.service.startWorkers().idle();
      return (await messageOf(asleep, id)).status === 'sent';
    });
    const taken = asleep.push.requests.length;

    asleep.host.sleep(2 * hourMs);
    for (const answer of answers) answer();
    hold.letGo();
    await until(isSettled(asleep));
    await asleep.service.startWorkers().idle();
    expect(asleep.push.requests).toHaveLength(taken);
    expect(awake.push.requests).toHaveLength(400);
  });

  it('blames no webhook for requests that were under way', async () => {
    const t = await setUp({
      environment: { OUTBOUND_ALLOW_PORTS: '1024-65535', WEBHOOK_FAILURE_PAUSE_MAX_MS: '0', SEND_WAIT_MS: '5000' },
    });
    const workers = t.service.startWorkers();
    const shop = await openShop(t, ['message.sent']);
    let sleptMs = 0;
    let refused = 0;
    // As receivers do: a signature is valid for five minutes.
    const answer: typeof shop.receiver.answer = (request, response) => {
      const signedAtMs = Number(/t=(\d+)/.exec(String(request.headers['service-signature']))?.[1]) * 1000;
      const isValid = Math.abs(Date.now() + sleptMs - signedAtMs) < 5 * minuteMs;
      if (!isValid) refused += 1;
      response.writeHead(isValid ? 200 : 400).end();
    };
    const held: (() => void)[] = [];
    shop.receiver.answer = (request, response) => void held.push(() => answer(request, response));
    await shop.send(15);
    await until(async () => held.length > 0);
    await t.sleep(2 * hourMs);
    sleptMs = 2 * hourMs;
    shop.receiver.answer = answer;
    for (const letGo of held) letGo();
    await until(async () => {
      await t.sql`UPDATE webhook_events SET due_at = pg_catalog.now()`;
      await t.sql`UPDATE webhook_work SET next_at = pg_catalog.now()`;
      workers.wake();
      return (await shop.waiting()) === 0;
    });
    expect(refused).toBeGreaterThan(0);
    expect(await shop.hook()).toMatchObject({ state: 'enabled', failures: 0 });
  });
});

describe('R-100 a database whose clock was set back', () => {
  it('by ten minutes expires nothing of the next message with a ttl of a minute', async () => {
    const t = await setUp();
    await t.registerMany(60);
    const workers = t.service.startWorkers();
    await t.setDatabase(-10 * minuteMs);
    const id = await send(t, { content: { ...content, webpush: { ttl: 60 } } });
    await until(async () => {
      await workers.idle();
      return (await messageOf(t, id)).status !== 'sending';
    });
    expect(await messageOf(t, id)).toMatchObject({ status: 'sent', report: { sent: 60, failed: 0 } });
  });

  it('on the host, too, delays no batch that was under way', async () => {
    const t = await setUp();
    await t.registerMany(60);
    const hold = holdAt('batch.after_claim', 1);
    const id = await send(t);
    const workers = t.service.startWorkers();
    await hold.held;
    await t.setDatabase(-10 * minuteMs);
    const { steps } = t.clock;
    t.host.set(-10 * minuteMs);
    await until(async () => t.clock.steps > steps);
    hold.letGo();
    await until(async () => {
      await workers.idle();
      return (await messageOf(t, id)).status !== 'sending';
    });
    expect(await messageOf(t, id)).toMatchObject({ status: 'sent', report: { sent: 60 } });
  });

  it('by two hours delays no retry by them', async () => {
    const t = await setUp();
    await t.registerMany(60);
    t.push.scriptAll((_request, response) => {
      response.writeHead(503, { 'retry-after': '30' });
      response.end();
    });
    const id = await send(t);
    const workers = t.service.startWorkers();
    await t.push.waitForCount(1);
    await workers.idle();
    t.push.scriptAll(undefined);
    await t.setDatabase(-2 * hourMs);
    await until(async () => t.clock.nowMs() < Date.now() - hourMs);
    await t.setDatabase(-2 * hourMs + 61_000);
    t.host.pass(61_000);
    await until(async () => {
      await workers.idle();
      return (await messageOf(t, id)).status !== 'sending';
    });
    expect(await messageOf(t, id)).toMatchObject({ status: 'sent', report: { sent: 60 } });
  });

  it('ends the lease of a killed worker in its time', async () => {
    const t = await setUp();
    await t.registerMany(60);
    const id = await send(t);
    await t.sql`UPDATE batches SET state = 'claimed', claim_id = id, available_at = pg_catalog.now() + interval '20 seconds'`;
    await t.setDatabase(-2 * hourMs);
    const workers = t.service.startWorkers();
    await until(async () => {
      const [row] = await t.sql`SELECT available_at <= now() + interval '20 seconds' AS is_short FROM batches`;
      return row?.['isShort'] === true;
    });
    await t.setDatabase(-2 * hourMs + 21_000);
    t.host.pass(21_000);
    await until(async () => {
      await workers.idle();
      return (await messageOf(t, id)).status === 'sent';
    });
    expect(t.push.requests).toHaveLength(60);
  });
});

describe('R-100 a database whose clock was set forward', () => {
  const inFiveMinutes = (): string => new Date(Date.now() + 5 * minuteMs).toISOString();

  it('starts nothing that is due only by the new time, until that is believed', async () => {
    const t = await setUp();
    await t.registerMany(60);
    const id = await send(t, { send_at: inFiveMinutes() });
    const workers = t.service.startWorkers();
    await t.setDatabase(10 * minuteMs);
    await until(async () => t.clock.isInDoubt());
    await workers.idle();
    expect(await messageOf(t, id)).toMatchObject({ status: 'scheduled' });
    t.host.pass(4_000);
    await until(async () => {
      await workers.idle();
      return (await messageOf(t, id)).status === 'sent';
    });
    expect(t.push.requests).toHaveLength(60);
  });

  it('and right again within seconds has started nothing', async () => {
    const t = await setUp();
    await t.registerMany(60);
    const id = await send(t, { send_at: inFiveMinutes() });
    const workers = t.service.startWorkers();
    await t.setDatabase(10 * minuteMs);
    await until(async () => t.clock.isInDoubt());
    await t.setDatabase(0);
    await until(isSettled(t));
    await workers.idle();
    expect(await messageOf(t, id)).toMatchObject({ status: 'scheduled' });
    expect(t.push.requests).toHaveLength(0);
  });

  it('and right again between the claim of a message and its start does not start it', async () => {
    const t = await setUp();
    await t.registerMany(60);
    const id = await send(t, { send_at: inFiveMinutes() });
    // The pool of the service: its connections see the clock that is set.
    const { clock, service } = t;
    const { sql } = service;
    await t.setDatabase(10 * minuteMs);
    const claim = await claimLateMessage(sql, clock, { afterAppId: nilUuid, freshMs: minuteMs, waitMs: 2000 });
    if (!claim) throw new Error('not claimed');
    await t.setDatabase(0);
    await until(isSettled(t));
    const { run, localInstants } = service;
    const deps = { sql, clock, plans: builtInPlans, log: run.log, localInstants, teller: run.teller };
    await startAlone(deps, claim);
    expect(await messageOf(t, id)).toMatchObject({ status: 'scheduled' });
    const [row] = await sql`SELECT next_start_at >= run_at AS is_due_then, starts FROM messages`;
    expect(row).toEqual({ isDueThen: true, starts: 0 });
  });
});

describe('R-100 a webhook', () => {
  it('hears again of an event within its wait, however long the clock was set forward meanwhile', async () => {
    const t = await setUp({
      environment: { OUTBOUND_ALLOW_PORTS: '1024-65535', WEBHOOK_FAILURE_PAUSE_MAX_MS: '0', SEND_WAIT_MS: '5000' },
    });
    const workers = t.service.startWorkers();
    const shop = await openShop(t, ['message.sent']);
    shop.receiver.answer = (_request, response) => void response.writeHead(503).end();
    await shop.send(3);
    await shop.receiver.count(3);
    await workers.idle();
    // As if the three had failed while the database's clock was ten minutes ahead.
    await t.sql`UPDATE webhook_events SET due_at = due_at + interval '10 minutes'`;
    await t.setDatabase(-1_000);
    shop.receiver.answer = (_request, response) => void response.writeHead(200).end();
    await t.clock.synchronize();
    await until(async () => (await shop.waiting()) === 0);
    expect(shop.receiver.received).toHaveLength(6);
  });
});

describe('R-100 a service that did not run while the database was set back', () => {
  it('holds no webhook in a pause that was meant to last seconds', async () => {
    const t = await setUp({ environment: { OUTBOUND_ALLOW_PORTS: '1024-65535', SEND_WAIT_MS: '5000' } });
    const shop = await openShop(t, ['message.sent']);
    await t.sql`UPDATE webhooks SET paused_until = pg_catalog.now() + interval '2 hours'`;
    t.service.startWorkers();
    await shop.send(1);
    await shop.receiver.count(1);
  });

  it('holds no webhook in such a pause either when the database refused to end it at first', async () => {
    const t = await setUp({
      environment: { OUTBOUND_ALLOW_PORTS: '1024-65535', SEND_WAIT_MS: '5000' },
      databaseLimits: { shortMs: 300, silenceMs: 60_000 },
    });
    const shop = await openShop(t, ['message.sent']);
    await t.sql`UPDATE webhooks SET paused_until = pg_catalog.now() + interval '2 hours'`;
    const endsPause = { text: 'UPDATE webhooks SET paused_until' };
    await t.sql.begin(async (tx) => {
      await tx`SELECT 1 FROM webhooks FOR UPDATE`;
      t.service.startWorkers();
      const [first] = await untilLockWaits(t.sql, 1, endsPause);
      await until(async () => !(await listLockWaits(t.sql, endsPause)).includes(first ?? 0));
    });
    await shop.send(1);
    await shop.receiver.count(1);
  });
});

describe('R-100 a start on a host whose clock is wrong by months', () => {
  it("has partitions for the database's present", async () => {
    const t = await setUp();
    await t.setDatabase(90 * 24 * hourMs);
    const { sql } = t.service;
    await prepareDatabase(sql);
    const instant = new Date(Date.now() + 90 * 24 * hourMs);
    const weeks = await listPartitions(sql);
    expect(weeks.some(({ from, to }) => from <= uuidFloorOf(instant) && uuidFloorOf(instant) < to)).toBe(true);
    const months = await listSpans(sql, 'events');
    expect(months.some(({ from, to }) => from <= instant && instant < to)).toBe(true);
  });
});

describe('R-100 a credential', () => {
  const apnsCredential = {
    channel: 'apns',
    public: { keyId, teamId, bundleId, environment: 'production' },
    secret: apnsKey.pem,
  };

  async function setUpApple() {
    const apple = await startPushServer({ protocol: 'h2' });
    whenDone(() => apple.close());
    const url = `https://127.0.0.1:${apple.port}`;
    const t = await setUp({ environment: { APNS_URL: url, APNS_SANDBOX_URL: url } });
    const credentialId = await t.setCredential(apnsCredential);
    const device = await t.registerDevice({ platform: 'ios', token: 'e'.repeat(64) });
    const health = async () => {
      const [row] = await t.sql`SELECT state, refused FROM credentials WHERE id = ${credentialId}`;
      return row;
    };
    return { t, apple, device, health };
  }

  it.each([
    ['while its request was under way the host slept', 'ExpiredProviderToken'],
    ['its token was of the future', 'InvalidProviderToken'],
  ])('is not blamed, and its push is made again, when %s', async (_when, reason) => {
    const { t, apple, device } = await setUpApple();
    const workers = t.service.startWorkers();
    const asked: Served[] = [];
    apple.handle = (request) => void asked.push(request);
    const id = await send(t, { audience: { device_ids: [device] } });
    await until(async () => asked.length > 0);
    apple.handle = (request) => request.answer(200, { 'apns-id': request.headers['apns-id'] ?? '' });
    await t.sleep(minuteMs);
    expect(t.clock.isInDoubt()).toBe(true);
    asked[0]?.answer(403, {}, JSON.stringify({ reason }));
    await until(isSettled(t));
    await until(async () => {
      t.host.pass(1000);
      const [row] = await t.sql`SELECT max(ahead) AS ahead FROM clock_steps`;
      expect(row).toBeDefined();
      await t.sql`UPDATE batches SET available_at = pg_catalog.now()`;
      await t.sql`UPDATE deliveries SET timeline = regexp_replace(timeline::text, '"retry_at":"[^"]*"', '"retry_at":null')::jsonb WHERE timeline IS NOT NULL`;
      await workers.idle();
      return (await messageOf(t, id)).status !== 'sending';
    });
    await t.judged();
    expect(await messageOf(t, id)).toMatchObject({ status: 'sent', report: { sent: 1 } });
    const { body } = await t.server.get('/v1/channels');
    expect(JSON.stringify(body)).not.toContain('auth_failed');
  });
});
