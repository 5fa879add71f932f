// Finds the push services that this machine must reach, and tries each of them: a verified TLS
// connection through the address guard, opened as a send opens it. Sends nothing.

import { transportErrorOf } from '@carillon/http2';
import type { Sql } from '@carillon/postgres';
import type { Config } from '../../config.ts';
import { createAddressGuard } from '../../ground/outbound/address-guard.ts';
import { createOutboundSockets, type OutboundOrigin, type OutboundSockets } from '../../ground/outbound/socket.ts';
import { originOfUrl } from '../../ground/outbound/url.ts';
import { listCurrentCredentials } from '../../teams/apps/credential-queries.ts';
import { listApps } from '../../teams/apps/queries.ts';
import { endpointRulesOf } from './endpoint-rules.ts';

export interface Reached {
  readonly host: string;
  /** Null: the host was reached. */
  readonly error: string | null;
}

/** The web push services that nearly every audience needs. */
const browserHosts = ['fcm.googleapis.com', 'updates.push.services.mozilla.com', 'web.push.apple.com'];
const withinMs = 5_000;

/** Tries the hosts of the channels that at least one app has set. */
export async function reachHosts(config: Config, sql: Sql): Promise<Reached[]> {
  const channels = new Set<string>();
  for (const { id } of await listApps(sql)) {
    for (const { channel } of await listCurrentCredentials(sql, id)) channels.add(channel);
  }
  const origins = new Map<string, OutboundOrigin>();
  const add = (origin: OutboundOrigin): void => void origins.set(`${origin.host}:${origin.port}`, origin);
  if (channels.has('webpush')) {
    for (const host of [...browserHosts, ...config.pushHosts.filter((each) => !each.includes('*'))]) {
      add({ host, port: 443 });
    }
  }
  if (channels.has('apns')) for (const url of [config.apnsUrl, config.apnsSandboxUrl]) add(originOfUrl(url));
  if (channels.has('fcm')) for (const url of [config.fcmUrl, config.fcmTokenUrl]) add(originOfUrl(url));
  if (origins.size === 0) return [];
  const sockets = createOutboundSockets(createAddressGuard({ exceptions: endpointRulesOf(config).exceptions }));
  return Promise.all([...origins].map(async ([host, origin]) => ({ host, error: await tryOne(sockets, origin) })));
}

function tryOne(sockets: OutboundSockets, origin: OutboundOrigin): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = sockets.open(origin, ['h2', 'http/1.1']);
    const end = (error: string | null): void => {
      clearTimeout(timer);
      resolve(error);
      socket.destroy();
    };
    const timer = setTimeout(() => end('timeout'), withinMs);
    socket.once('secureConnect', () => end(null));
    socket.on('error', (error) => end(transportErrorOf(error)));
    socket.once('close', () => end('reset'));
  });
}
