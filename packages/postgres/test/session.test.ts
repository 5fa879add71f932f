// One connection from outside: where it leads, what ends it, and what it leaves to its next user.
import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { copyBytes } from '../src/copy-rows.ts';
import { connect, isDatabaseDown, openPool, type PoolOptions, type Sql, type Tx, transaction } from '../src/db.ts';
import { createTestDatabase } from './database.ts';
import { pass, startFront } from './database-front.ts';
import { createDatabaseGate } from './database-gate.ts';
import { createGate } from './gate.ts';

function pool(url: string, options: Partial<PoolOptions> = {}): Sql {
  const sql = openPool({ url, connectionsMax: 1, name: 'session', statementTimeoutMs: 10_000, ...options });
  onTestFinished(() => sql.end({ timeout: 1 }));
  return sql;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** From now on time passes only where the test says so, and a slow machine exceeds no limit. */
function stopTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

async function setUp(options: Partial<PoolOptions> = {}) {
  const { url, sql: admin } = await createTestDatabase();
  await admin`CREATE TABLE probe (x int)`;
  return {
    url,
    admin,
    sql: pool(url, options),
    probes: async () => (await admin<{ x: number }[]>`SELECT x FROM probe ORDER BY x`).map(({ x }) => x),
  };
}

/** Replaces the host of an address by several. */
function withHosts(first: string, second: string): string {
  const { username, password, port, pathname } = new URL(first);
  return `postgres://${username}:${password}@127.0.0.1:${port},127.0.0.1:${new URL(second).port}${pathname}`;
}

/** In a row: the length of a column and its text, false. */
const isNoStandby = Buffer.from([0, 0, 0, 1, 0x66]);

/** Makes the server's first answer to a statement say that it is a standby. */
function asStandby(raw: Socket, reach: () => Socket): void {
  const far = reach();
  raw.pipe(far);
  let hasAnswered = false;
  far.on('data', (chunk: Buffer) => {
    const at = chunk.indexOf(isNoStandby);
    // DataRow: its letter, the length in four bytes, the number of columns in two.
    if (!hasAnswered && at >= 7 && chunk[at - 7] === 0x44) {
      hasAnswered = true;
      chunk[at + 4] = 0x74;
    }
    raw.write(chunk);
  });
  far.on('close', () => raw.destroy());
}

describe('an address with several hosts', () => {
  it('leads to the first host, however many connections are opened', async () => {
    const { url } = await setUp();
    const taken: string[] = [];
    const front = (name: string) =>
      startFront(url, (raw, reach) => {
        taken.push(name);
        pass(raw, reach);
      });
    const many = withHosts(await front('first'), await front('second'));
    const listening = await connect({ url: many, name: 'session', statementTimeoutMs: 1000 });
    const sql = pool(many, { connectionsMax: 3, growAfterMs: 0 });
    await Promise.all([1, 2, 3].map(() => sql`SELECT pg_sleep(0.05)`));
    listening.release();
    expect(taken).toEqual(['first', 'first', 'first', 'first']);
  });

  it('passes over a standby', async () => {
    const { url } = await setUp();
    const sql = pool(withHosts(await startFront(url, asStandby), await startFront(url, pass)));
    expect(await sql`SELECT 1 AS one`).toEqual([{ one: 1 }]);
  });

  it('refuses as a database that is down where each of them is a standby', async () => {
    const { url } = await setUp();
    const sql = pool(withHosts(await startFront(url, asStandby), await startFront(url, asStandby)));
    await expect(sql`SELECT 1`).rejects.toMatchObject({ code: '25006' });
    await expect(sql`SELECT 1`).rejects.toSatisfy(isDatabaseDown);
  });

  it('leaves the whole time for the second one where the first one is silent', async () => {
    const { url } = await setUp();
    const connectMs = 5000;
    const [atFirst, atSecond, goOn] = [createGate(), createGate(), createGate()];
    const first = await startFront(url, () => atFirst.open());
    const second = await startFront(url, (raw, reach) => {
      raw.pause();
      atSecond.open();
      void goOn.opened.then(() => pass(raw, reach));
    });
    const sql = pool(withHosts(first, second), { connectMs });
    stopTime();
    const asked = sql`SELECT 1 AS one`.execute();
    await atFirst.opened;
    vi.advanceTimersByTime(connectMs);
    await atSecond.opened;
    vi.advanceTimersByTime(connectMs - 1);
    goOn.open();
    expect(await asked).toEqual([{ one: 1 }]);
  });
});

it('R-06 the time to connect ends with the sign-in: the settings have their own', async () => {
  const { url } = await setUp();
  const connectMs = 500;
  const [atSettings, goOn] = [createGate(), createGate()];
  const front = await startFront(url, (raw, reach) => {
    const far = reach();
    far.pipe(raw);
    raw.on('data', (chunk: Buffer) => {
      if (!chunk.includes('set_config')) return void far.write(chunk);
      atSettings.open();
      void goOn.opened.then(() => far.write(chunk));
    });
  });
  const sql = pool(front, { connectMs });
  stopTime();
  const asked = sql`SELECT 1 AS one`.execute();
  await atSettings.opened;
  vi.advanceTimersByTime(2 * connectMs);
  goOn.open();
  expect(await asked).toEqual([{ one: 1 }]);
});

describe('what an address asks for', () => {
  it('that the server does not know is the error of the statement, and no outage', async () => {
    const { url } = await setUp();
    const wrong = new URL(url);
    wrong.searchParams.set('no_such_setting', '1');
    const error = await pool(wrong.href)`SELECT 1`.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: '42704', message: expect.stringContaining('no_such_setting') });
    expect(isDatabaseDown(error)).toBe(false);
  });

  it('as ssl=require is never answered without TLS', async () => {
    const { url } = await setUp();
    const bytes: number[] = [];
    const front = await startFront(url, (raw, reach) => {
      raw.on('data', (chunk: Buffer) => bytes.push(chunk.length));
      pass(raw, reach);
    });
    await expect(pool(`${front}?ssl=require`)`SELECT 1`).rejects.toThrow(/does not support TLS/);
    // The request for TLS, and nothing else.
    expect(bytes).toEqual([8]);
  });

  it('as TLS by PGSSLMODE does not concern a Unix socket', async () => {
    const { url } = await setUp();
    const directory = await mkdtemp(join(tmpdir(), 'carillon-socket-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    vi.stubEnv('PGSSLMODE', 'require');
    vi.stubEnv('PGSSLNEGOTIATION', 'direct');
    onTestFinished(() => void vi.unstubAllEnvs());
    const sql = pool(await startFront(url, pass, directory));
    expect(await sql`SELECT 1 AS one`).toEqual([{ one: 1 }]);
  });
});

describe('a transaction that is over', () => {
  it('takes no statement of work that went on after another part had failed', async () => {
    const { sql, probes } = await setUp();
    const late: Promise<unknown>[] = [];
    const failed = transaction(sql, async (tx) => {
      const goingOn = async (): Promise<void> => {
        await tx`SELECT pg_sleep(0.05)`;
        await tx`INSERT INTO probe VALUES (1)`;
      };
      late.push(goingOn());
      await Promise.all([...late, Promise.reject(new Error('another part failed'))]);
    });
    await expect(failed).rejects.toThrow('another part failed');
    await expect(late[0]).rejects.toThrow('was given back');
    await sql`SELECT 1`;
    expect(await probes()).toEqual([]);
  });

  it('takes no statement of work that was not awaited, and is committed', async () => {
    const { sql, probes } = await setUp();
    const late: Promise<unknown>[] = [];
    await transaction(sql, async (tx) => {
      const goingOn = async (): Promise<void> => {
        await tx`INSERT INTO probe VALUES (1)`;
        await tx`INSERT INTO probe VALUES (2)`;
      };
      late.push(goingOn());
    });
    await expect(late[0]).rejects.toThrow('was given back');
    expect(await probes()).toEqual([1]);
  });

  it('is committed whatever kind of statement comes first at its end', async () => {
    const { sql, probes } = await setUp();
    await transaction(sql, async (tx, _rollback, atEnd) =>
      atEnd([tx.unsafe('INSERT INTO probe VALUES (1)'), tx`INSERT INTO probe VALUES (${2})`]),
    );
    expect(await probes()).toEqual([1, 2]);
  });

  it('has given each of its last statements the whole limit', async () => {
    const answers = { graceMs: 100, promptMs: 5000, silentMs: 5000 };
    const { sql, probes } = await setUp({ statementTimeoutMs: 3000, answers });
    await transaction(sql, async (tx, _rollback, atEnd) =>
      atEnd([1, 2, 3].map((x) => tx`INSERT INTO probe SELECT ${x}::int FROM pg_sleep(1.1)`)),
    );
    expect(await probes()).toEqual([1, 2, 3]);
  });
});

it.each<[string, (tx: Tx) => unknown]>([
  ['in the exchange of the COMMIT', (tx) => tx`SELECT 1 / 0`],
  ['before it', (tx) => tx.unsafe('SELECT 1 / 0')],
])('a statement that nobody awaits, %s, refuses its transaction with its own error', async (_when, ask) => {
  const { sql, probes } = await setUp();
  const refused = transaction(sql, async (tx) => {
    await tx`INSERT INTO probe VALUES (1)`;
    Promise.resolve(ask(tx)).catch(() => undefined);
  });
  await expect(refused).rejects.toMatchObject({ code: '22012' });
  expect(await probes()).toEqual([]);
});

it('a reserved connection is closed, and its locks are free, when its loss is told', async () => {
  const { url, admin } = await setUp();
  const holder = await connect({ url, name: 'session', statementTimeoutMs: 1000 });
  await holder`SELECT pg_advisory_lock(7)`;
  holder.release();
  await holder.whenLost;
  expect(await admin`SELECT pg_try_advisory_lock(7) AS is_free`).toEqual([{ isFree: true }]);
});

it('a pool that ends waits for no connection that is being opened', async () => {
  const { url } = await setUp();
  const silent = await startFront(url, () => undefined);
  const sql = openPool({ url: silent, connectionsMax: 2, name: 'session', statementTimeoutMs: 0, connectMs: 600_000 });
  const refused = expect(sql`SELECT 1`).rejects.toMatchObject({ code: 'CONNECTION_DESTROYED' });
  await turn();
  await sql.end({ timeout: 0.05 });
  await refused;
});

describe('a connection that is given back', () => {
  it('in the middle of a transaction is used by nobody else, and leaves nothing', async () => {
    const { sql, probes } = await setUp();
    const connection = await sql.reserve();
    await connection.unsafe('BEGIN');
    await connection`INSERT INTO probe VALUES (1)`;
    connection.release();
    await sql`INSERT INTO probe VALUES (2)`;
    expect(await probes()).toEqual([2]);
  });

  it('is closed at its age, also when it never rests', async () => {
    const { sql } = await setUp({ lifeMs: 50 });
    const pids = new Set<number>();
    const statementsMax = 10_000;
    for (let statement = 0; pids.size < 2 && statement < statementsMax; statement++) {
      const [row] = await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
      pids.add(row?.pid ?? 0);
    }
    expect(pids.size).toBe(2);
  });

  it('has prepared its statements under names that no other connection uses', async () => {
    const { sql } = await setUp({ connectionsMax: 2 });
    const connections = [await sql.reserve(), await sql.reserve()];
    const names = await Promise.all(
      connections.map(async (connection) => {
        await connection`SELECT ${1}::int`;
        const rows = await connection<{ name: string }[]>`SELECT name FROM pg_prepared_statements`;
        return rows.map(({ name }) => name);
      }),
    );
    for (const connection of connections) connection.release();
    expect(new Set(names.flat()).size).toBe(names.flat().length);
  });
});

it('R-06 a connection that ends in the middle of a statement is closed, and was not refused', async () => {
  const { url } = await setUp();
  const front = await startFront(url, (raw, reach) => {
    const far = reach();
    raw.on('data', (chunk: Buffer) => {
      if (chunk.includes('pg_sleep')) raw.end();
      else far.write(chunk);
    });
    far.pipe(raw);
  });
  const error = await pool(front)`SELECT pg_sleep(9)`.catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'CONNECTION_CLOSED' });
});

