// Opts devices out: nothing is sent to such a device any more, it belongs to nobody, and its token
// is deleted. The hash of the token stays, so that the same token registered again is the same
// device.

import { repeatOnDeadlock, type Sql, type Tx, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { encodeId, type Uuid } from '../../ground/values/ids.ts';
import type { Actor } from '../../teams/audit/actor.ts';
import { recordAudit } from '../../teams/audit/record-audit.ts';
import { updateActive } from '../audience/queries.ts';
import { writeCopies } from '../audience/write-copies.ts';
import { listSlottedAndNumbered } from '../properties/queries.ts';
import type { Device } from './device.ts';
import { appendChanges } from './device-history.ts';
import { insertFormerLinks } from './link-queries.ts';
import { lockDevice, updateUnsubscribed } from './queries.ts';

/** Opts a device out. Returns false when there is no such device. Repeating it changes nothing. */
export async function optOutDevice(
  { sql, clock, by }: { sql: Sql; clock: Clock; by?: Actor | undefined },
  appId: Uuid,
  deviceId: Uuid,
): Promise<boolean> {
  return repeatOnDeadlock(() =>
    transaction(sql, async (tx) => {
      const device = await lockDevice(tx, appId, deviceId);
      if (device) await optOutLocked(tx, clock, appId, [device]);
      // A person's act stands in the audit log; a device that opts out by itself changes no set-up.
      if (by && device && device.status !== 'unsubscribed') {
        const entry = { appId, action: 'device.opt_out', target: encodeId('dev', deviceId) } as const;
        await recordAudit({ tx, clock, by }, { ...entry, before: { status: device.status } });
      }
      return device !== undefined;
    }),
  );
}

/** Does the same for devices that the caller's transaction has locked. */
export async function optOutLocked(tx: Tx, clock: Clock, appId: Uuid, devices: readonly Device[]): Promise<void> {
  if (devices.length === 0) return;
  const ids = devices.map((device) => device.id);
  await insertFormerLinks(tx, clock, appId, ids);
  await updateUnsubscribed(tx, clock, appId, ids);
  await writeCopies(tx, appId, { profile: null, devices, slotted: await listSlottedAndNumbered(tx, appId, []) });
  await updateActive(tx, appId, ids, false);
  const changes = devices
    .filter((device) => device.status !== 'unsubscribed')
    .map(({ id, platform, status: former }) => {
      return { deviceId: id, platform, status: 'unsubscribed' as const, reason: null, former };
    });
  await appendChanges(tx, appId, clock.date(), changes);
}
