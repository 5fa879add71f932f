// Devices by period: how many registered, opted out and became invalid in it, and how many were
// active at its end (contract 5.21). Counts backwards from the present number.
import { type ChannelId, channelIds } from '../channels/channel.ts';
import type { Sql } from '../database/db.ts';
import type { Uuid } from '../ground/ids.ts';
import { type ChangeCount, countActive, countChanges, countRegistered } from './device-queries.ts';
import { type Group, periodsOf, type Range } from './periods.ts';
import { snapshot } from './snapshot.ts';

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

const platformOf: Readonly<Record<ChannelId, string>> = { webpush: 'web', apns: 'ios', fcm: 'android' };

export async function reportDevices(
  sql: Sql,
  asked: { readonly appId: Uuid; readonly range: Range; readonly group: Group | null; readonly zone: string },
): Promise<(Range & { channels: ChannelDevices[] })[]> {
  const { appId, range, group, zone } = asked;
  const periods = periodsOf(range, group, zone);
  // The time after the last period is one more period, whose changes are subtracted from the
  // present number.
  const starts = [...periods.map(({ fromMs }) => fromMs), range.toMs].map((ms) => new Date(ms).toISOString());
  return snapshot(sql, async (tx) => {
    const active = await countActive(tx, appId);
    const registered = await countRegistered(tx, appId, starts);
    const changes = await countChanges(tx, appId, starts);
    const ofChannel = (channel: ChannelId): ChannelDevices[] => {
      const platform = platformOf[channel];
      const came = registered.filter((row) => row.platform === platform);
      const changed = changes.filter((row) => row.platform === platform);
      let activeAtEnd = active.find((row) => row.platform === platform)?.count ?? 0;
      const rows: ChannelDevices[] = [];
      for (let period = starts.length - 1; period >= 0; period--) {
        const inPeriod = changed.filter((row) => row.period === period);
        const registeredIn = sumOf(came.filter((row) => row.period === period));
        const became = (status: ChangeCount['status']): number =>
          sumOf(inPeriod.filter((row) => row.status === status));
        const counts = { registered: registeredIn, active: activeAtEnd };
        if (period < periods.length) {
          rows.unshift({ channel, ...counts, invalid: became('invalid'), unsubscribed: became('unsubscribed') });
        }
        activeAtEnd -= registeredIn + inPeriod.reduce((sum, row) => sum + row.count * gainOf(row), 0);
      }
      return rows;
    };
    const byChannel = channelIds.map(ofChannel);
    return periods.map((period, i) => ({ ...period, channels: byChannel.flatMap((rows) => rows[i] ?? []) }));
  });
}

/**
 * The change of the number of active devices. A device's first registration is counted separately
 * and makes it active.
 */
function gainOf({ status, former }: ChangeCount): number {
  const wasActive = (former ?? 'active') === 'active';
  if (wasActive === (status === 'active')) return 0;
  return wasActive ? -1 : 1;
}

function sumOf(rows: readonly { readonly count: number }[]): number {
  return rows.reduce((sum, { count }) => sum + count, 0);
}