it('R-06 a connection that hears notifications is not taken for dead with another one', async () => {
  const { url, admin } = await setUp();
  let isHolding = false;
  let held = 0;
  const front = await startFront(url, (raw, reach) => {
    const far = reach();
    raw.on('data', (chunk: Buffer) => {
      if (isHolding && chunk.includes('now silent')) held++;
      else far.write(chunk);
    });
    far.pipe(raw);
  });
  const answers = { graceMs: 300, promptMs: 300, silentMs: 60_000 };
  stopTime();
  const ear = await connect({ url: front, name: 'session', statementTimeoutMs: 1000, answers });
  onTestFinished(() => ear.release());
  const heard: string[] = [];
  await ear.listen('greetings', (payload) => heard.push(payload));
  const sql = pool(front, { statementTimeoutMs: 300, answers });
  await sql`SELECT 1`;
  isHolding = true;
  const dead = sql`SELECT 'now silent'`.execute();
  dead.catch(() => undefined);
  while (held === 0) await turn();
  vi.advanceTimersByTime(1);
  await admin`SELECT pg_notify('greetings', 'hello')`;
  while (heard.length === 0) await turn();
  vi.advanceTimersByTime(600);
  await expect(dead).rejects.toMatchObject({ code: 'CONNECTION_UNANSWERED' });
  expect(await ear`SELECT 1 AS one`).toEqual([{ one: 1 }]);
});

