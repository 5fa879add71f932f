import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { createTestDatabase } from '../test/database.ts';
import {
  isDatabaseDown,
  isStatementTimeout,
  openPool,
  repeatOnDeadlock,
  type Sql,
  savepoint,
  type Tx,
  transaction,
} from './db.ts';

const poolName = 'pool under test';

/** Collects uncaught errors. Each would have ended the process. */
function watchProcess(): unknown[] {
  const seen: unknown[] = [];
  const note = (error: unknown): void => void seen.push(error);
  process.on('uncaughtException', note);
  process.on('unhandledRejection', note);
  whenDone(async () => {
    process.off('uncaughtException', note);
    process.off('unhandledRejection', note);
  });
  return seen;
}

/** Runs everything that was put off to a later turn. */
const nextTurns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

async function setUp(connectionsMax: number) {
  const { sql: admin, url } = await createTestDatabase();
  const sql = openPool({ url, connectionsMax, name: poolName, statementTimeoutMs: 10_000 });
  whenDone(() => sql.end({ timeout: 1 }));
  return { admin, sql, seen: watchProcess() };
}

/** Ends backends as an operator or a failing server does, and returns when they are gone. */
async function terminate(admin: Sql, pids: readonly number[]): Promise<void> {
  await admin`SELECT pg_terminate_backend(pid) FROM unnest(${pids}::int[]) AS pid`;
  for (;;) {
    const left = await admin`SELECT 1 FROM pg_stat_activity WHERE pid = ANY(${pids}::int[])`;
    if (left.length === 0) return;
  }
}

async function pidOf(tx: Pick<Sql, 'unsafe'>): Promise<number> {
  const [row] = await tx.unsafe<{ pid: number }[]>('SELECT pg_backend_pid() AS pid');
  return row?.pid ?? 0;
}

/** Resolves when a backend is in the middle of pg_sleep. */
async function untilAsleep(admin: Sql, pid: number): Promise<void> {
  for (;;) {
    const found = await admin`SELECT 1 FROM pg_stat_activity WHERE pid = ${pid} AND wait_event = 'PgSleep'`;
    if (found.length > 0) return;
  }
}

describe('a connection that is lost inside a transaction', () => {
  it.each<[string, (tx: Sql, end: () => Promise<void>, admin: Sql, pid: number) => Promise<unknown>]>([
    [
      'in a statement',
      async (tx, end, admin, pid) => {
        const asleep = tx`SELECT pg_sleep(9)`.execute();
        asleep.catch(() => undefined);
        await untilAsleep(admin, pid);
        await end();
        await asleep;
      },
    ],
    [
      'between two statements',
      async (tx, end) => {
        await end();
        await tx`INSERT INTO probe VALUES (2)`;
      },
    ],
    [
      'between two statements, long before the second',
      async (tx, end) => {
        await end();
        await nextTurns();
        await tx`INSERT INTO probe VALUES (2)`;
      },
    ],
    [
      'between two statements, and its work swallows the refusal',
      async (tx, end) => {
        await end();
        await nextTurns();
        await tx`INSERT INTO probe VALUES (2)`.catch(() => undefined);
        await tx`INSERT INTO probe VALUES (3)`.catch(() => undefined);
      },
    ],
    ['before the commit', (_tx, end) => end()],
    [
      'before a rollback',
      async (_tx, end) => {
        await end();
        await nextTurns();
        throw new Error('the work refused');
      },
    ],
  ])('R-06 %s rejects it as a database that is down, ends nothing else, and the pool answers', async (_when, work) => {
    const { admin, sql, seen } = await setUp(1);
    await admin`CREATE TABLE probe (x int)`;
    const refusal = await transaction(sql, async (tx) => {
      const pid = await pidOf(tx);
      await tx`INSERT INTO probe VALUES (1)`;
      await work(tx as Sql, () => terminate(admin, [pid]), admin, pid);
    }).then(
      () => 'committed',
      (error: unknown) => error,
    );
    // Before a rollback either error may come first: the work's refusal, or the lost connection.
    if ((refusal as Error).message !== 'the work refused') expect(isDatabaseDown(refusal)).toBe(true);
    expect(await sql`SELECT x FROM probe`).toHaveLength(0);
    await nextTurns();
    expect(seen).toEqual([]);
  });

  it('R-06 again and again, under load, ends each transaction once and leaves a pool that answers', async () => {
    const { admin, sql, seen } = await setUp(4);
    for (let round = 0; round < 8; round++) {
      let statements = 0;
      let isLoaded: () => void = () => undefined;
      const loaded = new Promise<void>((resolve) => {
        isLoaded = resolve;
      });
      const running = new Set<number>();
      const all = Array.from({ length: 12 }, () =>
        transaction(sql, async (tx) => {
          running.add(await pidOf(tx));
          for (let statement = 0; statement < 30; statement++) {
            await tx`SELECT pg_sleep(0.001)`;
            // Each round ends the connections at another point of their work.
            if (++statements >= 20 + 7 * round) isLoaded();
          }
        }),
      );
      const ends = Promise.allSettled(all);
      await loaded;
      await terminate(admin, [...running]);
      const refused = (await ends).flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
      expect(refused.length).toBeGreaterThan(0);
      expect(refused.filter((error) => !isDatabaseDown(error))).toEqual([]);
      const answers = await Promise.all(Array.from({ length: 8 }, () => sql`SELECT 1 AS one`));
      expect(answers.map(([row]) => row?.['one'])).toEqual(Array(8).fill(1));
    }
    await nextTurns();
    expect(seen).toEqual([]);
  });
});

