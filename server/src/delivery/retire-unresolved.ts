// Retires devices that nothing ever reached and whose host has no address: a stranger made them up,
// or their push service is gone. They are retired after three messages over at least a day
// (contract 8).

import { repeatOnDeadlock, transaction } from '../database/db.ts';
import { invalidateDevices } from '../devices/device-history.ts';
import { lockDevicesById } from '../devices/queries.ts';
import { countUnresolved } from '../devices/reach-queries.ts';
import type { Uuid } from '../ground/ids.ts';
import type { JudgeDeps, Verdict } from './verdict.ts';

const rule = { messagesMost: 3, hoursLeast: 24 };

export async function retireUnresolved(
  { sql, clock }: JudgeDeps,
  appId: Uuid,
  verdicts: readonly Verdict[],
): Promise<void> {
  const unresolved = verdicts.filter(({ isUnresolved }) => isUnresolved);
  if (unresolved.length === 0) return;
  await repeatOnDeadlock(() =>
    transaction(sql, async (tx) => {
      await lockDevicesById(
        tx,
        appId,
        unresolved.map(({ deviceId }) => deviceId),
      );
      // Two messages that failed at the same time count as two, so each round takes one verdict per
      // device.
      for (let left = unresolved; left.length > 0; ) {
        const once = new Map(left.map((verdict) => [verdict.deviceId, verdict]));
        const at = clock.date();
        const gone = await countUnresolved(tx, appId, [...once.values()], { at, ...rule });
        const items = [...once.values()]
          .filter(({ deviceId }) => gone.has(deviceId))
          .map(({ deviceId, storedAtMs }) => {
            return { deviceId, reason: 'unregistered' as const, credentialId: null, storedAtMs };
          });
        await invalidateDevices(tx, { appId, at, items });
        left = left.filter((verdict) => once.get(verdict.deviceId) !== verdict);
      }
    }),
  );
}
