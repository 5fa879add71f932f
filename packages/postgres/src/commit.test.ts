import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { createTestDatabase } from '../test/database.ts';
import { createDatabaseGate } from '../test/database-gate.ts';
import { type Fragment, isDatabaseDown, isDatabaseState, openPool, type Tx, transaction } from './db.ts';

const never = 600_000;

/** A pool of one connection behind a gate, and a row with a counter. */
async function setUp() {
  const { sql: admin, url } = await createTestDatabase();
  await admin`CREATE TABLE counts (id int PRIMARY KEY, n int NOT NULL CHECK (n >= 0))`;
  await admin`CREATE TABLE notes (n int NOT NULL)`;
  await admin`INSERT INTO counts VALUES (1, 0)`;
  const gate = createDatabaseGate();
  const sql = openPool({
    url: await gate.reach(url),
    connectionsMax: 1,
    name: 'pool under test',
    statementTimeoutMs: never,
    answers: { graceMs: never, promptMs: never, silentMs: never },
  });
  whenDone(() => sql.end({ timeout: 1 }));
  const countUp = (tx: Tx, by: number): Fragment => tx`UPDATE counts SET n = n + ${by} WHERE id = ${1} RETURNING *`;
  return {
    admin,
    gate,
    sql,
    countUp,
    /** Runs one transaction: inserts a note and adds to the counter at its end. */
    count: (by: number, before?: () => void) =>
      transaction(sql, async (tx, _rollback, atEnd) => {
        await tx`INSERT INTO notes VALUES (${by})`;
        before?.();
        atEnd([countUp(tx, by), tx`INSERT INTO notes SELECT n FROM counts`]);
        return by;
      }),
    counted: async () => (await admin<{ n: number }[]>`SELECT n FROM counts`)[0]?.n,
    notes: async () => (await admin<{ n: number }[]>`SELECT n FROM notes ORDER BY n`).map(({ n }) => n),
  };
}

describe('the last statements of a transaction', () => {
  it('run in order, in the transaction, and their answers are there once that has resolved', async () => {
    const { sql, countUp, notes } = await setUp();
    const statements: Fragment[] = [];
    await transaction(sql, async (tx, _rollback, atEnd) => {
      await tx`INSERT INTO notes VALUES (7)`;
      statements.push(countUp(tx, 1), countUp(tx, 10), tx`INSERT INTO notes SELECT n FROM counts`);
      atEnd(statements);
    });
    expect(await Promise.all(statements)).toMatchObject([[{ n: 1 }], [{ n: 11 }], []]);
    expect(await notes()).toEqual([7, 11]);
  });

  it('are committed although the process never gets their answers', async () => {
    const { gate, count, counted, notes } = await setUp();
    // From now on the connection has prepared the statements.
    await count(1);
    const counting = count(10, () => gate.freezeAnswers());
    while ((await counted()) !== 11);
    gate.thaw();
    expect(await counting).toBe(10);
    expect(await notes()).toEqual([1, 1, 10, 11]);
  });

  it('undo the transaction where one is refused, with the reason, and the connection works on', async () => {
    const { count, counted, notes } = await setUp();
    await count(1);
    await expect(count(-5)).rejects.toMatchObject({ code: '23514' });
    expect(await counted()).toBe(1);
    expect(await notes()).toEqual([1, 1]);
    expect(await count(2)).toBe(2);
    expect(await notes()).toEqual([1, 1, 2, 3]);
  });

  it('are not sent where the work refuses', async () => {
    const { sql, countUp, counted } = await setUp();
    const refused = transaction<string>(sql, async (tx, rollback, atEnd) => {
      atEnd([countUp(tx, 1)]);
      return rollback('refused');
    });
    expect(await refused).toBe('refused');
    expect(await counted()).toBe(0);
  });

  it('are not sent again after the commit where the server has lost their plan', async () => {
    const { admin, count, counted, notes } = await setUp();
    await count(1);
    // The statement now returns another type: the server refuses its plan. Outside a
    // transaction the statement would be sent again.
    await admin`ALTER TABLE counts ADD COLUMN more int`;
    await expect(count(10)).rejects.toMatchObject({ code: '0A000' });
    expect(await counted()).toBe(1);
    expect(await notes()).toEqual([1, 1]);
  });

  it.each([
    ['another result', 'ALTER TABLE counts ADD COLUMN more int', '0A000'],
    ['another type of a column', 'ALTER TABLE counts ALTER COLUMN n TYPE text USING n::text', '0A000'],
    ['another type of the key', 'ALTER TABLE counts ALTER COLUMN id TYPE text USING id::text', '42'],
    ['no plan, because all were deallocated', null, '26000'],
  ])('R-96 may be repeated as a whole where a statement has %s since', async (_what, change, code) => {
    const { admin, sql } = await setUp();
    await admin`ALTER TABLE counts DROP CONSTRAINT counts_n_check`;
    const work = () =>
      transaction(sql, async (tx) => {
        await tx`UPDATE counts SET n = ${'7'} WHERE id = ${'1'}`;
        return tx`SELECT * FROM counts WHERE id = ${'1'}`;
      });
    await work();
    await (change === null ? sql.unsafe('DEALLOCATE ALL') : admin.unsafe(change));
    const refusal = await work().then(
      () => undefined,
      (error: unknown) => error,
    );
    expect((refusal as { code?: string }).code).toMatch(new RegExp(`^${code}`));
    expect(isDatabaseState(refusal)).toBe(true);
    expect(isDatabaseDown(refusal)).toBe(false);
    expect(String((await work())[0]?.['n'])).toBe('7');
  });

  it('are no fault of the database where the statement itself is wrong', async () => {
    const { sql } = await setUp();
    for (let time = 0; time < 2; time++) {
      const refusal = await transaction(sql, (tx) => tx`SELECT no_such_column FROM counts`).catch((error) => error);
      expect(refusal).toMatchObject({ code: '42703' });
      expect(isDatabaseState(refusal)).toBe(false);
    }
  });

  it('R-07 leave the commit unknown where the connection is lost with its answer', async () => {
    const { gate, count, counted } = await setUp();
    await count(1);
    const counting = count(10, () => gate.freezeAnswers()).then(
      () => 'committed',
      (error: unknown) => isDatabaseDown(error),
    );
    while ((await counted()) !== 11);
    await gate.shut();
    expect(await counting).toBe(true);
    await gate.open();
    // A new connection has not prepared the statements.
    expect(await count(5)).toBe(5);
    expect(await counted()).toBe(16);
  });
});
