// The ways of sending that `send` measures: one channel alone, or all of them at once with a third
// of the devices each.
import { type ChannelId, channelIds, type Platform } from '../../server/src/sending/channels/channel.ts';

export const ways = [...channelIds, 'mixed'] as const;
export type Way = (typeof ways)[number];

export const isWay = (word: string): word is Way => ways.some((way) => way === word);

/** The channels of a way. Devices are given to the channels in turn. */
export function channelsOf(way: Way): readonly ChannelId[] {
  return way === 'mixed' ? channelIds : [way];
}

export type ByChannel = Readonly<Partial<Record<ChannelId, number>>>;

/** How many of `devices` belong to each channel. */
export function sharesOf(way: Way, devices: number): ByChannel {
  const channels = channelsOf(way);
  return Object.fromEntries(
    channels.map((channel, i) => [channel, Math.floor((devices + channels.length - 1 - i) / channels.length)]),
  );
}

export const platformOf: Readonly<Record<ChannelId, Platform>> = { webpush: 'web', apns: 'ios', fcm: 'android' };
