// A pool while its database is unavailable, tested with a real server and with a proxy that has no
// server behind it.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { certificateFile, keyFile } from '../../../rig/src/certificate.ts';
import { startDatabaseProxy } from '../../../rig/src/database-proxy.ts';
import { isDatabaseDown, openPool, type PoolOptions, type Sql, transaction } from '../src/db.ts';
import { createTestDatabase } from './database.ts';
import { startFront } from './database-front.ts';
import { createDatabaseGate } from './database-gate.ts';

const settings = { connectionsMax: 4, name: 'carillon', statementTimeoutMs: 10_000 };

function pool(url: string, options: Partial<PoolOptions> = {}): Sql {
  const sql = openPool({ url, ...settings, ...options });
  onTestFinished(() => sql.end({ timeout: 1 }));
  return sql;
}

/**
 * Runs `times` queries at once. Each answer is the row's number, or the reason why there is none.
 */
function ask(sql: Sql, times: number): Promise<unknown[]> {
  return Promise.all(
    Array.from({ length: times }, () =>
      sql`SELECT 1 AS one`.then(
        ([row]) => row?.['one'],
        (error: unknown) => (isDatabaseDown(error) ? 'down' : error),
      ),
    ),
  );
}

describe('a pool without a deadline', () => {
  it('overrides a deadline that the database sets', async () => {
    const { url, sql: admin } = await createTestDatabase();
    await admin.unsafe(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET statement_timeout = '1min'`);
    expect(await pool(url, { statementTimeoutMs: 0 })`SHOW statement_timeout`).toMatchObject([
      { statementTimeout: '0' },
    ]);
  });
});

describe('R-06 R-81 a database that refuses', () => {
  it('is reported to every caller, and used again when it stops refusing', async () => {
    const { url } = await createTestDatabase();
    const name = new URL(url).pathname.slice(1);
    const admin = openPool({ url: inject('serverUrl'), ...settings, name: 'tests' });
    onTestFinished(() => admin.end({ timeout: 1 }));
    const sql = pool(url);
    expect(new Set(await ask(sql, 20))).toEqual(new Set([1]));
    await admin.unsafe(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`);
    // Statements in progress are lost with their connections. Later statements find no server.
    const during = ask(sql, 20);
    await admin`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name}`;
    for (const answer of await during) expect([1, 'down']).toContain(answer);
    for (const count of [12, 1]) expect(new Set(await ask(sql, count))).toEqual(new Set(['down']));
    await admin.unsafe(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS true`);
    while ((await ask(sql, 4)).includes('down'));
  });

  it('also means hanging up without an error, as a proxy without a server does', async () => {
    let connections = 0;
    const proxy = createServer((socket) => {
      connections++;
      socket.on('error', () => undefined);
      socket.end();
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void proxy.close());
    const sql = pool(`postgres://carillon@127.0.0.1:${(proxy.address() as AddressInfo).port}/carillon`);
    for (let round = 1; round <= 2; round++) {
      expect(await ask(sql, 4)).toEqual(['down', 'down', 'down', 'down']);
      // One attempt by each connection, and not one more.
      expect(connections).toBe(4 * round);
    }
  });

  it('also means that no server listens', async () => {
    const sql = pool('postgres://carillon@127.0.0.1:9/carillon');
    expect(await ask(sql, 4)).toEqual(['down', 'down', 'down', 'down']);
  });

  it('may be the first of several hosts, which are tried in turn', async () => {
    const gate = createDatabaseGate();
    const { username, password, port, pathname } = new URL(await gate.reach((await createTestDatabase()).url));
    const sql = pool(`postgres://${username}:${password}@127.0.0.1:9,127.0.0.1:${port}${pathname}`);
    while ((await ask(sql, 1))[0] !== 1);
  });
});

/**
 * Statements and the end of a sign-in get 1.5 seconds, which is long for a server that shares its
 * machine. A dead connection is found after that time.
 */
const impatient = { statementTimeoutMs: 1000, answers: { graceMs: 500, promptMs: 1500, silentMs: 100 } };

async function setUp(options: Partial<PoolOptions> = {}) {
  const { url: directUrl, sql: admin } = await createTestDatabase();
  const { url, proxy } = await startDatabaseProxy(directUrl);
  onTestFinished(() => proxy.close());
  const sql = pool(url, options);
  return { admin, url, directUrl, proxy, sql };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const down = { asymmetricMatch: isDatabaseDown };

describe('R-06 a connection that is silently dead', () => {
  it('is found by its next user, and all who waited for it get another one', async () => {
    const { proxy, sql } = await setUp({ ...impatient, connectionsMax: 1 });
    expect(await ask(sql, 1)).toEqual([1]);
    proxy.halfOpen();
    expect(await ask(sql, 20)).toEqual(['down', ...Array(19).fill(1)]);
  });

  it('is found for every connection that has received nothing since, of any pool, at once', async () => {
    const { proxy, sql, url, directUrl } = await setUp({ ...impatient, connectionsMax: 1 });
    const another = pool(url, { ...impatient, connectionsMax: 3 });
    const elsewhere = pool(directUrl, { ...impatient, connectionsMax: 1 });
    for (const each of [sql, another, elsewhere]) expect(new Set(await ask(each, 3))).toEqual(new Set([1]));
    const [before] = await elsewhere`SELECT pg_backend_pid() AS pid`;
    proxy.halfOpen();
    expect(await ask(sql, 1)).toEqual(['down']);
    expect(await ask(another, 3)).toEqual([1, 1, 1]);
    // Over another path the database worked all the time.
    expect(await elsewhere`SELECT pg_backend_pid() AS pid`).toEqual([before]);
  });

  it('is found in the middle of a statement, when the network swallows everything', async () => {
    const { proxy, sql } = await setUp(impatient);
    expect(new Set(await ask(sql, 4))).toEqual(new Set([1]));
    proxy.set({ isSilent: true });
    expect(await ask(sql, 8)).toEqual(Array(8).fill('down'));
    proxy.set({});
    while ((await ask(sql, 4)).includes('down'));
  });

  it('is found at the beginning of a transaction whose statements may take long', async () => {
    const { proxy, sql } = await setUp({ ...impatient, statementTimeoutMs: 3_600_000, connectionsMax: 1 });
    expect(await ask(sql, 1)).toEqual([1]);
    proxy.halfOpen();
    let begun = false;
    const transacting = transaction(sql, async () => {
      begun = true;
    });
    await expect(transacting).rejects.toEqual(down);
    expect(begun).toBe(false);
    expect(await transaction(sql, async (tx) => (await tx`SELECT 1 AS one`)[0]?.['one'])).toBe(1);
  });

  it('is found before a statement that may take long, when it was silent for a while', async () => {
    const { proxy, sql } = await setUp({
      statementTimeoutMs: 3_600_000,
      answers: { ...impatient.answers, silentMs: 0 },
      connectionsMax: 1,
    });
    expect(await ask(sql, 1)).toEqual([1]);
    proxy.halfOpen();
    expect(await ask(sql, 5)).toEqual(['down', 1, 1, 1, 1]);
  });

  it('is not assumed of one that sends signs of life, in pieces and in the middle of a transaction', async () => {
    const { proxy, sql } = await setUp({ connectionsMax: 1, answers: { graceMs: 2000, promptMs: 5000, silentMs: 0 } });
    for (const sliceBytes of [1, 2, 5, 1000]) {
      proxy.set({ sliceBytes });
      for (let round = 0; round < 10; round++) {
        const [row] = await sql<{ sum: number }[]>`SELECT ${round}::int + 1 AS sum`;
        expect(row?.sum).toBe(round + 1);
        await expect(sql`SELECT 1 / ${0}::int`).rejects.toMatchObject({ code: '22012' });
        const inside = transaction(sql, async (tx) => {
          await tx`CREATE TEMPORARY TABLE IF NOT EXISTS probe (x int)`;
          await tx`INSERT INTO probe VALUES (${round})`;
          // The server sends this without a request.
          await tx`SELECT set_config('application_name', ${`round ${round}`}, false)`;
          return (await tx`SELECT x FROM probe WHERE x = ${round}`).length;
        });
        expect(await inside).toBe(1);
      }
      await sql`DROP TABLE probe`;
    }
  });

  it('is not assumed of one whose statement takes long, within its limit or without one', async () => {
    const answers = { graceMs: 1000, promptMs: 1000, silentMs: 0 };
    for (const statementTimeoutMs of [60_000, 0]) {
      const { sql } = await setUp({ statementTimeoutMs, answers });
      const slept = await transaction(sql, async (tx) => tx`SELECT 1 AS one FROM pg_sleep(1.5)`);
      expect(slept).toHaveLength(1);
    }
  });

  it('is not assumed of one whose answers arrive in pieces, whatever they contain', async () => {
    const { proxy, sql } = await setUp();
    proxy.set({ sliceBytes: 3 });
    for (let round = 0; round < 5; round++) {
      expect(await ask(sql, 12)).toEqual(Array(12).fill(1));
      await expect(sql`SELECT 1 / ${0}::int`).rejects.toMatchObject({ code: '22012' });
      await expect(sql.unsafe('SELEC')).rejects.toMatchObject({ code: '42601' });
      const rows = await sql<{ x: string }[]>`SELECT repeat('x', ${1000}::int) AS x FROM generate_series(1, 20)`;
      expect(rows.map(({ x }) => x.length)).toEqual(Array(20).fill(1000));
    }
  });
});

describe('R-06 after a lost connection', () => {
  it('its last message goes to the statements in progress, and to no later one', async () => {
    const { admin, sql } = await setUp({ connectionsMax: 1 });
    for (let round = 0; round < 5; round++) {
      const [row] = await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
      const pid = row?.pid ?? 0;
      const sleeping = sql`SELECT pg_sleep(20)`.execute();
      sleeping.catch(() => undefined);
      while ((await admin`SELECT FROM pg_stat_activity WHERE pid = ${pid} AND wait_event = 'PgSleep'`).length === 0);
      await admin`SELECT pg_terminate_backend(${pid})`;
      await expect(sleeping).rejects.toMatchObject({ code: '57P01' });
      expect(await ask(sql, 3)).toEqual([1, 1, 1]);
    }
  });

  it('a transaction that is ended as it begins rejects, and the next one gets the connection', async () => {
    const { url: directUrl } = await createTestDatabase();
    // ReadyForQuery inside a transaction, and the reason of the server's hang-up, in the same
    // bytes.
    const begun = Buffer.from([0x5a, 0, 0, 0, 5, 0x54]);
    const fields = Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');
    const length = Buffer.alloc(4);
    length.writeUInt32BE(fields.length + 4);
    const goodbye = Buffer.concat([Buffer.from('E'), length, fields]);
    let endings = 0;
    const url = await startFront(directUrl, (raw, reach) => {
      const far = reach();
      raw.pipe(far);
      far.on('data', (chunk: Buffer) => {
        if (endings >= 3 || !chunk.subarray(-begun.length).equals(begun)) return void raw.write(chunk);
        endings++;
        raw.end(Buffer.concat([chunk, goodbye]));
        far.destroy();
      });
    });
    const sql = pool(url, { connectionsMax: 1 });
    for (let round = 0; round < 3; round++) {
      const begin = transaction(sql, async (tx) => tx`SELECT 1 AS one`);
      await expect(begin).rejects.toEqual(down);
      expect(await ask(sql, 3)).toEqual([1, 1, 1]);
    }
    expect(endings).toBe(3);
    expect(await transaction(sql, async () => 'well')).toBe('well');
  });

  it('its pool can be ended at once, although statements wait for an answer', async () => {
    const { proxy, sql } = await setUp();
    const sleeping = Promise.allSettled([1, 2, 3].map(() => sql`SELECT pg_sleep(20)`));
    while (proxy.connections < 3) await turn();
    proxy.set({ isRefusing: true });
    proxy.reset();
    expect((await sleeping).map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
    // A long timeout, to show that the end does not wait for it.
    await sql.end({ timeout: 3600 });
  });

  it.each([
    ['at the moment of a write', 1],
    ['with many statements under way', 300],
  ])('another one takes its place, also when it was lost %s', async (_when, statements) => {
    const { url } = await setUp();
    const sockets: Socket[] = [];
    const note = (message: unknown): void => void sockets.push((message as { socket: Socket }).socket);
    subscribe('net.client.socket', note);
    onTestFinished(() => void unsubscribe('net.client.socket', note));
    const sql = pool(url, { connectionsMax: 1 });
    expect(await ask(sql, 1)).toEqual([1]);
    for (let round = 0; round < 3; round++) {
      const asked = ask(sql, statements);
      // By now the statements are with the connection, to be written in the next turn.
      for (let microtask = 0; microtask < 10; microtask++) await Promise.resolve();
      for (const socket of sockets) socket.destroy(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
      for (const answer of await asked) expect(['down', 1]).toContain(answer);
      expect(await ask(sql, 5)).toEqual([1, 1, 1, 1, 1]);
    }
  });
});

describe('a connection that is reserved', () => {
  it('is available from a pool that has none yet', async () => {
    const { url, directUrl } = await setUp();
    expect(await ask(pool(directUrl), 1)).toEqual([1]);
    const connection = await pool(url).reserve();
    expect(await connection`SELECT 1 AS one`).toEqual([{ one: 1 }]);
    connection.release();
  });

  it('R-06 rejects and does not end the process when it is lost', async () => {
    const { proxy, sql } = await setUp();
    const connection = await sql.reserve();
    const asked = connection`SELECT pg_sleep(20)`.execute();
    proxy.reset();
    await expect(asked).rejects.toEqual(down);
    for (let again = 0; again < 3; again++) await expect(connection`SELECT 1`).rejects.toEqual(down);
    expect(await ask(sql, 3)).toEqual([1, 1, 1]);
  });
});

describe('R-85 a statement that waits for a connection', () => {
  const waitMs = 1000;

  /** Takes a connection until it is released. */
  async function hold(sql: Sql) {
    let letGo: () => void = () => undefined;
    const until = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let held: Promise<void> = Promise.resolve();
    await new Promise<void>((begun) => {
      held = transaction(sql, () => {
        begun();
        return until;
      });
    });
    return { letGo, held };
  }

  it('is refused in time, and never run', async () => {
    const { admin, sql } = await setUp({ connectionsMax: 1, waitMs });
    await admin`CREATE TABLE probe (x int)`;
    expect(await ask(sql, 1)).toEqual([1]);
    const { letGo, held } = await hold(sql);
    const refused = await Promise.allSettled([
      sql`INSERT INTO probe VALUES (1)`,
      sql.unsafe('INSERT INTO probe VALUES (2)'),
      transaction(sql, async (tx) => void (await tx`INSERT INTO probe VALUES (3)`)),
    ]);
    const busy = { status: 'rejected', reason: { code: 'CONNECTION_BUSY' } };
    expect(refused).toMatchObject([busy, busy, busy]);
    for (const each of refused) expect(each).toEqual({ status: 'rejected', reason: down });
    letGo();
    await held;
    expect(await sql`SELECT x FROM probe`).toHaveLength(0);
    expect(await transaction(sql, async () => 'well')).toBe('well');
  });

  it.each<[string, (sql: Sql) => PromiseLike<unknown>]>([
    ['a statement', (sql) => sql`INSERT INTO probe VALUES (1)`],
    ['a transaction', (sql) => transaction(sql, async (tx) => void (await tx`INSERT INTO probe VALUES (2)`))],
  ])(
    'is %s also while the connection is being made, and the next one uses it when it is ready',
    async (_what, give) => {
      const { admin, proxy, sql } = await setUp({ connectionsMax: 1, waitMs });
      await admin`CREATE TABLE probe (x int)`;
      expect(await ask(sql, 1)).toEqual([1]);
      proxy.set({ isSilent: true });
      proxy.reset();
      while (proxy.connections > 0) await turn();
      await expect(give(sql)).rejects.toMatchObject({ code: 'CONNECTION_BUSY' });
      proxy.set({});
      expect(await ask(sql, 3)).toEqual([1, 1, 1]);
      expect(await transaction(sql, async (tx) => (await tx`SELECT x FROM probe`).length)).toBe(0);
    },
  );
});

describe('TLS to the database', () => {
  /**
   * In front of a server without TLS: answers the TLS request as a server with TLS or without it.
   */
  function startTlsFront(directUrl: string, answer: 'S' | 'N' | 'S and more'): Promise<string> {
    const secureContext = createSecureContext({ cert: readFileSync(certificateFile), key: readFileSync(keyFile) });
    return startFront(directUrl, (raw, reach) => {
      raw.once('data', (first: Buffer) => {
        // A client that does not ask for TLS begins with its startup message.
        const isAsking = first.length === tlsRequestBytes;
        if (isAsking) raw.write(answer);
        else raw.unshift(first);
        const client = isAsking && answer === 'S' ? new TLSSocket(raw, { isServer: true, secureContext }) : raw;
        client.on('error', () => undefined);
        const far = reach();
        client.pipe(far).pipe(client);
      });
    });
  }

  /** The length of the message that asks for TLS (PostgreSQL protocol, 53.7). */
  const tlsRequestBytes = 8;

  const withMode = (url: string, mode: string): string => `${url}?sslmode=${mode}`;

  it('encrypts when the address asks for it, and is watched like any other connection', async () => {
    const { url } = await createTestDatabase();
    const { proxy, url: way } = await startDatabaseProxy(await startTlsFront(url, 'S'));
    onTestFinished(() => proxy.close());
    const sql = pool(withMode(way, 'require'), { ...impatient, connectionsMax: 1 });
    expect(await ask(sql, 5)).toEqual([1, 1, 1, 1, 1]);
    proxy.halfOpen();
    expect(await ask(sql, 5)).toEqual(['down', 1, 1, 1, 1]);
  });

  it('refuses an unverifiable certificate when the address asks to verify', async () => {
    const { url } = await createTestDatabase();
    const sql = pool(withMode(await startTlsFront(url, 'S'), 'verify-full'));
    await expect(sql`SELECT 1`).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  });

  it('is optional only where that is allowed', async () => {
    const { url } = await createTestDatabase();
    const front = await startTlsFront(url, 'N');
    await expect(pool(withMode(front, 'require'))`SELECT 1`).rejects.toThrow(/does not support TLS/);
    expect(await ask(pool(withMode(front, 'prefer')), 2)).toEqual([1, 1]);
  });

  it('ignores everything that was sent before it', async () => {
    const { url } = await createTestDatabase();
    const sql = pool(withMode(await startTlsFront(url, 'S and more'), 'require'));
    await expect(sql`SELECT 1`).rejects.toThrow(/answered the request for TLS with something else/);
  });
});
