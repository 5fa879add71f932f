// Processes of the built service die at each commit boundary, once each. The test's own service,
// whose clock can be set, takes over what they leave.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { carillon } from '../../rig/src/command.ts';
import { armedWith, type FailpointRule, type Fired, listFired } from '../../rig/src/failpoints.ts';
import { findFreePort } from '../../rig/src/ports.ts';
import { createRandom } from '../../rig/src/random.ts';
import { type ServiceNode, startNode } from '../../rig/src/service-node.ts';
import { whenDone } from '../../rig/src/when-done.ts';
import { startProgram, Workbench } from '../../rig/src/workbench.ts';
import type { Failpoint } from '../src/ground/host/failpoint.ts';
import { encodeId } from '../src/ground/values/ids.ts';
import { leaseMs } from '../src/sending/delivery/batch.ts';
import { accept } from './push-service.ts';
import { type Bundle, setup } from './setup.ts';
import { openShop } from './workers/webhook-shop.ts';

const devices = 500;
const content = { title: 'Is anybody there?', body: 'One kill at each failpoint.' };
const pollMs = 20;
const anyTime = ['--from', '2026-01-01T00:00:00Z', '--to', '2099-01-01T00:00:00Z'];

interface Node {
  readonly node: ServiceNode;
  readonly url: string;
  /** Resolves with what a process of the node did at its failpoint. */
  fired(): Promise<Fired>;
  /** How often a failpoint has acted so far. */
  countFired(): Promise<number>;
  /** Resolves when a line of the node's log has all of these fields. */
  logged(fields: Record<string, unknown>): Promise<void>;
}

/** Starts a process on the test's database with orders for failpoints. */
async function startBeside(t: Bundle, role: 'api' | 'worker', rules: readonly FailpointRule[] = []): Promise<Node> {
  const workbench = new Workbench();
  whenDone(() => workbench.close());
  const directory = await workbench.makeDirectory('crash');
  const plan = { directory: join(directory, 'failpoints'), rules };
  const armed = await armedWith(plan);
  const port = await findFreePort();
  const environment = { ...t.environment, ...armed.environment, PORT: String(port), SEND_WAIT_MS: '0' };
  const node = await startNode(workbench, {
    name: role,
    role,
    directory,
    environment,
    nodeOptions: armed.nodeOptions,
  });
  await node.ready();
  return {
    node,
    url: `http://127.0.0.1:${port}`,
    fired: () => until(async () => (await listFired(plan))[0]),
    countFired: async () => (await listFired(plan)).length,
    logged: (fields) =>
      until(async () => {
        const lines = (await readFile(join(directory, `${role}.log`), 'utf8')).split('\n');
        const wanted = Object.entries(fields).map(
          ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
        );
        return lines.some((line) => wanted.every((each) => line.includes(each))) || undefined;
      }).then(() => undefined),
  };
}

async function until<Value>(look: () => Promise<Value | undefined>): Promise<Value> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(pollMs);
  }
}

async function setUp(): Promise<Bundle> {
  const t = await setup({ workers: false, environment: { SEND_WAIT_MS: '0' } });
  await t.registerMany(devices);
  return t;
}

const send = async (t: Bundle): Promise<string> =>
  (await t.server.post('/v1/messages', { audience: { all: true }, content })).body.id;

/** Requests by device, as the push service counted them. */
async function requestsByDevice(t: Bundle): Promise<Map<string, number>> {
  const rows = await t.sql<{ id: string; token: string }[]>`SELECT id, token FROM devices`;
  const counts = new Map<string, number>();
  for (const { token } of t.push.requests) counts.set(token, (counts.get(token) ?? 0) + 1);
  return new Map(
    rows.map(({ id, token }) => [id, counts.get(String(JSON.parse(token).endpoint.split('/').at(-1))) ?? 0]),
  );
}

const committed = async (t: Bundle): Promise<Set<string>> =>
  new Set((await t.sql<{ deviceId: string }[]>`SELECT device_id FROM deliveries`).map((row) => row.deviceId));

/**
 * The test's own service takes over what is left, as if the lease had run out, and finishes it. A
 * process that was stopped in the middle of a flush holds its batch until the database undoes the
 * flush; until then claims skip that batch.
 */
