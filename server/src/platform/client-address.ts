// Where a request comes from: its peer, or what a proxy says that the operator trusts. Nobody else's word is taken, so that
// no client can pass for another.
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

export interface ClientAddress {
  /** As text; empty where the connection has none any more. */
  readonly address: string;
  /** True: an X-Forwarded-For came from a peer that is not trusted, and was ignored. */
  readonly isForwardingIgnored: boolean;
}

/** What of a request is looked at. */
type Asking = Pick<IncomingMessage, 'headers'> & { readonly socket: { readonly remoteAddress?: string | undefined } };

/**
 * Reads TRUSTED_PROXIES and finds the client of a request. Throws, naming the variable, where it lists anything but addresses
 * and ranges: a name could change its meaning, and a range that is misread would believe strangers.
 *
 * Behind trusted proxies the client is the last address of X-Forwarded-For that is not one of theirs: what stands left of it was
 * said by strangers.
 */
export function clientAddressFinder(trustedProxies: readonly string[]): (request: Asking) => ClientAddress {
  const ranges = trustedProxies.map(parseRange);
  const isTrusted = (text: string): boolean => {
    const address = parse(text);
    return ranges.some(([range, bits]) => address?.kind() === range.kind() && address.match(range, bits));
  };
  return (request) => {
    const peer = request.socket.remoteAddress ?? '';
    const forwarded = request.headers['x-forwarded-for'];
    if (forwarded === undefined) return { address: peer, isForwardingIgnored: false };
    if (!isTrusted(peer)) return { address: peer, isForwardingIgnored: true };
    let address = peer;
    // Several headers of the name are one list: node:http joins them in their order.
    for (const hop of String(forwarded).split(',').reverse()) {
      const text = withoutPort(hop.trim());
      // A proxy that names nobody is the last whose word counts.
      if (parse(text) === undefined) break;
      address = text;
      if (!isTrusted(text)) break;
    }
    return { address, isForwardingIgnored: false };
  };
}

/**
 * Whom an address is counted as: itself, or the /64 of IPv6, which is what one subscriber has at least. Text that is no address
 * is counted as one and the same.
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

// An IPv4 address that an IPv6 socket shows as `::ffff:192.0.2.1` is the IPv4 address.
function parse(text: string): Address | undefined {
  return isIP(text) === 0 ? undefined : ipaddr.process(text);
}

// Some proxies add it: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
function withoutPort(hop: string): string {
  const match = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([^\]]*)\])(?::\d+)?$/.exec(hop);
  return match?.[1] ?? match?.[2] ?? hop;
}
