import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { clientAddressFinder, networkOf } from './client-address.ts';

const requestOf = (remoteAddress: string | undefined, forwarded?: string): IncomingMessage =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage;

describe('R-66 the client of a request', () => {
  it('is its peer where no proxy is trusted, whatever is forwarded', () => {
    const find = clientAddressFinder([]);
    expect(find(requestOf('192.0.2.1'))).toMatchObject({ address: '192.0.2.1', isForwardingIgnored: false });
    const forwarded = requestOf('192.0.2.1', '203.0.113.9');
    expect(find(forwarded)).toMatchObject({ address: '192.0.2.1', isForwardingIgnored: true });
    expect(find(requestOf(undefined))).toMatchObject({ address: '', isForwardingIgnored: false });
  });

  const find = clientAddressFinder(['10.0.0.0/8', '192.0.2.1', '2001:db8:1::/48']);
  it.each([
    ['one proxy', '10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['a proxy by its IPv6 form', '::ffff:10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['a proxy on IPv6', '2001:db8:1::5', '2001:db8:9::1', '2001:db8:9::1'],
    ['two proxies', '10.1.2.3', '203.0.113.9, 192.0.2.1', '203.0.113.9'],
    ['what a client put in front', '10.1.2.3', '198.51.100.1, 10.9.9.9, 203.0.113.9', '203.0.113.9'],
    ['proxies alone', '10.1.2.3', '10.4.4.4, 10.5.5.5', '10.4.4.4'],
    ['white space', '10.1.2.3', ' 203.0.113.9\t,192.0.2.1 ', '203.0.113.9'],
    ['a port', '10.1.2.3', '203.0.113.9:4711', '203.0.113.9'],
    ['an IPv6 address with a port', '10.1.2.3', '[2001:db8:9::1]:4711', '2001:db8:9::1'],
    ['an IPv6 address in brackets', '10.1.2.3', '[2001:db8:9::1]', '2001:db8:9::1'],
    ['nothing', '10.1.2.3', '', '10.1.2.3'],
    ['a name', '10.1.2.3', '203.0.113.9, unknown', '10.1.2.3'],
    ['a name behind a proxy', '10.1.2.3', '203.0.113.9, unknown, 192.0.2.1', '192.0.2.1'],
    ['an address in another spelling', '10.1.2.3', '0x7f.1', '10.1.2.3'],
  ])('behind a trusted proxy, given %s', (_what, peer, forwarded, address) => {
    expect(find(requestOf(peer, forwarded))).toMatchObject({ address, isForwardingIgnored: false });
  });

  it('is not what a neighbour of a trusted proxy forwards', () => {
    for (const peer of ['11.0.0.1', '192.0.2.2', '2001:db8:2::5', '::1']) {
      expect(find(requestOf(peer, '203.0.113.9'))).toMatchObject({ address: peer, isForwardingIgnored: true });
    }
  });

  it.each([
    ['10.1.2.3', { isTrusted: true, isLoopback: false }],
    ['::ffff:10.1.2.3', { isTrusted: true, isLoopback: false }],
    ['127.0.0.1', { isTrusted: false, isLoopback: true }],
    ['::ffff:127.0.0.2', { isTrusted: false, isLoopback: true }],
    ['::1', { isTrusted: false, isLoopback: true }],
    ['203.0.113.9', { isTrusted: false, isLoopback: false }],
    [undefined, { isTrusted: false, isLoopback: false }],
  ])('has a connection whose other end is %s: %j', (address, peer) => {
    expect(find(requestOf(address)).peer).toEqual(peer);
    expect(find(requestOf(address, '127.0.0.1')).peer).toEqual(peer);
  });

  it.each(['proxy.example', '10.0.0.0/33', '10.0.0/8', '2001:db8::/129', '10.0.0.0/', '/8', 'loopback', '*'])(
    'TRUSTED_PROXIES with %j stops the start, and is named',
    (range) => {
      expect(() => clientAddressFinder(['10.0.0.0/8', range])).toThrow(`TRUSTED_PROXIES must list`);
      expect(() => clientAddressFinder([range])).toThrow(range);
    },
  );
});

describe('the key under which an address is counted', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:0DB8:0001:2::', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['', ''],
    ['nonsense', ''],
  ])('%s as %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
