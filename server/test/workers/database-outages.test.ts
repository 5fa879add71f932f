// A service whose database, or the connection to it, fails in the middle of its work, once for each
// fault. It must keep its promises to callers and recover without help, and nothing may end the
// process.
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPool, startEmbeddedPostgres } from '@carillon/postgres';
import { afterEach, describe, expect, it } from 'vitest';
import type { TestDatabase } from '../../../packages/postgres/test/database.ts';
import { startDatabaseProxy } from '../../../rig/src/database-proxy.ts';
import type { FaultProxy } from '../../../rig/src/fault-proxy.ts';
import { whenDone } from '../../../rig/src/when-done.ts';
import { prepareDatabase } from '../../src/operation/process/prepare-database.ts';
import { leaseMs } from '../../src/sending/delivery/batch.ts';
import { accept } from '../push-service.ts';
import { type Bundle, type SetupOptions, setup } from '../setup.ts';

const content = { title: 'Sale' };

// Errors that nothing in the process catches; each of them would have ended it.
const unhandled: unknown[] = [];
process.on('unhandledRejection', (error) => void unhandled.push(error));
process.on('uncaughtException', (error) => void unhandled.push(error));
afterEach(() => {
  expect(unhandled.splice(0)).toEqual([]);
});

/** Dead connections are found soon, so that tests are quick. */
const impatient = { shortMs: 800, answers: { graceMs: 400, promptMs: 800, silentMs: 500 } };