async function takeOver(t: Bundle): Promise<void> {
  t.clock.advance(leaseMs + 1);
  const workers = t.service.startWorkers();
  await until(async () => {
    await workers.idle();
    const open = await t.sql`SELECT 1 FROM messages WHERE status IN ('scheduled', 'sending')`;
    return open.length === 0 || undefined;
  });
}

async function expectAllSent(t: Bundle, id: string): Promise<void> {
  const { body } = await t.server.get(`/v1/messages/${id}`);
  expect(body).toMatchObject({ status: 'sent', report: { accepted: devices, sent: devices, failed: 0, skipped: 0 } });
  expect(await t.sql`SELECT status, count(*)::int FROM deliveries GROUP BY status`).toHaveLength(1);
  expect(await t.sql`SELECT 1 FROM deliveries`).toHaveLength(devices);
  expect(await t.sql`SELECT 1 FROM batches WHERE state <> 'done'`).toHaveLength(0);
  expect(await t.sql`SELECT used FROM usage`).toEqual([{ used: devices }]);
  // Every push of one message to one device has the same name, repeated or not.
  expect(new Set(t.push.requests.map(({ headers }) => headers['topic']))).toEqual(new Set([id]));
}

describe('R-01 R-02 R-03 a worker that is killed', () => {
  const places: readonly (readonly [Failpoint, number])[] = [
    ['batch.after_claim', 1],
    ['push.before_write', 150],
    ['push.after_reply', 150],
    ['outcomes.before_commit', 1],
    ['outcomes.after_commit', 1],
    ['lease.before_renew', 1],
  ];

  it.each(places)('at %s loses no delivery, and repeats only uncommitted pushes', async (name, hit) => {
    const t = await setUp();
    // When it happens, half of the pushes are answered and committed, and the rest are in flight.
    const isLater = /^(outcomes|lease)/.test(name);
    t.push.scriptAll((request, response, count) => {
      if (!isLater || t.push.requests.length <= devices / 2) accept(request, response, count);
    });
    const { node, fired } = await startBeside(t, 'worker', [{ name, hit, action: 'kill' }]);
    const id = await send(t);
    await fired();
    await node.kill();
    t.push.scriptAll(undefined);
    const before = await requestsByDevice(t);
    const safe = await committed(t);
    if (/^(outcomes.after|lease)/.test(name)) expect(safe.size).toBeGreaterThan(0);
    await takeOver(t);

    const after = await requestsByDevice(t);
    for (const [device, count] of before) {
      expect({ device, count: after.get(device) }).toEqual({ device, count: count + (safe.has(device) ? 0 : 1) });
    }
    await expectAllSent(t, id);
  });
});

describe('R-01 R-02 workers die again and again in one send, at places chosen by a seed', () => {
  /**
   * The failpoints that a worker passes, and how often at most during a send to all of these
   * devices.
   */
  const places: readonly (readonly [Failpoint, number])[] = [
    ['batch.after_claim', 1],
    ['push.before_write', devices],
    ['push.after_reply', devices],
    ['outcomes.before_commit', 2],
    ['outcomes.after_commit', 2],
  ];
  const killsMost = 3;
  // A seed that ever found a fault stays in this list. `CRASH_SEED` adds others.
  const seeds = [1, 2, ...(process.env['CRASH_SEED'] ?? '').split(',').filter(Boolean).map(Number)];

  // Each kill starts a new process, which takes seconds on a busy machine.
  it.each(seeds)(
    'seed %i: no delivery is lost, and no committed one is pushed again',
    async (seed) => {
      const random = createRandom(seed);
      const rules = Array.from({ length: killsMost }, (): FailpointRule => {
        const [name, hitsMost] = random.pick(places);
        return { name, hit: 1 + random.below(hitsMost), action: 'kill' };
      });
      const t = await setUp();
      const { node, countFired } = await startBeside(t, 'worker', rules);
      const id = await send(t);
      const isOver = async (): Promise<boolean> =>
        (await t.sql`SELECT 1 FROM messages WHERE status = 'sending'`).length === 0;
      const safe = new Map<string, number>();
      let kills = 0;
      while (kills < killsMost) {
        const isKilled = await until(async () => {
          if ((await countFired()) > kills) return true;
          return (await isOver()) ? false : undefined;
        });
        if (!isKilled) break;
        kills = await countFired();
        const requests = await requestsByDevice(t);
        for (const device of await committed(t)) if (!safe.has(device)) safe.set(device, requests.get(device) ?? 0);
        // As if the lease had run out, so that the next process may take over. The test itself
        // takes over after the last.
        if (kills < killsMost) await t.sql`UPDATE batches SET available_at = now() WHERE state = 'claimed'`;
      }
      await node.kill();
      await takeOver(t);

      expect(kills).toBeGreaterThan(0);
      const counts = await requestsByDevice(t);
      for (const [device, count] of counts) {
        expect({ device, isWithin: count >= 1 && count <= 1 + kills }).toEqual({ device, isWithin: true });
      }
      for (const [device, count] of safe) expect({ device, count: counts.get(device) }).toEqual({ device, count });
      await expectAllSent(t, id);
    },
    120_000,
  );
});

