// Applies migrations: numbered SQL files, forward only, one transaction each, under one advisory
// lock. A released file is never edited: its checksum is stored and compared.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { failpoint } from '../ground/failpoint.ts';
import { advisoryLocks } from './advisory-locks.ts';
import type { Sql, Tx } from './db.ts';

const migrationsDir = fileURLToPath(new URL('../../migrations/', import.meta.url));

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
  /**
   * The header line `-- no transaction` sets it to false, for statements that PostgreSQL refuses in
   * a transaction (CREATE INDEX CONCURRENTLY). Such a file contains one statement, because several
   * sent together form a transaction again. The statement must be repeatable: a process that ends
   * in the middle leaves it unfinished.
   */
  readonly inTransaction: boolean;
}

export async function listMigrations(): Promise<Migration[]> {
  const names = (await readdir(migrationsDir)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(`${migrationsDir}/${name}`, 'utf8');
      return {
        number: Number(name.slice(0, 4)),
        name,
        text,
        checksum: createHash('sha256').update(text).digest('hex'),
        inTransaction: !/^-- no transaction$/m.test(text),
      };
    }),
  );
}

/**
 * Applies the missing migrations and returns their names. Several processes may call it at once:
 * one works, and the others wait and find it done.
 */
export async function migrate(sql: Sql, migrations?: readonly Migration[]): Promise<string[]> {
  const wanted = migrations ?? (await listMigrations());
  const connection = await sql.reserve();
  try {
    await takeTurn(connection);
    await connection`SET lock_timeout = '3s'`;
    await connection`
      CREATE TABLE IF NOT EXISTS schema_migrations (
        number integer PRIMARY KEY,
        name text COLLATE "C" NOT NULL,
        checksum text COLLATE "C" NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
      )`;
    const applied = await connection<
      { number: number; checksum: string }[]
    >`SELECT number, checksum FROM schema_migrations`;
    const checksums = new Map(applied.map((row) => [row.number, row.checksum]));
    const done: string[] = [];
    for (const migration of wanted) {
      const checksum = checksums.get(migration.number);
      if (checksum === migration.checksum) continue;
      if (checksum !== undefined) throw new Error(`migration ${migration.name} was changed after it was applied`);
      await apply(connection, migration);
      done.push(migration.name);
    }
    return done;
  } finally {
    // The lock belongs to the session, so it is released before the connection returns to the pool.
    await connection`SELECT pg_advisory_unlock_all()`.catch(() => undefined);
    await connection`RESET lock_timeout`.catch(() => undefined);
    connection.release();
  }
}

const turnEveryMs = 200;

// The lock is polled. A process that waits inside a statement holds a snapshot, and CREATE INDEX
// CONCURRENTLY waits for every snapshot, so the two would wait for each other.
async function takeTurn(connection: Tx): Promise<void> {
  for (;;) {
    const [row] = await connection<
      { isMine: boolean }[]
    >`SELECT pg_try_advisory_lock(${advisoryLocks.migrations}) AS is_mine`;
    if (row?.isMine) return;
    await sleep(turnEveryMs);
  }
}

/** Lists the names of migrations that have not been applied. */
export async function missingMigrations(sql: Sql): Promise<string[]> {
  const wanted = await listMigrations();
  const [table] = await sql<{ exists: boolean }[]>`SELECT to_regclass('schema_migrations') IS NOT NULL AS exists`;
  if (!table?.exists) return wanted.map((migration) => migration.name);
  const applied = await sql<{ number: number }[]>`SELECT number FROM schema_migrations`;
  const numbers = new Set(applied.map((row) => row.number));
  return wanted.filter((migration) => !numbers.has(migration.number)).map((migration) => migration.name);
}

async function apply(connection: Tx, migration: Migration): Promise<void> {
  for (let round = 1; ; round++) {
    try {
      if (migration.inTransaction) {
        await connection`BEGIN`;
        // The ledger row comes first: if the advisory lock were lost, a concurrent run would
        // conflict here and not half-way.
        await note(connection, migration);
        await failpoint('migrate.mid');
        await connection.unsafe(migration.text);
        await connection`COMMIT`;
      } else {
        await dropBrokenIndex(connection, migration);
        await connection.unsafe(migration.text);
        await failpoint('migrate.mid');
        await note(connection, migration);
      }
      return;
    } catch (error) {
      if (migration.inTransaction) await connection`ROLLBACK`.catch(() => undefined);
      // A busy table held its lock for longer than lock_timeout. Wait so that its traffic
      // continues, then try again.
      const isLockTimeout = (error as { code?: string }).code === '55P03';
      if (!isLockTimeout || round === 20) throw error;
      await sleep(250 * round);
    }
  }
}

// An index that a killed process left half-built exists but serves no query; IF NOT EXISTS would
// keep it forever.
async function dropBrokenIndex(connection: Tx, { text }: Migration): Promise<void> {
  const [, index] = /INDEX CONCURRENTLY IF NOT EXISTS ([a-z0-9_]+)/.exec(text) ?? [];
  if (index === undefined) return;
  const broken = await connection`
    SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(${index}) AND NOT indisvalid`;
  if (broken.length > 0) await connection.unsafe(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`);
}

async function note(connection: Tx, { number, name, checksum }: Migration): Promise<void> {
  await connection`INSERT INTO schema_migrations (number, name, checksum) VALUES (${number}, ${name}, ${checksum})`;
}
