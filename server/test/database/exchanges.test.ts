// How many round trips statements take, counted by a proxy. While a transaction holds rows, each
// round trip prolongs their locks by the latency of the network.

import {
  copyRows,
  isStatementTimeout,
  openPool,
  setStatementTimeout,
  type Tx,
  transaction,
  unprepared,
} from '@carillon/postgres';
import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../../../packages/postgres/test/database.ts';
import { countExchanges } from '../../../packages/postgres/test/database-front.ts';
import { whenDone } from '../../../rig/src/when-done.ts';
import { mintUuid } from '../../src/ground/values/ids.ts';
import { lockDevice } from '../../src/people/devices/queries.ts';

async function setUp() {
  const { sql: admin, url } = await createTestDatabase();
  await admin`CREATE TABLE probe (x int PRIMARY KEY)`;
  const exchanges = await countExchanges(url);
  const sql = openPool({ url: exchanges.url, connectionsMax: 1, name: 'counted', statementTimeoutMs: 10_000 });
  whenDone(() => sql.end({ timeout: 1 }));
  await sql`SELECT 1`;
  return {
    admin,
    sql,
    probes: async () => (await admin<{ x: number }[]>`SELECT x FROM probe ORDER BY x`).map(({ x }) => x),
    /** Returns how many round trips the work took. */
    async counted(work: () => Promise<unknown>): Promise<number> {
      const before = exchanges.count;
      await work();
      return exchanges.count - before;
    },
  };
}

describe('statements of one transaction that are asked at the same time', () => {
  it('take one round trip, in order and each with its own answer', async () => {
    const { sql, counted, probes } = await setUp();
    const trips = await counted(() =>
      transaction(sql, async (tx) => {
        const answers = await Promise.all(
          Array.from({ length: 200 }, (_, x) => tx<{ x: number }[]>`INSERT INTO probe VALUES (${x}) RETURNING x`),
        );
        expect(answers.map(([row]) => row?.x)).toEqual(Array.from({ length: 200 }, (_, x) => x));
      }),
    );
    // BEGIN, the statements, COMMIT.
    expect(trips).toBe(3);
    expect(await probes()).toHaveLength(200);
  });

  it('take one round trip also when functions ask them, step by step', async () => {
    const { sql, counted } = await setUp();
    const inTwoSteps = async (tx: Tx, x: number) => {
      await tx`INSERT INTO probe VALUES (${x})`;
      return tx`SELECT x FROM probe WHERE x = ${x}`;
    };
    const trips = await counted(() =>
      transaction(sql, (tx) => Promise.all([inTwoSteps(tx, 1), inTwoSteps(tx, 2), inTwoSteps(tx, 3)])),
    );
    expect(trips).toBe(4);
  });

  it('take one round trip for the locks of an import of 500 devices', async () => {
    const { sql, counted } = await setUp();
    const ids = Array.from({ length: 500 }, () => mintUuid(0));
    const app = mintUuid(0);
    const trips = await counted(() =>
      transaction(sql, async (tx) => void (await Promise.all(ids.map((id) => lockDevice(tx, app, id))))),
    );
    expect(trips).toBe(3);
  });

  it('end with the first refused one: it is the error of all that follow, and none of them is carried out', async () => {
    const { sql, probes } = await setUp();
    await sql`INSERT INTO probe VALUES (2)`;
    const refused = transaction(sql, async (tx) => {
      const answers = await Promise.allSettled([
        tx`SELECT 1 AS one`,
        tx`INSERT INTO probe VALUES (${2})`,
        tx`INSERT INTO probe VALUES (${3})`,
        tx`SELEC`,
      ]);
      expect(answers[0]).toMatchObject({ status: 'fulfilled', value: [{ one: 1 }] });
      const errors = answers.slice(1).map((each) => each.status === 'rejected' && each.reason);
      expect(errors[0]).toMatchObject({ code: '23505' });
      expect(new Set(errors).size).toBe(1);
    });
    // The work swallowed the refusal; the transaction does not.
    await expect(refused).rejects.toMatchObject({ code: '23505' });
    expect(await probes()).toEqual([2]);
    expect(await sql`SELECT 1 AS one`).toEqual([{ one: 1 }]);
  });

  it('have a COPY and text of several statements among them', async () => {
    const { sql, probes } = await setUp();
    await transaction(sql, async (tx) => {
      const answers = await Promise.all([
        tx`INSERT INTO probe VALUES (1)`,
        copyRows(tx`COPY probe (x) FROM STDIN`, [[2], [3]]),
        tx<{ n: number }[]>`SELECT count(*) AS n FROM probe`,
        tx.unsafe('INSERT INTO probe VALUES (4); SELECT count(*) AS n FROM probe'),
        tx`INSERT INTO probe VALUES (5)`,
      ]);
      expect(answers[2]).toEqual([{ n: 3 }]);
      expect(answers[3]).toEqual([{ n: 4 }]);
    });
    expect(await probes()).toEqual([1, 2, 3, 4, 5]);
  });

  it('have each the limit that the statement before them set', async () => {
    const { sql } = await setUp();
    const slow = transaction(sql, (tx) => Promise.all([setStatementTimeout(tx, 50), tx`SELECT pg_sleep(9)`]));
    await expect(slow).rejects.toSatisfy(isStatementTimeout);
  });
});

it('statements outside a transaction stand for themselves, also on a reserved connection', async () => {
  const { sql, probes } = await setUp();
  const connection = await sql.reserve();
  const answers = await Promise.allSettled([
    connection`INSERT INTO probe VALUES (1)`,
    connection`INSERT INTO probe VALUES (1)`,
    connection`INSERT INTO probe VALUES (2)`,
  ]);
  connection.release();
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(await probes()).toEqual([1, 2]);
});

it('text of several statements is refused whole, also where its last statement is the refused one', async () => {
  const { sql, probes } = await setUp();
  const text = 'INSERT INTO probe VALUES (1); INSERT INTO probe VALUES (2); SELECT 1 / 0';
  await expect(sql.unsafe(text)).rejects.toMatchObject({ code: '22012' });
  expect(await probes()).toEqual([]);
});

it('a statement is prepared for the next time, unless it is marked otherwise', async () => {
  const { sql } = await setUp();
  const prepared = async () =>
    (await sql.unsafe<{ statement: string }[]>('SELECT statement FROM pg_prepared_statements')).map(
      ({ statement }) => statement,
    );
  await sql`SELECT ${1}::int AS kept`;
  await unprepared(sql`SELECT ${1}::int AS once`);
  expect(await prepared()).toContain('SELECT $1::int AS kept');
  expect(await prepared()).not.toContain('SELECT $1::int AS once');
});
