// The receiving end of every push, from where it is started: a process of its own that plays all push services at frame level,
// the same for all that are measured against each other.
import { type ChannelId, channelIds } from '../../server/src/channels/channel.ts';
import { certificateFile } from './certificate.ts';
import type { ByChannel } from './channels.ts';
import { startChild } from './child.ts';
import type { Counts, Ports, ToReceiver } from './receiver/messages.ts';
import { BenchError, progress, type Workbench } from './workbench.ts';

/** What peers need to reach it. */
export interface ReceiverAddress {
  /** As a URL begins. */
  readonly origins: Readonly<Record<ChannelId | 'token', string>>;
  readonly ports: Ports;
  readonly certificateFile: string;
}

export interface Receiver {
  readonly pid: number;
  readonly address: ReceiverAddress;
  /** The variables by which the service reaches it. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Forgets what it counted. Until the next reset each request is answered so many milliseconds after it came, and one of each
   * `refuseEvery` as one to a token that is gone.
   */
  reset(options?: {
    readonly latencyMs?: number;
    readonly refuseEvery?: number;
    readonly notesArrivals?: boolean;
  }): Promise<void>;
  /** Rejects when it did not count exactly so many requests by each channel since the last reset. */
  expectPushes(counts: ByChannel): Promise<void>;
  /** How many requests since the last reset were told that their token is gone. */
  refused(): Promise<number>;
  /** When each request since the last reset was there, in milliseconds since the epoch, where that was asked for. */
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
        throw new BenchError(
          `the receiver counted ${pushes[channel]} requests by ${channel} where ${counts[channel] ?? 0} were expected`,
        );
      }
    },
    arrivals: async () => (await child.ask<Counts>({ type: 'counts' })).arrivedAtMs,
  };
}
