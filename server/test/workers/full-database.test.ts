// A service whose database has no connection left (53300): nothing in progress is lost or repeated,
// callers are told to try again, and probes that the service is not ready. The gate refuses
// connections as the server does.
import { describe, expect, it, vi } from 'vitest';
import { createDatabaseGate } from '../../../packages/postgres/test/database-gate.ts';
import { whenDone } from '../../../rig/src/when-done.ts';
import { openDatabases } from '../../src/operation/process/databases.ts';
import { type Bundle, type SetupOptions, setup } from '../setup.ts';
import { until } from './held.ts';

const content = { title: 'Is there room?' };
/** More than the accepting process works itself. */
const devices = 60;

async function setUpFull(limits: SetupOptions['databaseLimits'] = {}) {
  const gate = createDatabaseGate();
  const t = await setup({
    workers: false,
    environment: { SEND_WAIT_MS: '0' },
    databaseLimits: { waitMs: 300, ...limits },
    reachDatabase: gate.reach,
  });
  return { t, gate };
}

/** Ends the connections of these pools, as an operator or a proxy may. */
async function endConnections(t: Bundle, pools: readonly string[]): Promise<void> {
  await t.sql`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = ANY(${pools.map((pool) => `carillon ${pool}`)})`;
}

describe('R-98 while the database has no connection left', () => {
  it('a caller gets 503 after its wait, probes as well, and both are answered once a connection is free', async () => {
    const { t, gate } = await setUpFull();
    const ask = () => t.server.post('/v1/devices', { platform: 'android', token: 'one' });
    expect((await ask()).status).toBe(200);
    gate.allow(0);
    await endConnections(t, ['reads', 'transactions']);
    const refused = await ask();
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    await until(async () => (await t.request('GET', '/readyz')).status === 503);
    expect((await t.request('GET', '/healthz')).status).toBe(200);
    gate.allow(Number.POSITIVE_INFINITY);
    await until(async () => (await t.request('GET', '/readyz')).status === 200);
    expect((await ask()).status).toBe(200);
  });

  it('leases are renewed and outcomes committed on the existing connections: each device has one push', async () => {
    const { t, gate } = await setUpFull();
    await t.registerMany(devices);
    let isFull = false;
    const held: (() => void)[] = [];
    t.push.scriptAll((_request, response) => {
      const answer = (): void => void response.writeHead(201, { location: 'https://push.test.example/m/1' }).end();
      if (isFull) answer();
      else held.push(answer);
    });
    const { body } = await t.server.post('/v1/messages', { audience: { all: true }, content });
    const workers = t.service.startWorkers();
    await t.push.waitForCount(devices);
    // From here on no pool gets another connection, and statements without one wait.
    gate.allow(0);
    isFull = true;
    for (const answer of held) answer();
    await until(async () => (await t.sql`SELECT 1 FROM messages WHERE status = 'sent'`).length === 1);
    expect(t.push.requests).toHaveLength(devices);
    expect(await t.sql`SELECT claims, sent FROM batches`).toEqual([{ claims: 1, sent: devices }]);

    gate.allow(Number.POSITIVE_INFINITY);
    await workers.idle();
    expect((await t.server.get(`/v1/messages/${body.id}`)).body.report).toMatchObject({ sent: devices });
  });
});

describe('R-98 a service at rest', () => {
  it('holds at most six connections: one for each pool and one for notifications', async () => {
    const { t } = await setUpFull({ idleMs: 1500 });
    t.service.startWorkers();
    const listPools = async () => {
      const rows = await t.sql<{ name: string; connections: number }[]>`
        SELECT application_name AS name, count(*)::int AS connections FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'carillon %' GROUP BY 1`;
      return new Map(rows.map(({ name, connections }) => [name.replace('carillon ', ''), connections]));
    };
    // Under load some pools use all of their connections. After the load these close one by one.
    await Promise.all(Array.from({ length: 200 }, () => t.server.get('/v1/messages')));
    await until(async () => [...(await listPools()).values()].reduce((sum, each) => sum + each, 0) <= 6);
    const pools = await listPools();
    const known = ['listen', 'prompt', 'reads', 'transactions', 'send', 'long'];
    expect([...pools.keys()].filter((name) => !known.includes(name))).toEqual([]);
  });
});

it('R-98 a process never closes the connection that renews its leases, which a full server would not give again', async () => {
  const { t } = await setUpFull();
  const { promptSql, sendSql, close } = openDatabases(t.databaseUrl, 'worker');
  whenDone(close);
  const pidsOf = () =>
    Promise.all(
      [promptSql, sendSql].map(async (sql) => (await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`)[0]?.pid),
    );
  const [prompt, send] = await pidsOf();
  const hourMs = 3_600_000;
  const now = performance.now.bind(performance);
  const later = vi.spyOn(performance, 'now').mockImplementation(() => now() + hourMs);
  whenDone(async () => later.mockRestore());
  // The old connection of the other pool is closed after this statement.
  expect(await pidsOf()).toEqual([prompt, send]);
  const [promptLater, sendLater] = await pidsOf();
  expect(promptLater).toBe(prompt);
  expect(sendLater).not.toBe(send);
});
