// Builds the rules for push endpoints that the service accepts and may reach. They come from the
// operator's settings. For a sandbox that the settings do not name yet, they come from the
// variables that the sandbox needs.
import { readFileSync } from 'node:fs';
import type { Config } from '../../config.ts';
import { parseOutboundExceptions } from '../../ground/outbound/address-guard.ts';
import type { EndpointRules } from '../../sending/channels/webpush/endpoint.ts';

export function endpointRulesOf(config: Config, more: Readonly<Record<string, string>> = {}): EndpointRules {
  return {
    pushHosts: both(config.pushHosts, more['PUSH_HOSTS']),
    exceptions: parseOutboundExceptions({
      allowCidrs: both(config.outboundAllowCidrs, more['OUTBOUND_ALLOW_CIDRS']),
      allowPorts: both([config.outboundAllowPorts], more['OUTBOUND_ALLOW_PORTS']).join(','),
      resolve: config.outboundResolve,
      ca: config.outboundCaFile === null ? undefined : readFileSync(config.outboundCaFile, 'utf8'),
    }),
    ownHosts: config.publicUrl === null ? [] : [new URL(config.publicUrl).hostname],
  };
}

function both(items: readonly string[], list: string | undefined): string[] {
  return [...items, ...(list ?? '').split(',')].filter((item) => item !== '');
}
