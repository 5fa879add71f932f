// SQL: deletes the reports' credits of a deleted event name.
import type { Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';

/** Deletes the credits for events of a name. A name that is never credited has no rows. */
export async function deleteCreditsOfName(tx: Tx, appId: Uuid, name: string): Promise<void> {
  await tx`DELETE FROM credited_totals WHERE app_id = ${appId} AND name = ${name}`;
  await tx`DELETE FROM open_credits WHERE app_id = ${appId} AND name = ${name}`;
  if (name === 'purchase') await tx`DELETE FROM attributions WHERE app_id = ${appId}`;
}