it('R-06 a connection without a limit, which holds locks for days, is not ended because another one is dead', async () => {
  const { url } = await setUp();
  const isHeld = createGate();
  const front = await startFront(url, (raw, reach) => {
    const far = reach();
    raw.on('data', (chunk: Buffer) => {
      if (chunk.includes('now silent')) isHeld.open();
      else far.write(chunk);
    });
    far.pipe(raw);
  });
  const answers = { graceMs: 200, promptMs: 200, silentMs: 60_000 };
  stopTime();
  const holder = await connect({ url: front, name: 'session', statementTimeoutMs: 0, answers });
  onTestFinished(() => holder.release());
  await holder`SELECT pg_advisory_lock(7)`;
  const dead = pool(front, { statementTimeoutMs: 100, answers })`SELECT 'now silent'`.execute();
  dead.catch(() => undefined);
  await isHeld.opened;
  vi.advanceTimersByTime(300);
  await expect(dead).rejects.toMatchObject({ code: 'CONNECTION_UNANSWERED' });
  expect(await holder`SELECT pg_advisory_unlock(7) AS was_held`).toEqual([{ wasHeld: true }]);
});

/** Holds a pool's connection until it is released. */
function hold(sql: Sql) {
  let letGo: () => void = () => undefined;
  const until = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  return { letGo, held: transaction(sql, () => until) };
}

