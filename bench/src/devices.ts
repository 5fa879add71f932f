// Makes devices with a distinct token in the shape of each channel. Nobody decrypts the pushes
// here, so a browser's keys only need to be valid.
import { createECDH, randomBytes } from 'node:crypto';
import type { ChannelId } from '../../server/src/sending/channels/channel.ts';
import { channelsOf, type Way } from './channels.ts';
import type { ReceiverAddress } from './receiver.ts';

/** The shape of `PushSubscription.toJSON()`. */
export interface PushSubscriptionJson {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

export type SimulatedDevice =
  | { readonly channel: 'webpush'; readonly subscription: PushSubscriptionJson }
  | { readonly channel: 'apns'; readonly token: string }
  | { readonly channel: 'fcm'; readonly token: string };

/** Returns a function that makes one device per call, of the way's channels in turn. */
export function deviceMaker(way: Way, address: ReceiverAddress): () => SimulatedDevice {
  const channels = channelsOf(way);
  const curve = createECDH('prime256v1');
  const make: Readonly<Record<ChannelId, () => SimulatedDevice>> = {
    webpush() {
      const keys = { p256dh: curve.generateKeys('base64url'), auth: randomBytes(16).toString('base64url') };
      const endpoint = `${address.origins.webpush}/push/${randomBytes(24).toString('base64url')}`;
      return { channel: 'webpush', subscription: { endpoint, keys } };
    },
    apns: () => ({ channel: 'apns', token: randomBytes(32).toString('hex') }),
    // 163 characters, as most tokens of Google have.
    fcm() {
      const token = `${randomBytes(16).toString('base64url')}:APA91b${randomBytes(100).toString('base64url')}`;
      return { channel: 'fcm', token };
    },
  };
  let made = 0;
  return () => make[channels[made++ % channels.length] ?? 'webpush']();
}
