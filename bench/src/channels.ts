// The ways that `send` measures: a channel, or all of them at once, a third of the devices each.
import { type ChannelId, channelIds, type Platform } from '../../server/src/channels/channel.ts';

export const ways = [...channelIds, 'mixed'] as const;
export type Way = (typeof ways)[number];

export const isWay = (word: string): word is Way => ways.some((way) => way === word);

/** The channels of a way. Devices belong to them in turn. */
export function channelsOf(way: Way): readonly ChannelId[] {
  return way === 'mixed' ? channelIds : [way];
}

export type ByChannel = Readonly<Partial<Record<ChannelId, number>>>;

/** How many of so many devices are reached by each channel. */
export function sharesOf(way: Way, devices: number): ByChannel {
  const channels = channelsOf(way);
  return Object.fromEntries(
    channels.map((channel, i) => [channel, Math.floor((devices + channels.length - 1 - i) / channels.length)]),
  );
}

export const platformOf: Readonly<Record<ChannelId, Platform>> = { webpush: 'web', apns: 'ios', fcm: 'android' };
