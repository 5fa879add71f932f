// Rows by COPY that the database refuses: the sender gets the error, and the connection is used
// again.
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startDatabaseProxy } from '../../../rig/src/database-proxy.ts';
import { type CopyValue, copyRows } from '../src/copy-rows.ts';
import { isDatabaseDown, openPool, type PoolOptions, type Sql, savepoint, transaction } from '../src/db.ts';
import { createTestDatabase } from './database.ts';

const down = { asymmetricMatch: isDatabaseDown };

function pool(url: string, options: Partial<PoolOptions> = {}): Sql {
  const sql = openPool({ url, connectionsMax: 1, name: 'copies', statementTimeoutMs: 60_000, ...options });
  onTestFinished(() => sql.end({ timeout: 1 }));
  return sql;
}

/**
 * A table that refuses rows from a million on, and a pool whose statements may take as long as a
 * test.
 */
async function setUp(options: Partial<PoolOptions> = {}) {
  const { url: directUrl, sql: admin } = await createTestDatabase();
  await admin`CREATE TABLE copied (x int CHECK (x < 1000000), note text)`;
  await admin`CREATE TABLE slow (x int, waited text DEFAULT pg_sleep(60)::text)`;
  const { url, proxy } = await startDatabaseProxy(directUrl);
  onTestFinished(() => proxy.close());
  return { admin, proxy, sql: pool(url, options) };
}

const copy = (sql: Sql, rows: readonly (readonly CopyValue[])[]): Promise<void> =>
  transaction(sql, (tx) => copyRows(tx`COPY copied (x, note) FROM STDIN`, rows));

const copySlowly = (sql: Sql): Promise<void> =>
  transaction(sql, (tx) => copyRows(tx`COPY slow (x) FROM STDIN`, [[1], [2]]));

/** Expects that nothing was stored and that the pool's only connection still accepts rows. */
async function expectGoesOn(sql: Sql): Promise<void> {
  await copy(sql, [[1, 'tab\tline\nback\\slash']]);
  expect([...(await sql`SELECT x, note FROM copied`)]).toEqual([{ x: 1, note: 'tab\tline\nback\\slash' }]);
}

const rowsOf = (count: number): CopyValue[][] => Array.from({ length: count }, (_, x) => [x, 'x'.repeat(200)]);

describe('rows that the database refuses', () => {
  it.each<[string, string, CopyValue]>([
    ['a CHECK', '23514', 1_000_000],
    ['a type', '22P02', 'twelve'],
  ])('by %s are reported, few or many, the first or the last, and the pool goes on', async (_by, code, bad) => {
    const { sql } = await setUp();
    for (const count of [1, 20_000]) {
      for (const at of [0, count]) {
        const rows = rowsOf(count).toSpliced(at, 0, [bad, null]);
        await expect(copy(sql, rows)).rejects.toMatchObject({ code });
      }
    }
    await expectGoesOn(sql);
  });

  it('with the whole statement are reported, too', async () => {
    const { sql } = await setUp();
    const refused = transaction(sql, (tx) => copyRows(tx`COPY missing (x) FROM STDIN`, [[1]]));
    await expect(refused).rejects.toMatchObject({ code: '42P01' });
    await expectGoesOn(sql);
  });

  it('in a part of a transaction undo only that part', async () => {
    const { sql } = await setUp();
    const code = await transaction(sql, async (tx) => {
      await copyRows(tx`COPY copied (x, note) FROM STDIN`, [[1, 'kept']]);
      const part = savepoint(tx, (inner) =>
        copyRows(inner`COPY copied (x, note) FROM STDIN`, [[1_000_000, 'refused']]),
      );
      return part.then(
        () => 'stored',
        (error: unknown) => (error as { code: unknown }).code,
      );
    });
    expect(code).toBe('23514');
    expect([...(await sql`SELECT note FROM copied`)]).toEqual([{ note: 'kept' }]);
  });

  it('because they exceed the statement timeout are reported', async () => {
    const { sql } = await setUp({ statementTimeoutMs: 1000 });
    await expect(copySlowly(sql)).rejects.toMatchObject({ code: '57014' });
    await expectGoesOn(sql);
  });

  it('are not sent when one has no text form', async () => {
    const { sql } = await setUp();
    await expect(copy(sql, [...rowsOf(20_000), [1, new Date(Number.NaN)]])).rejects.toThrow(RangeError);
    await expectGoesOn(sql);
  });
});

describe('R-06 a connection that is lost while it takes rows', () => {
  it.each<[string, (admin: Sql, pid: number, reset: () => void) => unknown]>([
    ['the server ends it', (admin, pid) => admin`SELECT pg_terminate_backend(${pid})`.execute()],
    ['it is reset', (_admin, _pid, reset) => reset()],
  ])('is reported when %s', async (_how, lose) => {
    const { admin, proxy, sql } = await setUp();
    const [row] = await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
    const pid = row?.pid ?? 0;
    const lost = copySlowly(sql).then(
      () => 'stored',
      (error: unknown) => error,
    );
    while ((await admin`SELECT FROM pg_stat_activity WHERE pid = ${pid} AND wait_event = 'PgSleep'`).length === 0);
    await lose(admin, pid, () => proxy.reset());
    expect(await lost).toEqual(down);
    await expectGoesOn(sql);
  });

  it('is reported when it is silently dead', async () => {
    const answers = { graceMs: 200, promptMs: 5_000, silentMs: 5_000 };
    const { admin, proxy, sql } = await setUp({ statementTimeoutMs: 2_000, answers });
    const lost = copySlowly(sql).then(
      () => 'stored',
      (error: unknown) => error,
    );
    while (
      (await admin`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`)
        .length === 0
    );
    proxy.halfOpen();
    expect(await lost).toEqual(down);
    await expectGoesOn(sql);
  });
});

/** A minimal server that lets everybody in and answers every COPY as the test says. */
async function startServer(answer: (socket: Socket) => void): Promise<string> {
  const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
  const letIn = Buffer.concat([Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]), readyForQuery]);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(letIn);
      socket.on('data', (chunk) => {
        if (chunk.includes('set_config')) socket.write(readyForQuery);
        if (chunk.includes('COPY copied')) answer(socket);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `postgres://carillon@127.0.0.1:${(server.address() as AddressInfo).port}/carillon`;
}

describe('a server that accepts rows', () => {
  const takesRows = Buffer.from([0x47, 0, 0, 0, 7, 0, 0, 0]);
  const fields = Buffer.from('SERROR\0VERROR\0C57014\0Mtoo late\0\0');
  const refusal = Buffer.concat([Buffer.from([0x45, 0, 0, 0, fields.length + 4]), fields]);
  const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

  const reach = async (answer: (socket: Socket) => void): Promise<Sql> => pool(await startServer(answer));

  it('and refuses them in the same packet is understood, every time', async () => {
    const sql = await reach((socket) => socket.write(Buffer.concat([takesRows, refusal, readyForQuery])));
    for (let round = 0; round < 3; round++) {
      await expect(copyRows(sql`COPY copied FROM STDIN`, [[round]])).rejects.toMatchObject({ code: '57014' });
    }
  });

  it('and hangs up without an error counts as lost, every time', async () => {
    const sql = await reach((socket) => {
      socket.write(takesRows);
      socket.end();
    });
    for (let round = 0; round < 3; round++) {
      await expect(copyRows(sql`COPY copied FROM STDIN`, [[round]])).rejects.toEqual(down);
    }
  });
});