/** A service that reaches its database through a proxy; the test itself does not. */
async function setUp(options: SetupOptions = {}) {
  let proxied: Awaited<ReturnType<typeof startDatabaseProxy>> | undefined;
  const t = await setup({
    workers: false,
    environment: { SEND_WAIT_MS: '0' },
    databaseLimits: impatient,
    async reachDatabase(url) {
      const started = await startDatabaseProxy(url);
      proxied = started;
      // Closed after the service, so that the service can write what it holds.
      whenDone(() => started.proxy.close());
      return started.url;
    },
    ...options,
  });
  if (!proxied) throw new Error('the service went another way');
  const { proxy, cutNextCommit } = proxied;
  return { t, proxy, cutNextCommit };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function untilReady(t: Bundle, status: 200 | 503): Promise<void> {
  while ((await t.request('GET', '/readyz')).status !== status) await turn();
}

const devices = 120;

/**
 * Sends to many devices and breaks something after half of the pushes. Each outcome must be stored
 * once and be in the report. Each device may get at most two pushes: one more for a push in flight.
 */
async function sendThrough(t: Bundle, breakIt: () => Promise<void>): Promise<void> {
  let isBroken = false;
  const held: (() => void)[] = [];
  t.push.scriptAll((request, response, count) => {
    if (isBroken || t.push.requests.length <= devices / 2) accept(request, response, count);
    else held.push(() => accept(request, response, count));
  });
  await t.registerMany(devices);
  const { body } = await t.server.post('/v1/messages', { audience: { all: true }, content });
  const workers = t.service.startWorkers();
  await t.push.waitForCount(devices / 2 + 1);
  await breakIt();
  isBroken = true;
  for (const answer of held) answer();
  await untilReady(t, 200);
  const statusOf = async () => (await t.sql<{ status: string }[]>`SELECT status FROM messages`)[0]?.status;
  while ((await statusOf()) === 'sending') {
    await workers.idle();
    // A batch of a lost connection is taken over when its lease has run out.
    t.clock.advance(leaseMs + 1);
  }

  expect((await t.server.get(`/v1/messages/${body.id}`)).body).toMatchObject({
    status: 'sent',
    report: { accepted: devices, sent: devices, failed: 0, skipped: 0 },
  });
  expect(await t.sql`SELECT state, sent FROM batches`).toEqual([{ state: 'done', sent: devices }]);
  const [rows] = await t.sql`
    SELECT count(*) AS deliveries, count(DISTINCT device_id) AS devices FROM deliveries WHERE status = 1`;
  expect(rows).toEqual({ deliveries: devices, devices });
  const pushes = new Map<string, number>();
  for (const { token } of t.push.requests) pushes.set(token, (pushes.get(token) ?? 0) + 1);
  expect(pushes.size).toBe(devices);
  expect(Math.max(...pushes.values())).toBeLessThanOrEqual(2);
  // The service continues normally. A connection that was idle all the time is found dead by its
  // next user.
  while ((await t.server.post('/v1/messages', { audience: { all: true }, content })).status !== 200);
}

describe('R-06 a send survives', () => {
  it.each<[string, (proxy: FaultProxy, t: Bundle) => Promise<void>]>([
    [
      'a reset of every connection',
      async (proxy) => {
        proxy.reset();
      },
    ],
    [
      'connections that are half open: dead, and nobody has been told',
      async (proxy) => {
        proxy.halfOpen();
      },
    ],
    [
      'a black hole',
      async (proxy, t) => {
        proxy.set({ isSilent: true });
        await untilReady(t, 503);
        proxy.set({});
      },
    ],
    [
      'a database that nobody can reach',
      async (proxy, t) => {
        proxy.set({ isRefusing: true });
        proxy.reset();
        await untilReady(t, 503);
        proxy.set({});
      },
    ],
    [
      'a way that cuts everything into small pieces',
      async (proxy) => {
        proxy.set({ sliceBytes: 50 });
      },
    ],
  ])('%s', async (_fault, breakIt) => {
    const { t, proxy } = await setUp();
    await sendThrough(t, () => breakIt(proxy, t));
  });

  it('two seconds of latency in both directions, until the network is normal again', async () => {
    const { t, proxy } = await setUp({ databaseLimits: {} });
    await sendThrough(t, async () => {
      proxy.set({ latencyMs: 2000 });
      await untilReady(t, 503);
      proxy.set({});
    });
  });

  it('a database server that is stopped at once and started again', async () => {
    const { database, stopAtOnce } = await startDatabaseOfItsOwn();
    const t = await setup({
      workers: false,
      environment: { SEND_WAIT_MS: '0' },
      databaseLimits: impatient,
      database,
    });
    await sendThrough(t, stopAtOnce);
  });
});

describe('R-07 a COMMIT whose reply is lost', () => {
  it.each([
    ['unheard', 'the message is stored: the repeat is answered with it', true],
    ['lost', 'nothing is stored: the repeat is the first', false],
  ] as const)('%s three times, %s; and each is sent once', async (cut, _what, isReplay) => {
    const { t, cutNextCommit } = await setUp();
    const device = await t.registerDevice();
    const request = { audience: { device_ids: [device] }, content };
    for (let round = 1; round <= 3; round++) {
      const key = { 'idempotency-key': `order-${round}` };
      const isCut = cutNextCommit(cut, 'carillon transactions');
      const [first] = await Promise.all([t.server.post('/v1/messages', request, key), isCut]);
      expect(first).toMatchObject({ status: 503, body: { error: 'unavailable' } });
      const second = await t.server.post('/v1/messages', request, key);
      expect(second).toMatchObject({ status: 200, body: { replayed: isReplay, report: { accepted: 1 } } });
      const [count] = await t.sql<{ messages: number }[]>`SELECT count(*) AS messages FROM messages`;
      expect(count).toEqual({ messages: round });
    }
    // A process that did not learn that its message is stored does not work it. Another process
    // does when the lease has run out.
    if (isReplay) t.clock.advance(leaseMs + 1);
    const workers = t.service.startWorkers();
    while ((await t.sql`SELECT FROM messages WHERE status = 'sent'`).length < 3) await workers.idle();
    expect(await t.sql`SELECT webpush_sent FROM messages`).toEqual(Array(3).fill({ webpushSent: 1 }));
    expect(t.push.requests).toHaveLength(3);
  });
});

/** A server that nobody else uses and that is started again when it dies. */
async function startDatabaseOfItsOwn() {
  const dataDir = await mkdtemp(join(tmpdir(), 'carillon-outage-'));
  await chmod(dataDir, 0o755);
  const embedded = await startEmbeddedPostgres({ dataDir, log: () => undefined });
  const sql = openPool({ url: embedded.url, connectionsMax: 4, name: 'tests', statementTimeoutMs: 60_000 });
  whenDone(async () => {
    await sql.end({ timeout: 1 });
    await embedded.stop();
    await rm(embedded.clusterDir, { recursive: true, force: true });
    await rm(dataDir, { recursive: true, force: true });
  });
  await prepareDatabase(sql);
  const database: TestDatabase = { url: embedded.url, sql };
  return {
    database,
    /** Stops the server like `pg_ctl stop -m immediate`. Resolves when another server answers. */
    async stopAtOnce() {
      const pid = async (): Promise<number> =>
        Number.parseInt(await readFile(join(embedded.clusterDir, 'postmaster.pid'), 'utf8').catch(() => ''), 10);
      const former = await pid();
      process.kill(former, 'SIGQUIT');
      const isAnother = async (): Promise<boolean> => Number.isFinite(await pid()) && (await pid()) !== former;
      while (!((await isAnother()) && (await sql`SELECT 1`.then(Boolean, () => false)))) await turn();
    },
  };
}
