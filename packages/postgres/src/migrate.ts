// Applies migrations: numbered SQL files, forward only, one transaction each, under one advisory
// lock. A released file is never edited: its checksum is stored and compared.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { getValue, listValues } from './answer.ts';
import type { Sql, Tx } from './db.ts';
import { type Blocker, describeBlocker } from './tell-waits.ts';

export interface Migration {
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

/** Reads the migrations of a folder: files named `<four digits>_<words>.sql`, in their order. */
export async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(`${directory}/${name}`, 'utf8');
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

type Midway = () => Promise<void> | void;

export interface MigrateOptions {
  /** The number of the advisory lock, the same for all processes that migrate the database. */
  readonly lock: number;
  /** Takes the sentence that says who is waited for. */
  readonly tell?: (line: string) => void;
  /** Called in the middle of each migration. Tests end the process there. */
  readonly midway?: Midway;
}

/**
 * Applies the missing migrations and returns their names. Several processes may call it at once:
 * one works, and the others wait, name the session that they wait for, and find the work done. The
 * wait has no limit, because a restarted process would have to wait as well.
 */
export async function migrate(
  sql: Sql,
  wanted: readonly Migration[],
  { lock, tell = () => undefined, midway = () => undefined }: MigrateOptions,
): Promise<string[]> {
  const connection = await sql.reserve();
  try {
    await takeTurn(connection, lock, tell);
    await limitLocks(connection);
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
      await apply(connection, migration, midway);
      done.push(migration.name);
    }
    return done;
  } finally {
    // The lock belongs to the session, so it is released before the connection returns to the pool.
    await connection`SELECT pg_advisory_unlock_all()`.catch(() => undefined);
    await waitForLocks(connection).catch(() => undefined);
    connection.release();
  }
}

/**
 * Other statements wait behind one that waits for a lock. So a statement waits for a second at
 * most, and is tried again after a pause.
 */
const limitLocks = (connection: Tx) => connection`SET lock_timeout = '1s'`;
const waitForLocks = (connection: Tx) => connection`SET lock_timeout = 0`;

const turnEveryMs = 200;
/** After this many looks for the lock, the wait is logged. */
const looksBeforeTelling = 5;

// The lock is polled. A process that waits inside a statement holds a snapshot. CREATE INDEX
// CONCURRENTLY waits for every snapshot, so the two processes would wait for each other.
async function takeTurn(connection: Tx, lock: number, tell: (line: string) => void): Promise<void> {
  for (let look = 1; ; look++) {
    if (await getValue(connection`SELECT pg_try_advisory_lock(${lock})`)) return;
    if (look === looksBeforeTelling) {
      for (const holder of await listMigrating(connection, lock))
        tell(`another migration runs: ${describeBlocker(holder)}`);
    }
    await sleep(turnEveryMs);
  }
}

function listMigrating(connection: Tx, lock: number): PromiseLike<Blocker[]> {
  return connection<Blocker[]>`
    SELECT pid, application_name AS application, extract(epoch FROM clock_timestamp() - xact_start)::int AS seconds
    FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND classid = 0 AND objid = ${lock} AND granted`;
}

/** Lists the names of migrations that have not been applied. */
export async function missingOf(sql: Sql, wanted: readonly Migration[]): Promise<string[]> {
  if (!(await getValue(sql`SELECT to_regclass('schema_migrations')`))) return wanted.map((migration) => migration.name);
  const numbers = new Set(await listValues<number>(sql`SELECT number FROM schema_migrations`));
  return wanted.filter((migration) => !numbers.has(migration.number)).map((migration) => migration.name);
}

async function apply(connection: Tx, migration: Migration, midway: Midway): Promise<void> {
  await repeatWhileLocked(async () => {
    if (!migration.inTransaction) return applyAlone(connection, migration, midway);
    try {
      await connection`BEGIN`;
      // The ledger row comes first: if the advisory lock were lost, a concurrent run would conflict
      // here and not half-way.
      await note(connection, migration);
      await midway();
      await connection.unsafe(migration.text);
      await connection`COMMIT`;
    } catch (error) {
      await connection`ROLLBACK`.catch(() => undefined);
      throw error;
    }
  });
}

async function applyAlone(connection: Tx, migration: Migration, midway: Midway): Promise<void> {
  // A concurrent build waits for old snapshots and writers, and stops nobody meanwhile.
  if (/\bCONCURRENTLY\b/.test(migration.text)) await waitForLocks(connection);
  try {
    await dropBrokenIndex(connection, migration);
    await connection.unsafe(migration.text);
  } finally {
    await limitLocks(connection);
  }
  await midway();
  await note(connection, migration);
}

const pauseMs = { first: 250, most: 5000 };

/**
 * Repeats work until its locks are free. It pauses after each refusal, so that traffic that waited
 * behind it continues.
 */
export async function repeatWhileLocked<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let round = 1; ; round++) {
    try {
      return await work();
    } catch (error) {
      // 55P03: a lock was held longer than lock_timeout. 40P01: the work was ended by a deadlock.
      if (!/^(55P03|40P01)$/.test(String((error as { code?: unknown } | null)?.code))) throw error;
      await sleep(Math.min(pauseMs.first * round, pauseMs.most));
    }
  }
}

// Drops an index that a killed process left unfinished. Such an index exists but serves no query,
// and IF NOT EXISTS would keep it forever.
async function dropBrokenIndex(connection: Tx, { text }: Migration): Promise<void> {
  const [, index] = /INDEX CONCURRENTLY (?:IF NOT EXISTS )?([a-z0-9_]+)/.exec(text) ?? [];
  if (index === undefined) return;
  const broken = await connection`
    SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(${index}) AND NOT indisvalid`;
  if (broken.length > 0) await connection.unsafe(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`);
}

async function note(connection: Tx, { number, name, checksum }: Migration): Promise<void> {
  await connection`INSERT INTO schema_migrations (number, name, checksum) VALUES (${number}, ${name}, ${checksum})`;
}
