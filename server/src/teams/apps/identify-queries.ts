// SQL: the proof that an app demands for linking a device to a user.

import type { Sql, Tx } from '@carillon/postgres';
import { type Clock, nowOf } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { type IdentifyRecord, isUnprovable } from './identify-record.ts';

/** A record, and the time of the last edit of its app. */
export interface SeenIdentifyRecord extends IdentifyRecord {
  readonly updatedAt: Date;
}

export async function getIdentifyRecord(sql: Sql, appId: Uuid): Promise<SeenIdentifyRecord> {
  const [record] = await sql<SeenIdentifyRecord[]>`
    SELECT identify_secret AS secret, identify_form AS form, identify_secret_next AS next_secret,
      identify_form_next AS next_form, identify_bound_required AS is_device_required, updated_at
    FROM apps WHERE id = ${appId}`;
  return found(record);
}

/** Reads the same and locks it until the transaction ends. */
export async function lockIdentifyRecord(tx: Tx, appId: Uuid): Promise<SeenIdentifyRecord> {
  const [record] = await tx<SeenIdentifyRecord[]>`
    SELECT identify_secret AS secret, identify_form AS form, identify_secret_next AS next_secret,
      identify_form_next AS next_form, identify_bound_required AS is_device_required, updated_at
    FROM apps WHERE id = ${appId} FOR UPDATE`;
  return found(record);
}

export async function updateIdentifyRecord(tx: Tx, clock: Clock, appId: Uuid, record: IdentifyRecord): Promise<void> {
  const { secret, form, nextSecret, nextForm, isDeviceRequired } = record;
  await tx`
    UPDATE apps SET identify_secret = ${secret}, identify_form = ${form}, identify_secret_next = ${nextSecret},
      identify_form_next = ${nextForm}, identify_bound_required = ${isDeviceRequired}, updated_at = ${nowOf(tx, clock)}
    WHERE id = ${appId}`;
}

/** Lists the apps for which no proof can be made, so that their identify answers 403. */
export async function listUnprovableApps(sql: Sql): Promise<string[]> {
  const apps = await sql<(IdentifyRecord & { readonly name: string })[]>`
    SELECT name, identify_secret AS secret, identify_form AS form, identify_secret_next AS next_secret,
      identify_form_next AS next_form, identify_bound_required AS is_device_required
    FROM apps WHERE identify_bound_required AND deleted_at IS NULL ORDER BY created_at, id`;
  return apps.filter(isUnprovable).map(({ name }) => name);
}

// The app exists, because the caller has a key of it or its id.
function found(record: SeenIdentifyRecord | undefined): SeenIdentifyRecord {
  if (!record) throw new Error('the app does not exist');
  return record;
}
