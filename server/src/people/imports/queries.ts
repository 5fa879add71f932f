// SQL: the progress of imports.

import { findValue, type Tx } from '@carillon/postgres';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { ImportProgress } from './progress.ts';

/** Finds the progress of an earlier run. */
export async function findImport(tx: Tx, appId: Uuid, fingerprint: Buffer): Promise<ImportProgress | undefined> {
  return findValue(tx`
    SELECT progress FROM imports WHERE app_id = ${appId} AND fingerprint = ${fingerprint}`);
}

/** Stores the progress of a new import; returns false when there is one already. */
export async function insertImport(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  fingerprint: Buffer,
  progress: ImportProgress,
): Promise<boolean> {
  const result = await tx`
    INSERT INTO imports (app_id, fingerprint, position, progress, updated_at)
    VALUES (${appId}, ${fingerprint}, ${progress.position.offset}, ${tx.json(progress as never)}, ${nowOf(tx, clock)})
    ON CONFLICT DO NOTHING`;
  return result.count === 1;
}

/**
 * Advances the progress from this command's last place; returns false when another command has
 * advanced it.
 */
export async function updateImport(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  fingerprint: Buffer,
  from: number,
  progress: ImportProgress,
): Promise<boolean> {
  const result = await tx`
    UPDATE imports SET position = ${progress.position.offset}, progress = ${tx.json(progress as never)},
      updated_at = ${nowOf(tx, clock)}
    WHERE app_id = ${appId} AND fingerprint = ${fingerprint} AND position = ${from}`;
  return result.count === 1;
}

/** Deletes the progress of a file that was read to its end. */
export async function deleteImport(tx: Tx, appId: Uuid, fingerprint: Buffer): Promise<void> {
  await tx`DELETE FROM imports WHERE app_id = ${appId} AND fingerprint = ${fingerprint}`;
}

/** Deletes the progress of files that no command has continued for `days` days. */
export async function deleteOldImports(tx: Tx, clock: Clock, days: number): Promise<void> {
  await tx`DELETE FROM imports WHERE updated_at < ${clock.now} - ${days}::int * interval '1 day'`;
}
