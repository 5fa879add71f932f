// Decides which addresses outbound requests may reach: public ones, and those that the operator
// exempts. Contains the name lookup for HTTP/1.1 and HTTP/2. A refusal is an error passed to a
// callback, never one thrown into a socket.
import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { createNameLookups, type NameLookupsOptions } from './name-lookups.ts';
import { isFixedPushHost, vendorOf } from './push-hosts.ts';

type Range = readonly [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number];

/**
 * Addresses and ports that the operator exempts from the guard. Empty by default; hold
 * when it is empty.
 */
export interface OutboundExceptions {
  /**
   * Address ranges that count as public, for literal addresses and for private names that resolve
   * into them.
   */
  readonly allowCidrs: readonly Range[];
  /** Accepted ports in addition to the usual ones, as inclusive ranges. */
  readonly allowPorts: readonly (readonly [from: number, to: number])[];
  /**
   * `host:port` → the address to which its connections go instead. URL, SNI and Host stay
   * unchanged. Only addresses inside `allowCidrs` are allowed.
   */
  readonly resolve: ReadonlyMap<string, { readonly address: string; readonly port: number }>;
  /** An additional certificate authority, as PEM. */
  readonly ca: string | undefined;
}

export const noExceptions: OutboundExceptions = Object.freeze({
  allowCidrs: [],
  allowPorts: [],
  resolve: new Map(),
  ca: undefined,
});

/**
 * A connection that the guard refused. The message contains no address, because a caller may see
 * it.
 */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  readonly transportError = 'blocked_address';
  readonly code = 'BLOCKED_ADDRESS';

  constructor() {
    super('The host leads to an address that is not public.');
  }
}

/**
 * Every failure of a lookup becomes the error of a name that cannot be resolved, and never ends the
 * process.
 */
function lookupError(error: unknown): NodeJS.ErrnoException {
  if (error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string') return error;
  return Object.assign(new Error('The name could not be resolved.', { cause: error }), { code: 'EAI_FAIL' });
}

/** Resolves a name to all of its addresses. Rejects when there is none. Tests pass their own. */
export type Resolver = (host: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

/** Fixed hosts for phones and access tokens. Other hosts come from subscriptions. */
const providers = ['oauth2.googleapis.com', 'api.push.apple.com', 'api.sandbox.push.apple.com', 'web.push.apple.com'];

/**
 * The shares of a process's concurrent lookups. They sum to sixteen, the number that may run at
 * once (`processEnvironment`).
 */
export const lookupPlaces: NameLookupsOptions = {
  isProvider: (host) => isFixedPushHost(host) || providers.includes(host),
  // Push services that have, or had, a host for each region.
  isOfProvider: (host) => vendorOf(host) !== 'other',
  providersMax: 4,
  ofProvidersMax: 2,
  knownMax: 4,
  freshMax: 4,
  slowMax: 2,
};

/** One instance for all guards of a process, because they share the threads. */
const systemResolver: Resolver = createNameLookups(
  (host) => systemLookup(host, { all: true, verbatim: true }),
  lookupPlaces,
);

/**
 * Addresses of an answer that are tried. No one publishes so many. The rest of a longer answer is
 * checked but not tried.
 */
const addressesTriedMax = 16;

// Ranges that ipaddr.js calls unicast, or might in a later version. `::/96` is IPv4-compatible
// space, to which `https://[::127.0.0.1]` leads. Source: IANA's special-purpose registries.
const notPublic: readonly Range[] = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16', '192.175.48.0/24'],
  ...['198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ...['::/96', '::ffff:0:0/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '2001::/23'],
  ...['2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20', '5f00::/16', 'fc00::/7', 'fe80::/10'],
  ...['fec0::/10', 'ff00::/8'],
].map((cidr) => ipaddr.parseCIDR(cidr));

/** The only IPv6 range that is assigned for global unicast (RFC 4291, IANA). */
const globalUnicast6: Range = ipaddr.parseCIDR('2000::/3');

function isIn(address: ipaddr.IPv4 | ipaddr.IPv6, [network, bits]: Range): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

/**
 * Parses an unambiguous spelling: four decimal parts, or IPv6 without a zone. Returns undefined for
 * any other text.
 */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (isIP(text) === 0 || text.includes('%')) return undefined;
  return ipaddr.parse(text);
}

/** Returns whether an address is public unicast; false for text that is no plain address. */
export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text);
  if (address === undefined || address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv6' && !isIn(address, globalUnicast6)) return false;
  return !notPublic.some((range) => isIn(address, range));
}

