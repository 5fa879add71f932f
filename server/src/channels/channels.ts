// The table of the three channels, as GET /v1/channels lists them (contract 5.11). Pure data: how each of them sends is
// in its own folder.
import type { ChannelId, Platform } from './channel.ts';

export interface ChannelDescription {
  readonly id: ChannelId;
  readonly platform: Platform;
  /** For people. */
  readonly name: string;
  /** Largest payload in UTF-8 bytes, measured after personalization; for web push the plaintext, before encryption. */
  readonly payloadBytesMax: number;
}

export const webpush = { id: 'webpush', platform: 'web', name: 'Web push', payloadBytesMax: 3_993 } as const;
export const apns = { id: 'apns', platform: 'ios', name: 'Apple push', payloadBytesMax: 4_096 } as const;
export const fcm = { id: 'fcm', platform: 'android', name: 'Android push', payloadBytesMax: 4_096 } as const;

/** In the order they are listed. */
export const channels: readonly ChannelDescription[] = [webpush, apns, fcm];