describe('R-07 R-13 an API process that is killed', () => {
  const places: readonly (readonly [Failpoint, readonly boolean[]])[] = [
    ['message.before_commit', [false]],
    // The message may be committed or not; from outside nobody can know.
    ['message.after_commit_sent', [true, false]],
    ['message.before_reply', [true]],
  ];

  it.each(places)(
    'at %s leaves exactly one message for the key, and each device gets one push',
    async (name, replayed) => {
      const t = await setUp();
      const { node, url, fired } = await startBeside(t, 'api', [{ name, hit: 1, action: 'kill' }]);
      const request = {
        method: 'POST',
        headers: {
          authorization: `Bearer ${t.app.serverKey}`,
          'content-type': 'application/json',
          'idempotency-key': randomBytes(9).toString('base64url'),
        },
        body: JSON.stringify({ audience: { all: true }, content }),
      };
      await expect(fetch(`${url}/v1/messages`, request)).rejects.toThrow();
      await fired();
      await node.kill();
      const answer = await (await fetch(`${t.url}/v1/messages`, request)).json();
      expect(replayed).toContain(answer.replayed);
      await takeOver(t);
      expect(await t.sql`SELECT 1 FROM messages`).toHaveLength(1);
      expect([...(await requestsByDevice(t)).values()]).toEqual(Array.from({ length: devices }, () => 1));
      await expectAllSent(t, answer.id);
    },
  );
});

describe('R-08 a worker that is killed while it starts a scheduled message', () => {
  it('has started nothing; another worker starts it, once', async () => {
    const t = await setUp();
    const { node, fired } = await startBeside(t, 'worker', [{ name: 'schedule.after_wake', hit: 1, action: 'kill' }]);
    // Accepted by a process whose clock is behind; for the worker it is already due.
    const behindMs = 31_000;
    t.clock.advance(-behindMs);
    const sendAt = new Date(t.clock.nowMs() + behindMs).toISOString();
    const { body } = await t.server.post('/v1/messages', { audience: { all: true }, content, send_at: sendAt });
    await fired();
    await node.kill();
    t.clock.advance(behindMs);
    expect((await t.server.get(`/v1/messages/${body.id}`)).body.status).toBe('scheduled');
    expect(await t.sql`SELECT 1 FROM batches`).toHaveLength(0);
    await takeOver(t);
    expect([...(await requestsByDevice(t)).values()]).toEqual(Array.from({ length: devices }, () => 1));
    await expectAllSent(t, body.id);
  });
});

describe('R-04 a worker that was stopped past its lease', () => {
  it('changes nothing when it goes on: no row and no counter', async () => {
    const t = await setUp();
    const { node, fired, logged } = await startBeside(t, 'worker', [
      { name: 'push.after_reply', hit: 150, action: 'stop' },
    ]);
    const id = await send(t);
    const { pid } = await fired();
    await takeOver(t);
    await expectAllSent(t, id);
    const tables = () => t.sql`
      SELECT (SELECT json_agg(b ORDER BY b.id) FROM batches b) AS batches,
        (SELECT json_agg(m) FROM messages m) AS messages,
        (SELECT json_agg(d ORDER BY d.device_id) FROM deliveries d) AS deliveries`;
    const before = await tables();
    await node.signalWorker('SIGCONT', [pid]);
    await logged({ msg: 'batch worked', end: 'lost' });
    expect(await tables()).toEqual(before);
    expect([...(await requestsByDevice(t)).values()].filter((count) => count > 2)).toEqual([]);
  });
});

