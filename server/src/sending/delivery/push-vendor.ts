// The vendor of the push service that rings a device, as reports name it. Pure.

import { type PushVendor, vendorOf } from '../../ground/outbound/push-hosts.ts';
import type { ChannelId } from '../channels/channel.ts';
import { hostOfSubscription } from './senders.ts';

/** Stored as their places in this list, also named in migrations/0090. Never renumber: append. */
export const vendors = ['google', 'mozilla', 'apple', 'microsoft', 'other'] as const satisfies readonly PushVendor[];

const vendorOfChannel = { apns: 'apple', fcm: 'google' } as const;

export function vendorOfToken(channel: ChannelId, token: string | null): PushVendor {
  if (channel !== 'webpush') return vendorOfChannel[channel];
  return vendorOf((token !== null && hostOfSubscription(token)) || '');
}
