// SQL: the proof that an app demands for linking a device to a user.
import { type Clock, nowOf } from '../database/clock.ts';
import type { Sql, Tx } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';

/** The secrets in their sealed form. */
export interface IdentifyRecord {
  /** During a rotation the former secret; null: no proof is demanded. */
  readonly secret: string | null;
  /** Also valid until the rotation is finished. */
  readonly nextSecret: string | null;
  readonly isBoundRequired: boolean;
}

/** A record and when its app was edited last. */
export interface SeenIdentifyRecord extends IdentifyRecord {
  readonly updatedAt: Date;
}

export async function getIdentifyRecord(sql: Sql, appId: Uuid): Promise<SeenIdentifyRecord> {
  const [record] = await sql<SeenIdentifyRecord[]>`
    SELECT identify_secret AS secret, identify_secret_next AS next_secret, identify_bound_required AS is_bound_required,
      updated_at
    FROM apps WHERE id = ${appId}`;
  return found(record);
}

/** Reads the same and locks it until the transaction ends. */
export async function lockIdentifyRecord(tx: Tx, appId: Uuid): Promise<SeenIdentifyRecord> {
  const [record] = await tx<SeenIdentifyRecord[]>`
    SELECT identify_secret AS secret, identify_secret_next AS next_secret, identify_bound_required AS is_bound_required,
      updated_at
    FROM apps WHERE id = ${appId} FOR UPDATE`;
  return found(record);
}

export async function updateIdentifyRecord(tx: Tx, clock: Clock, appId: Uuid, record: IdentifyRecord): Promise<void> {
  const { secret, nextSecret, isBoundRequired } = record;
  await tx`
    UPDATE apps SET identify_secret = ${secret}, identify_secret_next = ${nextSecret},
      identify_bound_required = ${isBoundRequired}, updated_at = ${nowOf(tx, clock)}
    WHERE id = ${appId}`;
}

// A caller has a key of the app or was told its id, so the app exists.
function found(record: SeenIdentifyRecord | undefined): SeenIdentifyRecord {
  if (!record) throw new Error('the app does not exist');
  return record;
}