describe('a transaction', () => {
  it('undoes everything after a refusal that is no error, and after an error', async () => {
    const { admin, sql } = await setUp(2);
    await admin`CREATE TABLE probe (x int)`;
    const refused = await transaction<string>(sql, async (tx, rollback) => {
      await tx`INSERT INTO probe VALUES (1)`;
      return rollback('refused');
    });
    expect(refused).toBe('refused');
    const failed = transaction(sql, async (tx) => {
      await tx`INSERT INTO probe VALUES (2)`;
      throw new Error('the work failed');
    });
    await expect(failed).rejects.toThrow('the work failed');
    expect(await sql`SELECT x FROM probe`).toHaveLength(0);
  });

  it('goes on after a part of it that failed, without that part, whatever failed there', async () => {
    const { admin, sql } = await setUp(2);
    await admin`CREATE TABLE probe (x int)`;
    await transaction(sql, async (tx) => {
      await tx`INSERT INTO probe VALUES (1)`;
      for (const fail of [(part: Tx) => part`SELECT 1 / 0`, () => Promise.reject(new Error('no statement'))]) {
        const part = savepoint(tx, async (inner) => {
          await inner`INSERT INTO probe VALUES (2)`;
          await fail(inner);
        });
        await expect(part).rejects.toThrow();
      }
      await savepoint(tx, (inner) => inner`INSERT INTO probe VALUES (3)`);
    });
    expect((await sql`SELECT x FROM probe ORDER BY x`).map((row) => row['x'])).toEqual([1, 3]);
  });

  it('R-06 whose connection is lost in a part of it rejects, and ends nothing else', async () => {
    const { admin, sql, seen } = await setUp(2);
    const lost = transaction(sql, async (tx) => {
      const [row] = await tx`SELECT pg_backend_pid() AS pid`;
      await savepoint(tx, async (inner) => {
        await inner`SELECT 1`;
        await terminate(admin, [row?.['pid']]);
        await inner`SELECT 1`;
      });
    });
    await expect(lost).rejects.toSatisfy(isDatabaseDown);
    await nextTurns();
    expect(seen).toEqual([]);
    expect(await sql`SELECT 1 AS one`).toHaveLength(1);
  });
});

describe('statements that are sent at once', () => {
  it('each get their own rows, also when all are the same one and new to the connection', async () => {
    const { sql } = await setUp(1);
    const asked = await transaction(sql, (tx) =>
      Promise.all([1, 2, 3].map((n) => tx<{ asked: number }[]>`SELECT ${n}::int AS asked`)),
    );
    expect(asked).toEqual([[{ asked: 1 }], [{ asked: 2 }], [{ asked: 3 }]]);
  });

  it('fail one by one, and a refused one is prepared again', async () => {
    const { sql } = await setUp(1);
    const divide = (by: number) => sql`SELECT 6 / ${by}::int AS part`;
    for (let round = 0; round < 2; round++) {
      const answers = await Promise.allSettled([divide(0), divide(2), divide(0), divide(3)]);
      expect(answers).toMatchObject([
        { reason: { code: '22012' } },
        { value: [{ part: 3 }] },
        { reason: { code: '22012' } },
        { value: [{ part: 2 }] },
      ]);
    }
  });
});

describe('the meaning of an error of the database', () => {
  it.each([
    ['57P01', true, 'it was shut down'],
    ['53300', true, 'it has no connection left'],
    ['28P01', true, 'it lets nobody in'],
    ['3D000', true, 'it is not there'],
    ['25006', true, 'it is a standby'],
    ['40P01', true, 'it ended a deadlock'],
    ['CONNECTION_CLOSED', true, 'the connection ended'],
    ['CONNECT_TIMEOUT', true, 'it did not answer'],
    ['ECONNREFUSED', true, 'nobody listens'],
    ['ENOTFOUND', true, 'its name does not resolve'],
    ['EAI_AGAIN', true, 'no name resolves'],
    ['EHOSTUNREACH', true, 'its host cannot be reached'],
    ['ENETUNREACH', true, 'its network cannot be reached'],
    ['23505', false, 'a row is there already'],
    ['23514', false, 'a value is not allowed'],
    ['42601', false, 'the statement is wrong'],
    ['57014', false, 'the statement took too long'],
  ])('%s: down is %s, for %s', (code, isDown) => {
    expect(isDatabaseDown({ code })).toBe(isDown);
    expect(isStatementTimeout({ code })).toBe(code === '57014');
  });

  it('an error without a code says nothing about the database', () => {
    expect(isDatabaseDown(new Error('CONNECTION_CLOSED'))).toBe(false);
    expect(isDatabaseDown(undefined)).toBe(false);
  });
});

describe('work that may be repeated', () => {
  it('runs again after a deadlock, five times in all, and after nothing else', async () => {
    const failing = (code: string, times: number) => {
      let runs = 0;
      const work = async (): Promise<number> => {
        if (++runs <= times) throw Object.assign(new Error(code), { code });
        return runs;
      };
      return repeatOnDeadlock(work).then(
        (result) => ({ result, runs }),
        () => ({ result: 'refused', runs }),
      );
    };
    expect(await failing('40P01', 2)).toEqual({ result: 3, runs: 3 });
    expect(await failing('40P01', 9)).toEqual({ result: 'refused', runs: 5 });
    expect(await failing('23505', 1)).toEqual({ result: 'refused', runs: 1 });
  });
});
