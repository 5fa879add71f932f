// A statement that nobody waits for any more ends in the database, and no other one with it.
import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../rig/src/when-done.ts';
import { CanceledError, cancelableTransaction } from '../src/cancelable.ts';
import { openPool, type Value } from '../src/db.ts';
import { createTestDatabase } from './database.ts';

const { url, sql } = await createTestDatabase();
const sleeping = async (): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_sleep(%' AND pid <> pg_backend_pid()`;
  return row?.count ?? 0;
};
const canceling = async (): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*) AS count FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE '%SELECT pg_cancel_backend(pid)%' AND pid <> pg_backend_pid()`;
  return row?.count ?? 0;
};

describe('a cancelable transaction', () => {
  it('ends its statement when the signal aborts, and leaves others and its connection alone', async () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const sleep = ({ signal }: AbortController) =>
      cancelableTransaction(sql, { signal, sql }, async (tx) => tx`SELECT pg_sleep(120)`).catch((error) => error);
    const ended = sleep(one);
    const goesOn = sleep(other);
    await expect.poll(sleeping).toBe(2);
    one.abort();
    expect(await ended).toBeInstanceOf(CanceledError);
    expect(await sleeping()).toBe(1);
    other.abort();
    expect(await goesOn).toBeInstanceOf(CanceledError);
    expect(await sleeping()).toBe(0);
    const { signal } = new AbortController();
    const rows = await cancelableTransaction(sql, { signal, sql }, async (tx) => tx`SELECT 1 AS one`);
    expect(rows).toMatchObject([{ one: 1 }]);
  });

  it('ends nothing when the request to cancel arrives late, in the next transaction of its connection', async () => {
    const single = openPool({ url, connectionsMax: 1, name: 'tests', statementTimeoutMs: 60_000 });
    whenDone(() => single.end());
    const leaving = new AbortController();
    let arrive: () => PromiseLike<unknown> = () => Promise.reject(new Error('no request was made'));
    // The request is lost for the one who asks, and the server carries it out later.
    const slowWay = ((strings: TemplateStringsArray, ...values: Value[]) => {
      arrive = () => sql(strings, ...values);
      return Promise.reject(new Error('no answer'));
    }) as unknown as typeof sql;
    const first = cancelableTransaction(single, { signal: leaving.signal, sql: slowWay }, async (tx) => {
      leaving.abort();
      return tx`SELECT 1`;
    });
    await first.catch(() => undefined);
    const { signal } = new AbortController();
    const next = cancelableTransaction(single, { signal, sql }, async (tx) => {
      expect(await arrive()).toEqual([]);
      return tx`SELECT 2 AS two`;
    });
    expect(await next).toMatchObject([{ two: 2 }]);
  });

  it('ends a statement that begins after the signal, too', async () => {
    const gone = new AbortController();
    const ended = cancelableTransaction(sql, { signal: gone.signal, sql }, async (tx) => {
      await tx`SELECT 1`;
      gone.abort();
      // The first request to cancel finds no statement.
      await expect.poll(canceling).toBeGreaterThan(0);
      await tx`SELECT pg_sleep(120)`;
    });
    await expect(ended).rejects.toBeInstanceOf(CanceledError);
    expect(await sleeping()).toBe(0);
  });

  it('that was aborted before sends nothing', async () => {
    let hasBegun = false;
    const asked = cancelableTransaction(sql, { signal: AbortSignal.abort(), sql }, async () => {
      hasBegun = true;
    });
    await expect(asked).rejects.toBeInstanceOf(CanceledError);
    expect(hasBegun).toBe(false);
  });

  it('passes on an error of its own, and reads one snapshot where it is asked to', async () => {
    const { signal } = new AbortController();
    await expect(cancelableTransaction(sql, { signal, sql }, async (tx) => tx`SELECT 1 / 0`)).rejects.toMatchObject({
      code: '22012',
    });
    const level = cancelableTransaction(sql, { signal, sql, isOneSnapshot: true }, async (tx) => {
      const [row] = await tx<{ level: string }[]>`SELECT current_setting('transaction_isolation') AS level`;
      return row?.level;
    });
    expect(await level).toBe('repeatable read');
  });
});
