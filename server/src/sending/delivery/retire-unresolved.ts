// Retires devices that nothing ever reached and whose host has no address: a stranger made them up,
// or their push service is gone. They are retired after three messages over at least a day
// (contract 8).

import type { Tx } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { invalidateDevices } from '../../people/devices/device-history.ts';
import { countUnresolved } from '../../people/devices/reach-queries.ts';
import { roundsOf, type Verdict } from './verdict.ts';

const rule = { messagesMost: 3, hoursLeast: 24 };

/** Counts messages of locked devices that found no address, and retires devices with too many. */
export async function retireUnresolved(
  tx: Tx,
  clock: Clock,
  appId: Uuid,
  unresolved: readonly Verdict[],
): Promise<void> {
  for (const round of roundsOf(unresolved)) {
    const at = clock.date();
    const gone = await countUnresolved(tx, appId, round, { at, ...rule });
    const items = round
      .filter(({ deviceId }) => gone.has(deviceId))
      .map(({ deviceId, storedAtMs }) => {
        return { deviceId, reason: 'unregistered' as const, credentialId: null, storedAtMs };
      });
    await invalidateDevices(tx, { appId, at, items });
  }
}
