// Gives a command the database that the service uses, found as the service finds it, and its clock.
// Only `migrate` changes the schema of a database behind DATABASE_URL. No command leaves a server
// running that it started.
import { userInfo } from 'node:os';
import { findCluster, openPool, type Sql, startEmbeddedPostgres } from '@carillon/postgres';
import type { Config } from '../../config.ts';
import { type Clock, createClock } from '../../ground/database/clock.ts';
import { isInstanceMade } from '../../ground/database/instance.ts';
import { listMigrations, missingMigrations } from '../../ground/database/migrations.ts';
import { programName } from '../../ground/host/program-name.ts';
import { createSeal, type Seal } from '../../ground/secrets/seal.ts';
import type { Actor } from '../../teams/audit/actor.ts';
import { embeddedConnections, planProcesses } from '../process/connection-budget.ts';
import { loadMasterKey } from '../process/master-key.ts';
import { prepareDatabase } from '../process/prepare-database.ts';
import { describeNoDatabase } from '../process/service-place.ts';
import { CommandError, note } from './answer.ts';
import { onStop } from './stop-signals.ts';

export interface CommandContext {
  readonly config: Config;
  readonly databaseUrl: string;
  readonly sql: Sql;
  readonly clock: Clock;
  /** The actor that the audit log names for this command. */
  readonly by: Actor;
  /**
   * Loads the seal, which opens and seals stored secrets. Throws, in words for an operator, where
   * the master key is missing.
   */
  loadSeal(): Promise<Seal>;
}

/**
 * Returns the user that runs this command, as the operating system names it. A user id without a
 * name on this machine is shown as its number.
 */
export function commandActor(): Actor {
  return { kind: 'cli', id: null, name: systemUser(), address: null };
}

function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

const connectionsMax = 4;
const statementTimeoutMs = 60_000;

/**
 * Runs `work` on a database whose schema is up to date, and closes the database afterwards. Throws
 * a `CommandError` where there is no database or where its schema lacks migrations.
 */
export async function withDatabase<Result>(
  config: Config,
  work: (context: CommandContext) => Promise<Result>,
  options: DatabaseOptions = {},
): Promise<Result> {
  return withAnySchema(config, { limitMs: statementTimeoutMs, ...options }, async (sql, databaseUrl) => {
    await checkSchema(config, sql);
    const clock = await createClock(sql);
    const loadSeal = async (): Promise<Seal> => {
      const keys = await loadMasterKey(config, await isInstanceMade(sql));
      return createSeal(keys.key, keys.previous);
    };
    return work({ config, databaseUrl, sql, clock, by: commandActor(), loadSeal });
  });
}

/**
 * Does what `withDatabase` does, for a command that may be the first: without a database, it makes
 * the embedded database and says where.
 */
export function withDatabaseOrNew<Result>(
  config: Config,
  work: (context: CommandContext) => Promise<Result>,
): Promise<Result> {
  return withDatabase(config, work, { mayMake: true });
}

export interface DatabaseOptions {
  /**
   * True: makes the embedded database if there is none, and says where. Without it the command
   * fails, because it would make a second database by mistake.
   */
  readonly mayMake?: boolean;
  /** Milliseconds that a statement may take; 0: no limit. Default: a minute. */
  readonly limitMs?: number;
}

/**
 * Runs `work` on a database with any schema, for `migrate` and `doctor`.
 */
export async function withAnySchema<Result>(
  config: Config,
  { mayMake = false, limitMs }: DatabaseOptions & Required<Pick<DatabaseOptions, 'limitMs'>>,
  work: (sql: Sql, databaseUrl: string) => Promise<Result>,
): Promise<Result> {
  if (config.databaseUrl === null && !mayMake && !(await findCluster(config.dataDir))) {
    throw new CommandError(describeNoDatabase(config));
  }
  // A server that runs already is joined and outlives the command. A server that the command had to
  // start ends with the command.
  const embedded =
    config.databaseUrl === null
      ? await startEmbeddedPostgres({
          dataDir: config.dataDir,
          // Enough connections for a service that starts meanwhile and joins this server.
          connections: embeddedConnections(planProcesses(config)),
          log: () => undefined,
          purpose: 'command',
        })
      : undefined;
  if (embedded?.isNew) note(`Made a database in ${embedded.clusterDir}`);
  const url = embedded?.url ?? config.databaseUrl ?? '';
  const sql = openPool({ url, connectionsMax, name: 'carillon command', statementTimeoutMs: limitMs });
  const forget = onStop(async () => {
    await sql.end({ timeout: 0 });
    await embedded?.stop();
  });
  try {
    return await work(sql, url);
  } finally {
    await sql.end({ timeout: 5 });
    await embedded?.stop();
    forget();
  }
}

// Fills an empty embedded database. Any other database may belong to a service that runs, and its
// operator decides when to migrate it.
async function checkSchema(config: Config, sql: Sql): Promise<void> {
  const missing = await missingMigrations(sql);
  if (missing.length === 0) return;
  const isEmpty = missing.length === (await listMigrations()).length;
  if (config.databaseUrl !== null || !isEmpty) {
    const what = isEmpty ? 'The database is empty' : `The database lacks ${missing.join(', ')}`;
    throw new CommandError(`${what}: bring it up to date first, with: ${programName} migrate`);
  }
  await prepareDatabase(sql);
}
