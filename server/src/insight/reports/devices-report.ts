// Devices by period: how many registered, opted out and became invalid in it, and how many were
// active at its end (contract 5.21). Counts backwards from the present number.

import type { Uuid } from '../../ground/values/ids.ts';
import { type ChannelId, channelIds, type Platform } from '../../sending/channels/channel.ts';
import { countActive, countChanges, type DeviceSums, sumDeviceTotals } from './device-queries.ts';
import { quarterMs, type Range } from './periods.ts';
import { type ReportReader, snapshot } from './snapshot.ts';

export interface ChannelDevices {
  readonly channel: ChannelId;
  /** Devices that registered for the first time in the period. */
  readonly registered: number;
  /** Active devices at the end of the period. */
  readonly active: number;
  /** Changes to `invalid` in the period; below, to `unsubscribed`. */
  readonly invalid: number;
  readonly unsubscribed: number;
}

const platformOf: Readonly<Record<ChannelId, Platform>> = { webpush: 'web', apns: 'ios', fcm: 'android' };

export async function reportDevices(
  reader: ReportReader,
  { appId, range, periods }: { readonly appId: Uuid; readonly range: Range; readonly periods: readonly Range[] },
): Promise<(Range & { channels: ChannelDevices[] })[]> {
  // The time after the last period is one more period, whose changes are subtracted from the
  // present number.
  const startsMs = [...periods.map(({ fromMs }) => fromMs), range.toMs];
  return snapshot(reader, async (tx) => {
    const sums = await sumDeviceTotals(tx, appId, startsMs.map(asInstant));
    for (const [period, startMs] of startsMs.entries()) {
      const endMs = Math.ceil(startMs / quarterMs) * quarterMs;
      if (startMs === endMs) continue;
      // The rest of this quarter belongs to the sum of the period before.
      for (const { platform, status, former, count } of await countChanges(
        tx,
        appId,
        asInstant(startMs),
        asInstant(endMs),
      )) {
        const changesOf = (sign: 1 | -1) => ({
          platform,
          registered: former === null ? sign * count : 0,
          invalid: status === 'invalid' ? sign * count : 0,
          unsubscribed: status === 'unsubscribed' ? sign * count : 0,
          gained: sign * count * (Number(status === 'active') - Number(former === 'active')),
        });
        sums.push({ ...changesOf(1), period });
        if (period > 0) sums.push({ ...changesOf(-1), period: period - 1 });
      }
    }
    const present = new Map((await countActive(tx, appId)).map(({ platform, active }) => [platform, active]));
    const byChannel = channelIds.map((channel) => {
      const platform = platformOf[channel];
      const own = sums.filter((row) => row.platform === platform);
      return channelDevices({ channel, sums: own, present: present.get(platform) ?? 0, periods: periods.length });
    });
    return periods.map((period, i) => ({ ...period, channels: byChannel.flatMap((rows) => rows[i] ?? []) }));
  });
}

const asInstant = (ms: number): string => new Date(ms).toISOString();

type Counted = 'registered' | 'invalid' | 'unsubscribed' | 'gained';

interface ChannelSums {
  readonly channel: ChannelId;
  readonly sums: readonly DeviceSums[];
  /** The channel's active devices at present. */
  readonly present: number;
  readonly periods: number;
}

/** The periods of a channel. Period number `periods` is the time after the last of them. */
function channelDevices({ channel, sums, present, periods }: ChannelSums): ChannelDevices[] {
  const sumOf = (period: number, counted: Counted): number =>
    sums.reduce((sum, row) => (row.period === period ? sum + row[counted] : sum), 0);
  const rows: ChannelDevices[] = [];
  let active = present - sumOf(periods, 'gained');
  for (let period = periods - 1; period >= 0; period--) {
    const [registered, invalid, unsubscribed] = (['registered', 'invalid', 'unsubscribed'] as const).map((counted) =>
      sumOf(period, counted),
    ) as [number, number, number];
    rows.unshift({ channel, registered, active, invalid, unsubscribed });
    active -= sumOf(period, 'gained');
  }
  return rows;
}
