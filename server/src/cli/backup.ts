// `backup` and `restore`: the embedded database in one file, without the master key. A restored database is paused until somebody
// has looked at it: what it holds unsent may have been sent since the backup was made.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type Config, loadConfig } from '../config.ts';
import { openPool } from '../platform/db.ts';
import { backUp } from '../platform/embedded-postgres/backup.ts';
import { findCluster } from '../platform/embedded-postgres/cluster.ts';
import { RestoreError, restoreCluster, undoRestore } from '../platform/embedded-postgres/restore.ts';
import { startEmbeddedPostgres } from '../platform/embedded-postgres.ts';
import { listMigrations, missingMigrations } from '../platform/migrate.ts';
import { programName } from '../platform/program-name.ts';
import { type Pause, pause } from '../platform/restore-guard.ts';
import { type Answer, type AnswerOptions, answer, note, withJson } from './answer.ts';
import { CommandError } from './command-error.ts';

export function addBackupCommands(program: Command): void {
  withJson(program.command('backup <FILE>'))
    .description('copy the embedded database into a file, while it runs')
    .action((file: string, options: AnswerOptions) => answer(options, () => backup(resolve(file))));
  withJson(program.command('restore <FILE>'))
    .description('make the database of an empty DATA_DIR from a backup')
    .action((file: string, options: AnswerOptions) => answer(options, () => restore(resolve(file))));
}

async function backup(file: string): Promise<Answer> {
  const config = loadEmbedded('backed up');
  if (existsSync(file)) throw new CommandError(`${file} is there already`);
  if (!(await findCluster(config.dataDir))) throw new CommandError(`There is no database in ${config.dataDir}`);
  const embedded = await startEmbeddedPostgres({ dataDir: config.dataDir, log: () => undefined, purpose: 'command' });
  try {
    say(`Copying ${embedded.clusterDir}`);
    const { bytes, ...facts } = await backUp({ url: embedded.url, clusterDir: embedded.clusterDir, file });
    const key = config.masterKey === null ? `${config.dataDir}/master.key` : 'MASTER_KEY';
    return {
      document: { file, bytes, ...facts },
      text: `${file}  ${Math.ceil(bytes / 1e6)} MB\nThe key that opens its secrets is not in it: keep ${key} elsewhere.`,
    };
  } finally {
    await embedded.stop();
  }
}

async function restore(file: string): Promise<Answer> {
  const config = loadEmbedded('restored');
  const { dataDir } = config;
  const { cluster, facts } = await restoreCluster(file, dataDir);
  let paused: Pause | null;
  try {
    say(`Recovering ${cluster.directory}`);
    paused = await pauseRestored(dataDir);
  } catch (error) {
    await undoRestore(dataDir, cluster);
    throw new RestoreError(`${file} cannot be restored: ${(error as Error).message}`, { cause: error });
  }
  const text = [
    `Restored into ${cluster.directory}, as of ${facts.made_at}.`,
    'Its secrets open with the master key of that time: put it into DATA_DIR/master.key (0600), or set MASTER_KEY.',
    `Sends and webhooks are paused. What expired is not sent; what did not is, after: ${programName} resume`,
  ];
  return {
    document: {
      data_dir: dataDir,
      data: cluster.directory,
      made_at: facts.made_at,
      paused_at: paused?.at ?? null,
      pause_reason: paused?.reason ?? null,
    },
    text: text.join('\n'),
  };
}

// Starts it, so that whoever restores hears at once when it does not recover, and not at the next start.
async function pauseRestored(dataDir: string): Promise<Pause | null> {
  const embedded = await startEmbeddedPostgres({ dataDir, log: () => undefined, purpose: 'command' });
  const sql = openPool({ url: embedded.url, connectionsMax: 1, name: 'carillon restore', statementTimeoutMs: 60_000 });
  try {
    const isEmpty = (await missingMigrations(sql)).length === (await listMigrations()).length;
    return isEmpty ? null : await pause(sql, 'restore');
  } finally {
    await sql.end({ timeout: 5 });
    await embedded.stop();
  }
}

// A log is to have one line of a command: how it ended.
function say(line: string): void {
  if (process.stderr.isTTY) note(line);
}

function loadEmbedded(what: string): Config {
  const config = loadConfig();
  if (config.databaseUrl === null) return config;
  throw new CommandError(
    `Only the embedded database is ${what} here; for that of DATABASE_URL there are its own tools`,
  );
}
