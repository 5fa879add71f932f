// Deletes devices that were registered by client key and that no push ever reached. A device is
// deleted with its token and its audience row. Its history of states stays, so that reports remain
// correct and a batch that contains the device can still end.

import { repeatOnDeadlock, type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { type Uuid, uuidFloorOf } from '../../ground/values/ids.ts';
import { type Audited, recordAudit } from '../../teams/audit/record-audit.ts';
import { deleteAudienceRows, listLinkedIds } from '../audience/queries.ts';
import { appendChanges } from './device-history.ts';
import { insertFormerLinks } from './link-queries.ts';
import { countPurgeable, deleteUnreached, listPurgeable, type PurgedDevice } from './purge-queries.ts';
import { deleteToken, lockDevicesById, lockToken } from './queries.ts';

export interface PurgeDevices {
  readonly appId: Uuid;
  /** Days since the registration; 0: all such devices. */
  readonly olderThanDays: number;
  /** Only counts the devices and deletes none. */
  readonly isDryRun: boolean;
  readonly onProgress?: (deleted: number) => void;
}

export interface Purge {
  readonly found: number;
  readonly deleted: number;
}

const dayMs = 24 * 3_600_000;
const devicesAtOnce = 500;

/**
 * May be interrupted at any moment: each device is deleted completely, and the next run continues.
 */
export async function purgeDevices(
  { sql, clock, by }: Audited & { readonly sql: Sql; readonly clock: Clock },
  { appId, olderThanDays, isDryRun, onProgress }: PurgeDevices,
): Promise<Purge> {
  // A device's id contains the time at which it was created.
  const beforeId = uuidFloorOf(new Date(clock.nowMs() - olderThanDays * dayMs + (olderThanDays === 0 ? 1 : 0)));
  const found = await countPurgeable(sql, appId, beforeId);
  if (isDryRun || found === 0) return { found, deleted: 0 };
  await transaction(sql, (tx) =>
    recordAudit(
      { tx, clock, by },
      { appId, action: 'device.purge', target: null, after: { older_than_days: olderThanDays, devices: found } },
    ),
  );
  let deleted = 0;
  for (;;) {
    const some = await listPurgeable(sql, appId, beforeId, devicesAtOnce);
    if (some.length === 0) return { found, deleted };
    deleted += await repeatOnDeadlock(() => transaction(sql, (tx) => purgeSome(tx, clock, appId, some)));
    onProgress?.(deleted);
  }
}

// Takes locks in the order that the migration of these tables names: tokens, then devices.
async function purgeSome(tx: Tx, clock: Clock, appId: Uuid, some: readonly PurgedDevice[]): Promise<number> {
  const byToken = [...some].sort(
    (one, other) => one.platform.localeCompare(other.platform) || one.tokenHash.compare(other.tokenHash),
  );
  const owners = await Promise.all(byToken.map(({ platform, tokenHash }) => lockToken(tx, appId, platform, tokenHash)));
  const ids = some.map(({ id }) => id);
  await lockDevicesById(tx, appId, ids);
  const linked = await listLinkedIds(tx, appId, ids);
  const deleted = await deleteUnreached(tx, appId, ids);
  if (deleted.length === 0) return 0;
  const gone = new Set(deleted.map(({ id }) => id));
  const unlinked = linked.filter((id) => gone.has(id));
  if (unlinked.length > 0) await insertFormerLinks(tx, clock, appId, unlinked);
  // A token that has moved to another device belongs to that device.
  const tokens = byToken.filter(({ id }, i) => gone.has(id) && owners[i] === id);
  await Promise.all(tokens.map(({ platform, tokenHash }) => deleteToken(tx, appId, platform, tokenHash)));
  await deleteAudienceRows(tx, appId, [...gone]);
  const ended = deleted.filter(({ status }) => status !== 'invalid');
  await appendChanges(
    tx,
    appId,
    clock.date(),
    ended.map(({ id, platform, status: former }) => {
      return { deviceId: id, platform, status: 'invalid', reason: 'unregistered', former };
    }),
  );
  return deleted.length;
}
