// The parent's side of the receiver: a process of its own that plays all push services at the level
// of HTTP/2 frames. All measured sides send to the same receiver.

import { certificateFile } from '../../rig/src/certificate.ts';
import { progress, RunError, type Workbench } from '../../rig/src/workbench.ts';
import { type ChannelId, channelIds } from '../../server/src/sending/channels/channel.ts';
import type { ByChannel } from './channels.ts';
import { startChild } from './child.ts';
import type { Counts, Ports, ToReceiver } from './receiver/messages.ts';

/** The addresses that peers need to reach the receiver. */
export interface ReceiverAddress {
  /** The origin of each push service, as a URL begins. */
  readonly origins: Readonly<Record<ChannelId | 'token', string>>;
  readonly ports: Ports;
  readonly certificateFile: string;
}

export interface Receiver {
  readonly pid: number;
  readonly address: ReceiverAddress;
  /** The environment variables by which the service reaches the receiver. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Resets the counters. Until the next reset, each request is answered `latencyMs` after it came,
   * and one in every `refuseEvery` requests is told that its token is gone.
   */
  reset(options?: {
    readonly latencyMs?: number;
    readonly refuseEvery?: number;
    readonly notesArrivals?: boolean;
  }): Promise<void>;
  /** Rejects unless exactly these numbers of requests came by each channel since the last reset. */
  expectPushes(counts: ByChannel): Promise<void>;
  /** How many requests since the last reset were told that their token is gone. */
  refused(): Promise<number>;
  /**
   * When each request since the last reset arrived, in milliseconds since the epoch. Empty unless
   * `notesArrivals` was set.
   */
  arrivals(): Promise<readonly number[]>;
}

export async function startReceiver(workbench: Workbench): Promise<Receiver> {
  const child = startChild<ToReceiver>(workbench, 'the receiver', new URL('./receiver/main.ts', import.meta.url));
  const ports = await child.ask<Ports>({ type: 'where' });
  const origin = (name: keyof Ports) => `https://localhost:${ports[name]}`;
  progress(`receiver at ${origin('webpush')}`);
  return {
    pid: child.pid,
    address: {
      origins: { webpush: origin('webpush'), apns: origin('apns'), fcm: origin('fcm'), token: origin('token') },
      ports,
      certificateFile,
    },
    environment: {
      PUSH_HOSTS: 'localhost',
      APNS_URL: origin('apns'),
      APNS_SANDBOX_URL: origin('apns'),
      FCM_URL: origin('fcm'),
      FCM_TOKEN_URL: `${origin('token')}/token`,
      OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
      OUTBOUND_ALLOW_PORTS: Object.values(ports).join(','),
      OUTBOUND_CA_FILE: certificateFile,
    },
    reset: ({ latencyMs = 0, refuseEvery = 0, notesArrivals = false } = {}) =>
      child.ask({ type: 'reset', latencyMs, refuseEvery, notesArrivals }),
    refused: async () => (await child.ask<Counts>({ type: 'counts' })).refused,
    async expectPushes(counts) {
      const { pushes } = await child.ask<Counts>({ type: 'counts' });
      for (const channel of channelIds) {
        if (pushes[channel] === (counts[channel] ?? 0)) continue;
        throw new RunError(
          `the receiver counted ${pushes[channel]} requests by ${channel} where ${counts[channel] ?? 0} were expected`,
        );
      }
    },
    arrivals: async () => (await child.ask<Counts>({ type: 'counts' })).arrivedAtMs,
  };
}
