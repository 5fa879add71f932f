// Gets simulated browsers and phones from a running sandbox, by its control address: tokens for
// seeded devices, and keys that may send to its phones. Knows only the sandbox's protocol.

import { z } from 'zod';
import { programName } from '../../ground/host/program-name.ts';
import { parseUrl } from '../../ground/values/parse-url.ts';
import type { Environment, Platform } from '../../sending/channels/channel.ts';
import type { SeededDevice, Vendor } from './population.ts';
import { makeToken } from './tokens.ts';

/**
 * The app on the devices: the key that browsers subscribe with, and the app on a phone. A field
 * that is undefined means the sandbox's own app.
 */
export interface AppOnDevices {
  readonly vapidKey: string;
  readonly bundleId?: string | undefined;
  readonly environment?: Environment | undefined;
  readonly projectId?: string | undefined;
}

export interface SandboxDevices {
  /** The environment variables with which Carillon reaches the sandbox. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Resolves with a token for each device, in order. The token of a web device is a subscription.
   */
  tokensOf(devices: readonly SeededDevice[], app: AppOnDevices, seed: string): Promise<string[]>;
  /** Makes a new key of a team, in the form in which Apple's developer pages give it. */
  makeApnsKey(): Promise<{ readonly p8: string; readonly key_id: string; readonly team_id: string }>;
  /**
   * Makes a new service account. Resolves with its JSON text, in the form in which Google's console
   * gives it.
   */
  makeServiceAccount(): Promise<string>;
}

const addressesSchema = z.object({ environment: z.record(z.string(), z.string()) });
const subscriptionsSchema = z.object({ subscriptions: z.array(z.object({ endpoint: z.string() }).loose()) });
const phonesSchema = z.object({ devices: z.array(z.object({ token: z.string() })) });
const apnsKeySchema = z.object({ p8: z.string(), key_id: z.string(), team_id: z.string() });

const timeoutMs = 60_000;

/** Devices of one kind share one sequence of numbers. */
type Kind = Vendor | Exclude<Platform, 'web'>;

const kindOf = ({ platform, vendor }: SeededDevice): Kind | null => (platform === 'web' ? vendor : platform);

/** Connects to the sandbox at `url`. Throws an error in words where no sandbox answers. */
export async function connectToSandbox(url: string): Promise<SandboxDevices> {
  const base = /^https?:\/\//.test(url) ? parseUrl(url) : null;
  if (!base) throw new Error(`--sandbox is the address of a sandbox's inbox, not '${url}'`);
  const call = createCall(base);
  const { environment } = addressesSchema.parse(await call('GET', 'addresses'));
  // For each kind, the number of the next device.
  const taken = new Map<Kind, number>();

  /**
   * Reserves the numbers before it asks the sandbox, so that numbers follow the order of the calls
   * and not of the answers.
   */
  const take = async (kind: Kind, count: number, app: AppOnDevices, seed: string): Promise<string[]> => {
    const from = taken.get(kind) ?? 0;
    taken.set(kind, from + count);
    const asked = { count, from, seed: `carillon seed ${seed} ${kind}` };
    if (kind === 'ios' || kind === 'android') {
      const onPhone =
        kind === 'ios' ? { bundle_id: app.bundleId, environment: app.environment } : { project_id: app.projectId };
      const { devices } = phonesSchema.parse(await call('POST', 'devices', { platform: kind, ...onPhone, ...asked }));
      return devices.map(({ token }) => token);
    }
    const { subscriptions } = subscriptionsSchema.parse(
      await call('POST', 'subscriptions', { vendor: kind, vapid_key: app.vapidKey, ...asked }),
    );
    return subscriptions.map((subscription) => JSON.stringify(subscription));
  };

  return {
    environment,
    async tokensOf(devices, app, seed) {
      const counts = new Map<Kind, number>();
      for (const kind of devices.map(kindOf)) if (kind) counts.set(kind, (counts.get(kind) ?? 0) + 1);
      const taking = [...counts].map(
        async ([kind, count]): Promise<[Kind, string[]]> => [kind, await take(kind, count, app, seed)],
      );
      const made = new Map(await Promise.all(taking));
      return devices.map((device) => {
        const kind = kindOf(device);
        return (kind ? made.get(kind)?.shift() : undefined) ?? makeToken(device).text;
      });
    },
    makeApnsKey: async () => apnsKeySchema.parse(await call('POST', 'apns/keys', {})),
    makeServiceAccount: async () => JSON.stringify(await call('POST', 'fcm/service-accounts', {})),
  };
}

function createCall(base: URL): (method: string, path: string, body?: object) => Promise<unknown> {
  return async (method, path, body) => {
    const url = new URL(path, base.href.endsWith('/') ? base : `${base.href}/`);
    const response = await fetch(url, {
      method,
      headers: { 'content-type': 'application/json' },
      signal: AbortSignal.timeout(timeoutMs),
      ...(body && { body: JSON.stringify(body) }),
    }).catch(() => {
      throw new Error(`No sandbox answers at ${base.origin}; start one with: ${programName} sandbox`);
    });
    if (!response.ok) throw new Error(`The sandbox answered ${response.status} to ${method} /${path}`);
    return response.json();
  };
}
