// The client address of a request: the peer's, or the one reported by a proxy that the operator
// trusts. Reports from other peers are ignored, so that no client can pretend to be another.
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

export interface ClientAddress {
  /** The address as text; empty when the connection has none any more. */
  readonly address: string;
  /** True when X-Forwarded-For came from a peer that is not trusted and was ignored. */
  readonly isForwardingIgnored: boolean;
  readonly peer: Peer;
}

/** The other end of a request's connection: the client, or the last proxy before us. */
export interface Peer {
  readonly isTrusted: boolean;
  /** True: it runs on this very machine. */
  readonly isLoopback: boolean;
}

/** The parts of a request that are read. */
type Asking = Pick<IncomingMessage, 'headers'> & { readonly socket: { readonly remoteAddress?: string | undefined } };

/**
 * Reads TRUSTED_PROXIES and returns a function that finds the client of a request. Throws, naming
 * the variable, when it lists anything but addresses and ranges: the meaning of a name could
 * change, and a misread range would trust strangers.
 *
 * Behind trusted proxies the client is the last address of X-Forwarded-For that is not a trusted
 * proxy. Strangers can write everything to the left of it.
 */
export function clientAddressFinder(trustedProxies: readonly string[]): (request: Asking) => ClientAddress {
  const ranges = trustedProxies.map(parseRange);
  const isTrusted = (text: string): boolean => {
    const address = parse(text);
    return ranges.some(([range, bits]) => address?.kind() === range.kind() && address.match(range, bits));
  };
  return (request) => {
    let address = request.socket.remoteAddress ?? '';
    const peer = { isTrusted: isTrusted(address), isLoopback: parse(address)?.range() === 'loopback' };
    const forwarded = request.headers['x-forwarded-for'];
    if (forwarded === undefined) return { address, isForwardingIgnored: false, peer };
    if (!peer.isTrusted) return { address, isForwardingIgnored: true, peer };
    // Several headers of this name are one list; node:http joins them in their order.
    for (const hop of String(forwarded).split(',').reverse()) {
      const text = withoutPort(hop.trim());
      // An entry that is no address names no client: the proxy that wrote it counts as the client.
      if (parse(text) === undefined) break;
      address = text;
      if (!isTrusted(text)) break;
    }
    return { address, isForwardingIgnored: false, peer };
  };
}

/**
 * The network as which an address is counted: the address itself, or for IPv6 its /64, the smallest
 * range of one subscriber. Every text that is no address counts as the same network.
 */
export function networkOf(text: string): string {
  const address = parse(text);
  if (address === undefined) return '';
  if (address.kind() === 'ipv4') return address.toString();
  const [first = 0, second = 0, third = 0, fourth = 0] = (address as ipaddr.IPv6).parts;
  return [first, second, third, fourth].map((part) => part.toString(16)).join(':');
}

function parseRange(text: string): [Address, number] {
  const range = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`;
  if (isIP(range.slice(0, range.indexOf('/'))) !== 0 && ipaddr.isValidCIDR(range)) return ipaddr.parseCIDR(range);
  throw new Error(`TRUSTED_PROXIES must list addresses or ranges such as 10.0.0.0/8, not '${text}'.`);
}

// An IPv6 socket shows an IPv4 address as `::ffff:192.0.2.1`; it counts as the IPv4 address.
function parse(text: string): Address | undefined {
  return isIP(text) === 0 ? undefined : ipaddr.process(text);
}

// Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
function withoutPort(hop: string): string {
  const match = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([^\]]*)\])(?::\d+)?$/.exec(hop);
  return match?.[1] ?? match?.[2] ?? hop;
}
