// SQL: how far files have been read into an app.
import { type Clock, nowOf } from '../platform/clock.ts';
import type { Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { ImportProgress } from './import-file.ts';

/** How far did a command get that was ended? */
export async function findImport(tx: Tx, appId: Uuid, fingerprint: Buffer): Promise<ImportProgress | undefined> {
  const [row] = await tx<{ progress: ImportProgress }[]>`
    SELECT progress FROM imports WHERE app_id = ${appId} AND fingerprint = ${fingerprint}`;
  return row?.progress;
}

/** Begins to remember a file; false when it is remembered already. */
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

/** Moves on from where this command left it; false when another one has done so. */
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

/** The file has been read to its end: nothing is left to go on with. */
export async function deleteImport(tx: Tx, appId: Uuid, fingerprint: Buffer): Promise<void> {
  await tx`DELETE FROM imports WHERE app_id = ${appId} AND fingerprint = ${fingerprint}`;
}

/** Forgets files that nobody has gone on with for so long. */
export async function deleteOldImports(tx: Tx, clock: Clock, days: number): Promise<void> {
  await tx`DELETE FROM imports WHERE updated_at < ${clock.now} - ${days}::int * interval '1 day'`;
}
