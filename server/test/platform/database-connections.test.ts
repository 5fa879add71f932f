// What a pool does while its database is not to be had, against a real server and against a proxy with nothing behind it.

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { isDatabaseDown, openPool, type Sql } from '../../src/platform/db.ts';
import { createTestDatabase } from '../database.ts';
import { createDatabaseGate } from '../database-gate.ts';

const settings = { connectionsMax: 4, name: 'carillon', statementTimeoutMs: 10_000 };

function pool(url: string): Sql {
  const sql = openPool({ url, ...settings });
  onTestFinished(() => sql.end({ timeout: 1 }));
  return sql;
}

/** Asks so many times at once; each answer is the row's number, or why there is none. */
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

describe('R-06 R-81 a database that refuses', () => {
  it('says so to everybody who asks, however often, and is used again when it stops', async () => {
    const { url } = await createTestDatabase();
    const name = new URL(url).pathname.slice(1);
    const admin = openPool({ url: inject('serverUrl'), ...settings, name: 'tests' });
    onTestFinished(() => admin.end({ timeout: 1 }));
    const sql = pool(url);
    expect(new Set(await ask(sql, 20))).toEqual(new Set([1]));
    await admin.unsafe(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`);
    // Statements under way are lost with their connections; those that come after find nobody to connect to.
    const during = ask(sql, 20);
    await admin`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name}`;
    for (const answer of await during) expect([1, 'down']).toContain(answer);
    for (const count of [12, 1]) expect(new Set(await ask(sql, count))).toEqual(new Set(['down']));
    await admin.unsafe(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS true`);
    while ((await ask(sql, 4)).includes('down'));
  });

  it('is one that hangs up without a word, as a proxy does that has nothing behind it', async () => {
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
      // An attempt each, and not one more.
      expect(connections).toBe(4 * round);
    }
  });

  it('is one that nobody listens for', async () => {
    const sql = pool('postgres://carillon@127.0.0.1:9/carillon');
    expect(await ask(sql, 4)).toEqual(['down', 'down', 'down', 'down']);
  });

  it('may be the first of several hosts: they are tried in turn', async () => {
    const gate = createDatabaseGate();
    const { username, password, port, pathname } = new URL(await gate.reach((await createTestDatabase()).url));
    const sql = pool(`postgres://${username}:${password}@127.0.0.1:9,127.0.0.1:${port}${pathname}`);
    while ((await ask(sql, 1))[0] !== 1);
  });
});
