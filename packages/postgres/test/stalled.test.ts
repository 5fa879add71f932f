// A connection that stands still in the middle of a statement is ended; a slow one is not.
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isDatabaseDown, openPool, type Sql, transaction } from '../src/db.ts';
import { createStallWatch } from '../src/stalled.ts';
import { createTestDatabase } from './database.ts';

interface OpenCopy {
  readonly admin: Sql;
  /** Resolves when the server has read the row and waits for more. */
  writeRow(): Promise<void>;
  end(): void;
  /** The error of the transaction, or what it stored. */
  readonly ended: Promise<unknown>;
}

/** Starts a COPY as a process of the service does. */
async function startCopy(): Promise<OpenCopy> {
  const { url, sql: admin } = await createTestDatabase();
  await admin`CREATE TABLE copied (x int)`;
  const sql = openPool({ url, connectionsMax: 1, name: 'carillon send', statementTimeoutMs: 600_000 });
  onTestFinished(() => sql.end({ timeout: 1 }));
  let open = (_copy: Pick<OpenCopy, 'writeRow' | 'end'>): void => undefined;
  const opened = new Promise<Pick<OpenCopy, 'writeRow' | 'end'>>((resolve) => {
    open = resolve;
  });
  const ended = transaction(sql, async (tx) => {
    const rows = new PassThrough();
    let written = 0;
    open({
      end: () => void rows.end(),
      async writeRow() {
        rows.write('1\n');
        written++;
        for (;;) {
          const read = await admin`
            SELECT 1 FROM pg_stat_progress_copy c JOIN pg_stat_activity a USING (pid)
            WHERE a.datname = current_database() AND c.bytes_processed = ${2 * written} AND a.wait_event = 'ClientRead'`;
          if (read.length > 0) return;
        }
      },
    });
    await tx`COPY copied (x) FROM STDIN`.copy(rows);
  }).then(
    async () => (await admin`SELECT x FROM copied`).length,
    (error: unknown) => error,
  );
  return { admin, ended, ...(await opened) };
}

describe('R-04 rows that are being copied', () => {
  it('may come slowly, as long as some come between two looks', async () => {
    const { admin, writeRow, end, ended } = await startCopy();
    // A connection that looks the same twice has stood still for too long.
    const watch = createStallWatch({ sql: admin, program: 'carillon', afterMs: 0 });
    for (let row = 0; row < 5; row++) {
      await writeRow();
      await watch.look();
    }
    end();
    expect(await ended).toBe(5);
  });

  it('are rolled back when no more come', async () => {
    const { admin, writeRow, ended } = await startCopy();
    const watch = createStallWatch({ sql: admin, program: 'carillon', afterMs: 0 });
    await writeRow();
    await watch.look();
    await watch.look();
    expect(isDatabaseDown(await ended)).toBe(true);
    expect(await admin`SELECT x FROM copied`).toHaveLength(0);
  });

  it('get time between two looks', async () => {
    const { admin, writeRow, end, ended } = await startCopy();
    const watch = createStallWatch({ sql: admin, program: 'carillon', afterMs: 600_000 });
    await writeRow();
    for (let look = 0; look < 5; look++) await watch.look();
    end();
    expect(await ended).toBe(1);
  });
});
