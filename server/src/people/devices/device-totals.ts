// Counts changes of devices' states by quarter of an hour and platform, for the overview and the
// report of devices. Pure.
import type { Platform } from '../../sending/channels/channel.ts';
import type { DeviceStatus } from './device.ts';

export interface StatusChange {
  readonly at: Date;
  readonly platform: Platform;
  readonly status: DeviceStatus;
  /** The state before; null: the device registers for the first time. */
  readonly former: DeviceStatus | null;
}

export interface DeviceTotal {
  readonly bucketMs: number;
  readonly platform: Platform;
  readonly registered: number;
  readonly invalid: number;
  readonly unsubscribed: number;
  /** The change in the number of active devices. */
  readonly gained: number;
}

const quarterMs = 900_000;

export function totalChanges(changes: readonly StatusChange[]): DeviceTotal[] {
  const totals = new Map<string, DeviceTotal>();
  for (const { at, platform, status, former } of changes) {
    const bucketMs = Math.floor(at.getTime() / quarterMs) * quarterMs;
    const key = `${bucketMs} ${platform}`;
    const known = totals.get(key) ?? { bucketMs, platform, registered: 0, invalid: 0, unsubscribed: 0, gained: 0 };
    totals.set(key, {
      ...known,
      registered: known.registered + Number(former === null),
      invalid: known.invalid + Number(status === 'invalid'),
      unsubscribed: known.unsubscribed + Number(status === 'unsubscribed'),
      gained: known.gained + Number(status === 'active') - Number(former === 'active'),
    });
  }
  return [...totals.values()];
}
