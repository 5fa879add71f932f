// The table of the three channels, as GET /v1/channels lists them (contract 5.11). Pure data: the
// code that sends is in the folder of each channel.
import type { ChannelId, Platform } from './channel.ts';

export interface ChannelDescription {
  readonly id: ChannelId;
  readonly platform: Platform;
  /** The name that people read. */
  readonly name: string;
  /**
   * Largest payload in UTF-8 bytes, measured after personalization; for web push the plaintext,
   * before encryption.
   */
  readonly payloadBytesMax: number;
}

export const webpush = { id: 'webpush', platform: 'web', name: 'Web push', payloadBytesMax: 3_993 } as const;
export const apns = { id: 'apns', platform: 'ios', name: 'Apple push', payloadBytesMax: 4_096 } as const;
export const fcm = { id: 'fcm', platform: 'android', name: 'Android push', payloadBytesMax: 4_096 } as const;

/** In the order in which the API lists them. */
export const channels: readonly ChannelDescription[] = [webpush, apns, fcm];
