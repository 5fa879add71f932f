// Simulated browsers from a running sandbox, by its control address: the subscriptions that seeded web devices register. The
// sandbox is known by its protocol alone.
import { z } from 'zod';
import { CommandError } from './command-error.ts';
import type { SeededDevice, Vendor } from './seed-population.ts';
import { makeToken } from './seed-population.ts';

export interface SandboxBrowsers {
  /** The variables by which Carillon reaches it. */
  readonly environment: Readonly<Record<string, string>>;
  /** A token for each device, in order: of web devices a subscription, of others what they have anyway. */
  subscribe(devices: readonly SeededDevice[], vapidKey: string, seed: string): Promise<string[]>;
}

const addressesSchema = z.object({ environment: z.record(z.string(), z.string()) });
const subscriptionsSchema = z.object({ subscriptions: z.array(z.object({ endpoint: z.string() }).loose()) });

const timeoutMs = 60_000;

/** Throws, in words, where no sandbox answers. */
export async function connectToSandbox(url: string): Promise<SandboxBrowsers> {
  const base = /^https?:\/\//.test(url) && URL.canParse(url) ? new URL(url) : undefined;
  if (!base) throw new CommandError(`--sandbox is the address of a sandbox's inbox, not '${url}'`);
  const call = createCall(base);
  const { environment } = addressesSchema.parse(await call('GET', 'addresses'));
  // Browsers of a vendor are numbered: the next ones are asked for by the number where the last ones ended.
  const taken = new Map<Vendor, number>();

  /** Reserves before it asks, so that numbers follow the order of calls and not of answers. */
  const take = async (vendor: Vendor, count: number, vapidKey: string, seed: string): Promise<string[]> => {
    const from = taken.get(vendor) ?? 0;
    taken.set(vendor, from + count);
    const body = { vendor, count, from, vapid_key: vapidKey, seed: `carillon seed ${seed} ${vendor}` };
    const { subscriptions } = subscriptionsSchema.parse(await call('POST', 'subscriptions', body));
    return subscriptions.map((subscription) => JSON.stringify(subscription));
  };

  return {
    environment,
    async subscribe(devices, vapidKey, seed) {
      const counts = new Map<Vendor, number>();
      for (const { vendor } of devices) if (vendor) counts.set(vendor, (counts.get(vendor) ?? 0) + 1);
      const taking = [...counts].map(
        async ([vendor, count]): Promise<[Vendor, string[]]> => [vendor, await take(vendor, count, vapidKey, seed)],
      );
      const made = new Map(await Promise.all(taking));
      return devices.map(
        (device) => (device.vendor ? made.get(device.vendor)?.shift() : undefined) ?? makeToken(device),
      );
    },
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
      throw new CommandError(`No sandbox answers at ${base.origin}; start one with: carillon sandbox`);
    });
    if (!response.ok) throw new CommandError(`The sandbox answered ${response.status} to ${method} /${path}`);
    return response.json();
  };
}