it('R-85 a statement is refused in time also when it has waited since before the first connection', async () => {
  const { url } = await setUp();
  const gate = createDatabaseGate();
  const through = await gate.reach(url);
  gate.freeze();
  const busy = { code: 'CONNECTION_BUSY' };
  const sql = pool(through, { waitMs: 100 });
  const reference = pool(url, { waitMs: 100 });
  const holds = [hold(reference), hold(sql)];
  const refused = expect(sql`SELECT 1`).rejects.toMatchObject(busy);
  // The time of the one that waits has ended too, and there is no connection yet.
  await expect(reference`SELECT 1`).rejects.toMatchObject(busy);
  gate.thaw();
  await refused;
  for (const { letGo, held } of holds) {
    letGo();
    await held;
  }
});

describe('COPY', () => {
  it('is not repeated with rows that were already taken', async () => {
    const { sql, admin, probes } = await setUp();
    // The refusal that a lost plan of a prepared statement gets.
    await admin.unsafe(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'EXECUTE missing'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON probe FOR EACH ROW EXECUTE FUNCTION refuse()`);
    const copying = copyBytes(sql`COPY probe (x) FROM STDIN`, Buffer.from('1\n2\n'));
    await expect(copying).rejects.toMatchObject({ code: '26000' });
    expect(await probes()).toEqual([]);
  });

  it('takes no more rows than the connection passes on', async () => {
    const { url } = await setUp();
    const gate = createDatabaseGate();
    const sql = pool(await gate.reach(url), { statementTimeoutMs: 0 });
    await sql`SELECT 1`;
    let taken = 0;
    const rowBytes = 65_536;
    const piecesMax = 4000;
    const piece = Buffer.from('1\n'.repeat(rowBytes / 2));
    const rows = function* (): Iterable<Buffer> {
      for (; taken < piecesMax; taken++) {
        if (taken === 2) gate.freeze();
        yield piece;
      }
    };
    const copying = sql`COPY probe (x) FROM STDIN`.copy(rows()).catch(() => 'lost');
    for (let before = -1; taken !== before || taken === 0; ) {
      before = taken;
      for (let turns = 0; turns < 200; turns++) await turn();
    }
    // The sockets' own buffers hold a few megabytes.
    expect(taken).toBeLessThan(piecesMax / 4);
    await gate.shut();
    expect(await copying).toBe('lost');
  });

  it('that was refused gives none of its rows to the next one', async () => {
    const { sql, probes } = await setUp();
    const connection = await sql.reserve();
    onTestFinished(() => connection.release());
    let goOn: () => void = () => undefined;
    const isRefused = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let isOver = false;
    const refused = async function* (): AsyncIterable<Buffer> {
      try {
        yield Buffer.from('no number\n');
        await isRefused;
        yield Buffer.from('8\n');
        yield Buffer.from('9\n');
      } finally {
        isOver = true;
      }
    };
    const next = async function* (): AsyncIterable<Buffer> {
      yield Buffer.from('1\n');
      goOn();
      while (!isOver) await turn();
      yield Buffer.from('2\n');
    };
    await expect(connection`COPY probe (x) FROM STDIN`.copy(refused())).rejects.toMatchObject({ code: '22P02' });
    await connection`COPY probe (x) FROM STDIN`.copy(next());
    expect(await probes()).toEqual([1, 2]);
  });

  it('that is refused early leaves a connection that works', async () => {
    const { sql, probes } = await setUp();
    let taken = 0;
    const rows = function* (): Iterable<Buffer> {
      for (; taken < 200; taken++) yield Buffer.from(taken === 0 ? 'no number\n' : '1\n'.repeat(32_768));
    };
    await expect(sql`COPY probe (x) FROM STDIN`.copy(rows())).rejects.toMatchObject({ code: '22P02' });
    await sql`INSERT INTO probe VALUES (7)`;
    expect(await probes()).toEqual([7]);
  });
});

it('a statement with more values than the protocol counts is refused here, and the connection goes on', async () => {
  const { sql } = await setUp();
  const [row] = await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  const values = Array.from({ length: 65_536 }, (_, n) => sql`${n === 0 ? sql`` : sql`,`} ${n}::int`);
  await expect(sql`SELECT ARRAY[${values}] AS numbers`).rejects.toThrow(/more than 65535 values/);
  expect(await sql`SELECT pg_backend_pid() AS pid`).toEqual([row]);
});
