// `backup` and `restore`: copy the embedded database into one file, without the master key, and
// make a database from such a file. A restored database is paused until an operator resumes it,
// because its unsent deliveries may have been sent since the backup was made.
import { basename, resolve } from 'node:path';
import { findCluster, openPool, startEmbeddedPostgres } from '@carillon/postgres';
import { z } from 'zod';
import { type Config, loadConfig } from '../../config.ts';
import { createClock } from '../../ground/database/clock.ts';
import { listMigrations, missingMigrations } from '../../ground/database/migrations.ts';
import { type Pause, pause } from '../../ground/database/restore-guard.ts';
import { programName } from '../../ground/host/program-name.ts';
import { recordAudit } from '../../teams/audit/record-audit.ts';
import { type BackupOptions, backUp } from '../backup/backup.ts';
import { isRecipient } from '../backup/backup-encryption.ts';
import { asBackupError, type BackupFile, openBackupFile } from '../backup/backup-file.ts';
import { RestoreError, restoreCluster, undoRestore } from '../backup/restore.ts';
import { findMasterKeys, loadMasterKey } from '../process/master-key.ts';
import { describeNoDatabase, loadCommandConfig } from '../process/service-place.ts';
import { type Answer, CommandError, note } from './answer.ts';
import { command, flag } from './command.ts';
import { commandActor } from './context.ts';
import { onStop } from './stop-signals.ts';

export const commands = [
  command({
    form: 'backup <FILE>',
    help: 'copy the embedded database into a file, while it runs',
    input: z.strictObject({ file: z.string(), recipient: z.string().optional() }),
    writes: { recipient: '--recipient <AGE>  encrypt the file for this age recipient (age1…)' },
    run: ({ file, recipient }) => backup(resolve(file), recipient),
  }),
  command({
    form: 'restore <FILE>',
    help: 'make the database of an empty DATA_DIR from a backup',
    input: z.strictObject({
      file: z.string(),
      identity: z.string().optional(),
      accept_unsigned: flag.describe('restore a file whose signature is missing or cannot be checked'),
    }),
    writes: { identity: '--identity <FILE>  the age identity that opens an encrypted backup' },
    run: ({ file, identity, accept_unsigned: accepts }) => restore(resolve(file), identity, accepts),
  }),
];

async function backup(file: string, recipient: string | undefined): Promise<Answer> {
  const config = embeddedConfig(loadCommandConfig(), 'backed up');
  if (recipient !== undefined && !(await isRecipient(recipient))) {
    throw new CommandError(`${recipient} is no age recipient: age-keygen prints one that begins with age1`);
  }
  if (!(await findCluster(config.dataDir))) throw new CommandError(describeNoDatabase(config));
  const { key: masterKey } = await loadMasterKey(config, true);
  const place = await openBackupFile(file);
  const stopped = new AbortController();
  const copying = copyInto(place, config, { masterKey, recipient, signal: stopped.signal });
  const forget = onStop(() => {
    stopped.abort();
    return copying;
  });
  const { bytes, ...facts } = await copying.finally(forget);
  const key = config.masterKey === null ? `${config.dataDir}/master.key` : 'MASTER_KEY';
  return {
    document: { file, bytes, is_encrypted: recipient !== undefined, ...facts },
    text: `${file}  ${Math.ceil(bytes / 1e6)} MB\nThe key that opens its secrets is not in it: keep ${key} elsewhere. A restore checks the file with that key.`,
  };
}

type CopyOptions = Pick<BackupOptions, 'masterKey' | 'recipient' | 'signal'>;

async function copyInto(place: BackupFile, { dataDir }: Config, options: CopyOptions) {
  try {
    const embedded = await startEmbeddedPostgres({ dataDir, log: () => undefined, purpose: 'command' });
    try {
      say(`Copying ${embedded.clusterDir}`);
      const [{ adminUrl: url, clusterDir }, { file, target }] = [embedded, place];
      const facts = await backUp({ url, clusterDir, target, ...options }).catch(asBackupError(file));
      return { ...facts, bytes: await place.publish() };
    } finally {
      await embedded.stop();
    }
  } finally {
    await place.discard();
  }
}

async function restore(file: string, identity: string | undefined, acceptsUnsigned: boolean): Promise<Answer> {
  const config = embeddedConfig(loadConfig(), 'restored');
  const { dataDir } = config;
  const restored = await restoreCluster(file, dataDir, {
    masterKeys: await findMasterKeys(config),
    identityFile: identity,
    acceptsUnsigned,
  });
  const { cluster, facts, isSigned } = restored;
  let paused: Pause | null;
  try {
    say(`Recovering ${cluster.directory}`);
    paused = await pauseRestored(dataDir, file, facts.made_at);
  } catch (error) {
    await undoRestore(dataDir, cluster);
    throw new RestoreError(`${file} cannot be restored: ${(error as Error).message}`, { cause: error });
  }
  const text = [
    `Restored into ${cluster.directory}, as of ${facts.made_at}.`,
    ...(isSigned ? [] : ['Its signature was not checked: anybody who could write the file could have altered it.']),
    'The settings of the server are new. The former settings are in the backup, in postgresql.conf and postgresql.auto.conf.',
    'Its secrets need the master key of that time: put it into DATA_DIR/master.key (0600), or set MASTER_KEY.',
    `Sends and webhooks are paused. Messages that have not expired are sent after: ${programName} resume`,
  ];
  return {
    document: {
      data_dir: dataDir,
      data: cluster.directory,
      made_at: facts.made_at,
      is_signed: isSigned,
      paused_at: paused?.at ?? null,
      pause_reason: paused?.reason ?? null,
    },
    text: text.join('\n'),
  };
}

// Starts the server once, so that the operator learns now, and not at the next start, if the files
// do not recover. Resolves with the pause, or with null for a database without a schema.
async function pauseRestored(dataDir: string, file: string, madeAt: string): Promise<Pause | null> {
  const embedded = await startEmbeddedPostgres({ dataDir, log: () => undefined, purpose: 'command' });
  const forget = onStop(() => embedded.stop());
  const sql = openPool({ url: embedded.url, connectionsMax: 1, name: 'carillon restore', statementTimeoutMs: 60_000 });
  try {
    const missing = await missingMigrations(sql);
    if (missing.length === (await listMigrations()).length) return null;
    const paused = await pause(sql, 'restore');
    // A backup of an earlier release may have no audit log yet.
    if (missing.length > 0) return paused;
    const audited = { tx: sql, clock: await createClock(sql), by: commandActor() };
    const [target, after] = [basename(file), { made_at: madeAt }];
    await recordAudit(audited, { appId: null, action: 'service.restore', target, after });
    return paused;
  } finally {
    await sql.end({ timeout: 5 });
    await embedded.stop();
    forget();
  }
}

// Prints progress only on a terminal. A log gets one line of a command, with its result.
function say(line: string): void {
  if (process.stderr.isTTY) note(line);
}

function embeddedConfig(config: Config, what: string): Config {
  if (config.databaseUrl === null) return config;
  throw new CommandError(
    `Only the embedded database is ${what} here; use PostgreSQL's own tools for the database of DATABASE_URL`,
  );
}
