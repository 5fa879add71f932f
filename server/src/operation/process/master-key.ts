// The source of the master key: MASTER_KEY, or with the embedded database a key that was generated
// once in the data directory. Without a key the service refuses to start and never stores plain
// text.
import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDataDirectory } from '@carillon/postgres';
import { ifThere } from '../../ground/host/if-there.ts';
import { parseMasterKey, SealError } from '../../ground/secrets/seal.ts';

export interface MasterKeys {
  readonly key: Buffer;
  readonly previous: Buffer | undefined;
}

export interface MasterKeySettings {
  readonly masterKey: string | null;
  readonly masterKeyPrevious: string | null;
  readonly dataDir: string;
  readonly databaseUrl: string | null;
}

/** Checks the settings of the key, before a database is asked or created. Throws `SealError`. */
export function checkMasterKeySettings({ masterKey, masterKeyPrevious, databaseUrl }: MasterKeySettings): void {
  if (masterKeyPrevious !== null) parseMasterKey(masterKeyPrevious, 'MASTER_KEY_PREVIOUS');
  if (masterKey !== null) parseMasterKey(masterKey, 'MASTER_KEY');
  else if (databaseUrl !== null) {
    throw new SealError(
      'MASTER_KEY is required with DATABASE_URL: 32 bytes in base64; make one with: openssl rand -base64 32',
    );
  }
}

/**
 * Loads the keys. `isSealed`: secrets are stored already, so a missing key was lost and a new one
 * would open nothing. Throws `SealError` with a sentence for an operator.
 */
export async function loadMasterKey(settings: MasterKeySettings, isSealed = false): Promise<MasterKeys> {
  checkMasterKeySettings(settings);
  const { masterKey, masterKeyPrevious } = settings;
  const previous = masterKeyPrevious === null ? undefined : parseMasterKey(masterKeyPrevious, 'MASTER_KEY_PREVIOUS');
  if (masterKey !== null) return { key: parseMasterKey(masterKey, 'MASTER_KEY'), previous };
  return { key: await readOrGenerate(settings.dataDir, isSealed), previous };
}

/**
 * Finds the available keys, possibly none, for a restore, which creates no key. Throws `SealError`
 * for an invalid key.
 */
export async function findMasterKeys(settings: MasterKeySettings): Promise<Buffer[]> {
  const { masterKey, masterKeyPrevious, dataDir } = settings;
  const path = join(dataDir, 'master.key');
  const stored = masterKey === null ? await ifThere(readFile(path, 'utf8')) : undefined;
  return [
    ...(masterKey === null ? [] : [parseMasterKey(masterKey, 'MASTER_KEY')]),
    ...(stored === undefined ? [] : [parseMasterKey(stored, path)]),
    ...(masterKeyPrevious === null ? [] : [parseMasterKey(masterKeyPrevious, 'MASTER_KEY_PREVIOUS')]),
  ];
}

async function readOrGenerate(dataDir: string, isSealed: boolean): Promise<Buffer> {
  const path = join(dataDir, 'master.key');
  const found = await ifThere(readFile(path, 'utf8'));
  if (found !== undefined) return parseMasterKey(found, path);
  if (isSealed) {
    throw new SealError(
      `${path} is missing, and what this database keeps secret was sealed with it: put it back, or set MASTER_KEY to that key.`,
    );
  }
  await makeDataDirectory(dataDir);
  // The key is written completely under another name and then linked. A process that dies here
  // leaves no partial key, and when two start at once, one wins and both read its key.
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  try {
    await link(draft, path);
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return parseMasterKey(await readFile(path, 'utf8'), path);
}
