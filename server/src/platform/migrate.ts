// Brings the schema up to date: numbered SQL files, forward only, one transaction each, under one advisory lock.
// A released file is never edited: its checksum is kept and compared.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Sql } from './db.ts';
import { failpoint } from './failpoint.ts';

const migrationsDir = fileURLToPath(new URL('../../migrations/', import.meta.url));

/** Any number that nothing else in this database locks. */
const advisoryLock = 4_271_960_118;

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
  /**
   * A header line `-- no transaction` opts out, for what PostgreSQL refuses inside one (CREATE INDEX CONCURRENTLY). Such a file holds
   * one statement, since several sent together are a transaction again, and one that does no harm when it is repeated: a process
   * that ends in the middle leaves it undone.
   */
  readonly inTransaction: boolean;
}

export async function listMigrations(dir: string = migrationsDir): Promise<Migration[]> {
  const names = (await readdir(dir)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(`${dir}/${name}`, 'utf8');
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

/** Applies what is missing and returns its names. Several processes may call it at once: one works, the others wait and find it done. */
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
    // The lock belongs to the session: give it back before the connection goes back to the pool.
    await connection`SELECT pg_advisory_unlock_all()`.catch(() => undefined);
    await connection`RESET lock_timeout`.catch(() => undefined);
    connection.release();
  }
}

const turnEveryMs = 200;

// Asked again and again instead of waited for: who waits in a statement holds a snapshot, and an index that is built concurrently
// waits for every snapshot, so that the two would wait for each other.
async function takeTurn(connection: Connection): Promise<void> {
  for (;;) {
    const [row] = await connection<{ isMine: boolean }[]>`SELECT pg_try_advisory_lock(${advisoryLock}) AS is_mine`;
    if (row?.isMine) return;
    await new Promise((resolve) => setTimeout(resolve, turnEveryMs));
  }
}

/** The names of migrations that have not been applied. */
export async function missingMigrations(sql: Sql): Promise<string[]> {
  const wanted = await listMigrations();
  const [table] = await sql<{ exists: boolean }[]>`SELECT to_regclass('schema_migrations') IS NOT NULL AS exists`;
  if (!table?.exists) return wanted.map((migration) => migration.name);
  const applied = await sql<{ number: number }[]>`SELECT number FROM schema_migrations`;
  const numbers = new Set(applied.map((row) => row.number));
  return wanted.filter((migration) => !numbers.has(migration.number)).map((migration) => migration.name);
}

type Connection = Awaited<ReturnType<Sql['reserve']>>;

async function apply(connection: Connection, migration: Migration): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      if (migration.inTransaction) {
        await connection`BEGIN`;
        // The ledger row first: were the advisory lock ever lost, a concurrent run would clash here and not half-way through.
        await note(connection, migration);
        await failpoint('migrate.mid');
        await connection.unsafe(migration.text).simple();
        await connection`COMMIT`;
      } else {
        await dropBrokenIndex(connection, migration);
        await connection.unsafe(migration.text).simple();
        await failpoint('migrate.mid');
        await note(connection, migration);
      }
      return;
    } catch (error) {
      if (migration.inTransaction) await connection`ROLLBACK`.catch(() => undefined);
      // A busy table held its lock for longer than lock_timeout: stand back so that its traffic goes on, then try again.
      const isLockTimeout = (error as { code?: string }).code === '55P03';
      if (!isLockTimeout || attempt === 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, 250 * attempt));
    }
  }
}

// An index that a killed process left half built is there and serves nobody: IF NOT EXISTS would keep it for good.
async function dropBrokenIndex(connection: Connection, { text }: Migration): Promise<void> {
  const [, index] = /INDEX CONCURRENTLY IF NOT EXISTS ([a-z0-9_]+)/.exec(text) ?? [];
  if (index === undefined) return;
  const broken = await connection`
    SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(${index}) AND NOT indisvalid`;
  if (broken.length > 0) await connection.unsafe(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`).simple();
}

async function note(connection: Connection, { number, name, checksum }: Migration): Promise<void> {
  await connection`INSERT INTO schema_migrations (number, name, checksum) VALUES (${number}, ${name}, ${checksum})`;
}
