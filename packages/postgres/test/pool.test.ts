// How many connections a pool opens, when it closes them, and what it does when the server has none
// left.
import { describe, expect, it, onTestFinished } from 'vitest';
import { openPool, type PoolOptions, type Sql, transaction } from '../src/db.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { createDatabaseGate } from './database-gate.ts';
import { createGate } from './gate.ts';

const never = 600_000;

function open({ url }: Pick<TestDatabase, 'url'>, options: Partial<PoolOptions> = {}): Sql {
  const sql = openPool({ url, connectionsMax: 4, name: 'carillon line', statementTimeoutMs: never, ...options });
  onTestFinished(() => sql.end({ timeout: 1 }));
  return sql;
}

const countOpen = async ({ sql }: TestDatabase): Promise<number> => {
  const rows = await sql`
    SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'carillon line'`;
  return rows.length;
};

/** Keeps `many` connections in use until they are released. */
async function hold(sql: Sql, many: number) {
  const way = createGate();
  let begun = 0;
  const all = createGate();
  const ended = Array.from({ length: many }, () =>
    transaction(sql, async (tx) => {
      await tx`SELECT 1`;
      begun++;
      if (begun === many) all.open();
      await way.opened;
    }),
  );
  await Promise.race([all.opened, Promise.all(ended)]);
  return {
    async letGo(): Promise<void> {
      way.open();
      await Promise.all(ended);
    },
  };
}

describe('R-98 a pool', () => {
  it('uses one connection for statements that can wait for each other, however many there are', async () => {
    const database = await createTestDatabase();
    const sql = open(database, { growAfterMs: never });
    for (let round = 0; round < 5; round++) {
      const ask = [
        sql`SELECT 1`,
        sql`SELECT 2`,
        transaction(sql, async (tx) => void (await tx`SELECT 3`)),
        sql`SELECT 4`,
      ];
      await Promise.all(ask);
    }
    expect(await countOpen(database)).toBe(1);
  });

  it('opens another one when the open ones stay in use, up to its maximum; then statements wait for a turn', async () => {
    const database = await createTestDatabase();
    const sql = open(database);
    const held = await hold(sql, 4);
    const waiting = sql`SELECT 1 AS one`;
    expect(await countOpen(database)).toBe(4);
    await held.letGo();
    expect(await waiting).toEqual([{ one: 1 }]);
    expect(await countOpen(database)).toBe(4);
  });

  it('closes connections that it has not needed for a while, although statements keep coming', async () => {
    const database = await createTestDatabase();
    const sql = open(database, { idleMs: 500 });
    await (await hold(sql, 4)).letGo();
    // If all four were used in turn, none would rest long enough.
    do await sql`SELECT 1`;
    while ((await countOpen(database)) > 1);
  });
});

describe('R-98 a server that has no connection left (53300)', () => {
  /** A database that allows one connection through this address. */
  async function setUpFull() {
    const database = await createTestDatabase();
    const gate = createDatabaseGate();
    const url = await gate.reach(database.url);
    gate.allow(1);
    return { database, url };
  }

  it("is waited for: statements meanwhile use the pool's existing connections", async () => {
    const { url } = await setUpFull();
    const sql = open({ url });
    const held = await hold(sql, 1);
    const waiting = Promise.all([
      sql`SELECT 1 AS n`,
      sql`SELECT 2 AS n`,
      transaction(sql, async (tx) => [...(await tx`SELECT 3 AS n`)]),
    ]);
    await held.letGo();
    expect(await waiting).toEqual([[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]]);
  });

  it('is waited for, and used once another pool has closed a connection', async () => {
    const { url } = await setUpFull();
    const others = await hold(open({ url }, { idleMs: 200 }), 1);
    const sql = open({ url }, { fullMs: never });
    const waiting = Promise.all([sql`SELECT 1 AS n`, transaction(sql, async (tx) => [...(await tx`SELECT 2 AS n`)])]);
    await others.letGo();
    expect(await waiting).toEqual([[{ n: 1 }], [{ n: 2 }]]);
  });

  it.each<[string, Partial<PoolOptions>, string]>([
    ['within their own time', { waitMs: 100, fullMs: 0 }, 'CONNECTION_BUSY'],
    ['before it has answered', { waitMs: 1 }, 'CONNECTION_BUSY'],
    ["within the pool's time", { fullMs: 200 }, '53300'],
  ])('is reported to statements that cannot wait %s, and these are never run', async (_when, options, code) => {
    const { database, url } = await setUpFull();
    await database.sql`CREATE TABLE probe (x int)`;
    const others = await hold(open({ url }), 1);
    const sql = open({ url }, options);
    const refused = await Promise.allSettled([
      sql`INSERT INTO probe VALUES (1)`,
      transaction(sql, async (tx) => void (await tx`INSERT INTO probe VALUES (2)`)),
    ]);
    expect(refused).toMatchObject([{ reason: { code } }, { reason: { code } }]);
    await others.letGo();
    expect(await database.sql`SELECT x FROM probe`).toHaveLength(0);
  });
});