/** Returns whether the operator exempted this address. */
export function isExempt(text: string, exceptions: OutboundExceptions): boolean {
  const address = parseAddress(text);
  return address !== undefined && exceptions.allowCidrs.some((range) => isIn(address, range));
}

/**
 * Reads the operator's settings as the configuration has them: ranges one by one, the rest as
 * comma-separated lists. Throws an Error that names the variable and the value, which stops the
 * start.
 */
export function parseOutboundExceptions(settings: {
  readonly allowCidrs?: readonly string[] | undefined;
  readonly allowPorts?: string | undefined;
  readonly resolve?: string | undefined;
  readonly ca?: string | undefined;
}): OutboundExceptions {
  const allowCidrs = (settings.allowCidrs ?? []).map(parseCidr);
  const allowPorts = items(settings.allowPorts).map(parsePorts);
  const resolve = new Map(items(settings.resolve).map(parseResolve));
  const exceptions = Object.freeze({ allowCidrs, allowPorts, resolve, ca: settings.ca });
  for (const [from, target] of resolve) {
    if (isExempt(target.address, exceptions)) continue;
    throw new Error(`OUTBOUND_RESOLVE: the target of "${from}" is not inside OUTBOUND_ALLOW_CIDRS`);
  }
  return exceptions;
}

function items(list: string | undefined): string[] {
  return (list ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function parseCidr(text: string): Range {
  const cidr = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`;
  if (isIP(cidr.slice(0, cidr.indexOf('/'))) !== 0 && ipaddr.isValidCIDR(cidr)) return ipaddr.parseCIDR(cidr);
  throw new Error(`OUTBOUND_ALLOW_CIDRS: "${text}" is not an address range such as 10.0.0.0/8`);
}

function parsePort(text: string | undefined): number | undefined {
  const port = /^\d{1,5}$/.test(text ?? '') ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : undefined;
}

function parsePorts(text: string): readonly [number, number] {
  const [first, last = first, ...more] = text.split('-').map((part) => part.trim());
  const from = parsePort(first);
  const to = parsePort(last);
  if (from !== undefined && to !== undefined && from <= to && more.length === 0) return [from, to];
  throw new Error(`OUTBOUND_ALLOW_PORTS: "${text}" is not a port or a range such as 8000-8999`);
}

function parseResolve(text: string): [string, { address: string; port: number }] {
  const [, host, fromPort, target, toPort] = /^([^=\s]+):(\d+)=(\[[^\]]+\]|[^:\s]+):(\d+)$/.exec(text) ?? [];
  const address = target?.replace(/^\[|\]$/g, '') ?? '';
  const from = parsePort(fromPort);
  const port = parsePort(toPort);
  if (host !== undefined && from !== undefined && port !== undefined && isIP(address) !== 0) {
    return [`${host.toLowerCase()}:${from}`, { address, port }];
  }
  throw new Error(`OUTBOUND_RESOLVE: "${text}" is not of the form host:443=127.0.0.1:8443`);
}

/** The guard that HTTP/1.1 and HTTP/2 use. Every address of a connection comes from it. */
export interface AddressGuard {
  readonly exceptions: OutboundExceptions;
  /** Returns whether a connection to this address is permitted. */
  permits(address: string): boolean;
  /**
   * The lookup for `net` and `tls`: all addresses of a name. When one of them is not permitted, the
   * whole answer is refused.
   */
  readonly lookup: LookupFunction;
}

export function createAddressGuard(
  options: { readonly exceptions?: OutboundExceptions; readonly resolver?: Resolver } = {},
): AddressGuard {
  const { exceptions = noExceptions, resolver = systemResolver } = options;
  const permits = (address: string) => isPublicAddress(address) || isExempt(address, exceptions);

  const approve = async (host: string) => {
    const found = await resolver(host);
    if (found.length === 0) throw Object.assign(new Error('The name has no address.'), { code: 'ENOTFOUND' });
    if (!found.every(({ address }) => permits(address))) throw new BlockedAddressError();
    return found.slice(0, addressesTriedMax).map(({ address }) => ({ address, family: isIP(address) }));
  };

  const lookup: LookupFunction = (host, { all, family }, callback) => {
    approve(host).then(
      (found) => {
        const first = found.find((entry) => entry.family === family) ?? found[0];
        if (all) callback(null, found);
        else callback(null, first?.address ?? '', first?.family);
      },
      (error: unknown) => callback(lookupError(error), ''),
    );
  };

  return { exceptions, permits, lookup };
}