describe('R-05 a worker that is told to end', () => {
  it('exits with 0, and each device gets exactly one push', async () => {
    const t = await setUp();
    const { node } = await startBeside(t, 'worker');
    const id = await send(t);
    await t.push.waitForCount(100);
    expect(await node.terminate()).toMatchObject({ code: 0 });
    await takeOver(t);
    expect([...(await requestsByDevice(t)).values()]).toEqual(Array.from({ length: devices }, () => 1));
    await expectAllSent(t, id);
  });
});

describe('R-93 a migration that is killed in the middle', () => {
  it('is not applied, and the next start applies it', async () => {
    const t = await setup({ workers: false });
    // An empty database, as a first start finds it.
    await t.sql.unsafe('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    const workbench = new Workbench();
    whenDone(() => workbench.close());
    const directory = await workbench.makeDirectory('crash');
    const plan = {
      directory: join(directory, 'failpoints'),
      rules: [{ name: 'migrate.mid', hit: 3, action: 'kill' }],
    } as const;
    const armed = await armedWith(plan);
    const options = { role: 'worker', directory } as const;
    const first = await startNode(workbench, {
      ...options,
      name: 'first',
      environment: { ...t.environment, ...armed.environment },
      nodeOptions: armed.nodeOptions,
    });
    await expect(first.ready()).rejects.toThrow();
    expect(await t.sql`SELECT number FROM schema_migrations ORDER BY number`).toEqual([{ number: 1 }, { number: 2 }]);
    const second = await startNode(workbench, { ...options, name: 'second', environment: t.environment });
    await second.ready();
    expect((await t.sql`SELECT number FROM schema_migrations`).length).toBeGreaterThan(2);
  });
});

describe('R-26 a replay that is killed', () => {
  it.each<[Failpoint, number]>([
    ['replay.before_commit', 2],
    ['replay.after_commit', 4],
  ])('at %s is continued by the next one, which queues each remaining event once', async (name, before) => {
    const t = await setup({ environment: { OUTBOUND_ALLOW_PORTS: '1024-65535' } });
    const shop = await openShop(t);
    for (let i = 0; i < 3; i++) await shop.send(2);
    await shop.receiver.count(6);
    await t.workers.idle();
    const workbench = new Workbench();
    whenDone(() => workbench.close());
    const directory = await workbench.makeDirectory('crash');
    const plan = { directory: join(directory, 'failpoints'), rules: [{ name, hit: 2, action: 'kill' }] } as const;
    const armed = await armedWith(plan);
    const replay = async (options: readonly string[] = []) => {
      const program = await startProgram({
        parameters: [...options, carillon, 'webhook', 'replay', encodeId('whk', shop.id), ...anyTime, '--json'],
        workingDir: directory,
        environment: { ...t.environment, ...armed.environment },
        logFile: join(directory, 'replay.log'),
        readsOutput: true,
      });
      let output = '';
      program.child.stdout?.on('data', (chunk: Buffer) => (output += chunk));
      const [status, signal] = await once(program.child, 'close');
      return { status, signal, json: () => JSON.parse(output) };
    };
    expect(await replay(armed.nodeOptions)).toMatchObject({ status: null, signal: 'SIGKILL' });
    const again = await replay();
    expect(again.status).toBe(0);
    expect(again.json()).toMatchObject({ queued: 6 - before, queued_before: before, complete: true });
    await shop.receiver.count(12);
    await t.workers.idle();
    const replayed = shop.receiver.received.filter(({ headers }) => headers['service-replay'] === '1');
    const devices = replayed.map(({ body }) => body.data.device_id);
    expect([devices.length, new Set(devices).size]).toEqual([6, 6]);
    expect(shop.receiver.received).toHaveLength(12);
  });
});
