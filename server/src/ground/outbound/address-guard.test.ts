import type { LookupAddress } from 'node:dns';
import { describe, expect, test } from 'vitest';
import {
  type AddressGuard,
  createAddressGuard,
  isExempt,
  isPublicAddress,
  parseOutboundExceptions,
  type Resolver,
} from './address-guard.ts';

describe('which addresses are public', () => {
  test.each([
    ...[
      '1.1.1.1',
      '8.8.8.8',
      '9.255.255.255',
      '11.0.0.0',
      '100.63.255.255',
      '100.128.0.0',
      '126.255.255.255',
      '128.0.0.0',
    ],
    ...[
      '169.253.255.255',
      '172.15.255.255',
      '172.32.0.0',
      '192.0.1.0',
      '192.167.255.255',
      '192.169.0.0',
      '198.17.255.255',
    ],
    ...['198.20.0.0', '223.255.255.255', '2606:4700:4700::1111', '2a00:1450:4001:829::200a', '2001:4860:4860::8888'],
  ])('%s is', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test.each([
    ...[
      '0.0.0.0',
      '0.1.2.3',
      '10.0.0.0',
      '10.255.255.255',
      '100.64.0.0',
      '100.127.255.255',
      '127.0.0.1',
      '127.255.255.255',
    ],
    ...['169.254.0.0', '169.254.169.254', '172.16.0.0', '172.31.255.255', '192.0.0.1', '192.0.2.1', '192.31.196.1'],
    ...[
      '192.52.193.1',
      '192.88.99.1',
      '192.168.255.255',
      '192.175.48.1',
      '198.18.0.0',
      '198.19.255.255',
      '198.51.100.1',
    ],
    ...['203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', '::7f00:1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:0:127.0.0.1', '64:ff9b::7f00:1'],
    ...['64:ff9b:1::1', '100::1', '100:0:0:1::1', '2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:2::1'],
    ...['2001:20::1', '2001:db8::1', '2002:7f00:1::', '2620:4f:8000::1', '3fff::1', '4000::1', '5f00::1', 'fc00::1'],
    ...['fd00:ec2::254', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'ff02::1'],
    ...['', 'example.com', '2130706433', '0x7f000001', '127.1', '0177.0.0.1', '8.8.8', '08.8.8.8', '1.1.1.1 '],
  ])('%j is not', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe("the operator's exceptions", () => {
  test('exempt the addresses inside the ranges and no other', () => {
    const exceptions = parseOutboundExceptions({ allowCidrs: ['10.1.0.0/16', '::1', '127.0.0.1'] });
    const judged = ['10.1.0.1', '10.2.0.1', '::1', '::2', '127.0.0.1', '127.0.0.2', '::ffff:10.1.0.1', 'localhost'];
    expect(judged.filter((address) => isExempt(address, exceptions))).toEqual(['10.1.0.1', '::1', '127.0.0.1']);
  });

  test('ports come singly and as ranges, targets with their port', () => {
    const exceptions = parseOutboundExceptions({
      allowCidrs: ['127.0.0.0/8', '::1/128'],
      allowPorts: '8443, 9000-9100',
      resolve: 'Push.Example.com:443=127.0.0.1:9443,b.example.com:443=[::1]:9444',
    });
    expect(exceptions.allowPorts).toEqual([
      [8443, 8443],
      [9000, 9100],
    ]);
    expect([...exceptions.resolve]).toEqual([
      ['push.example.com:443', { address: '127.0.0.1', port: 9443 }],
      ['b.example.com:443', { address: '::1', port: 9444 }],
    ]);
  });

  test.each([
    [{ allowCidrs: ['10.0.0.0/33'] }, 'OUTBOUND_ALLOW_CIDRS'],
    [{ allowCidrs: ['localhost'] }, 'OUTBOUND_ALLOW_CIDRS'],
    [{ allowCidrs: ['0x7f.1/8'] }, 'OUTBOUND_ALLOW_CIDRS'],
    [{ allowPorts: '0' }, 'OUTBOUND_ALLOW_PORTS'],
    [{ allowPorts: '9-8' }, 'OUTBOUND_ALLOW_PORTS'],
    [{ allowPorts: '1-2-3' }, 'OUTBOUND_ALLOW_PORTS'],
    [{ allowPorts: '65536' }, 'OUTBOUND_ALLOW_PORTS'],
    [{ allowCidrs: ['127.0.0.0/8'], resolve: 'a.example.com=127.0.0.1:1' }, 'OUTBOUND_RESOLVE'],
    [{ allowCidrs: ['127.0.0.0/8'], resolve: 'a.example.com:443=localhost:1' }, 'OUTBOUND_RESOLVE'],
    [{ resolve: 'a.example.com:443=127.0.0.1:1' }, 'OUTBOUND_RESOLVE'],
    [{ allowCidrs: ['127.0.0.0/8'], resolve: 'a.example.com:443=1.1.1.1:1' }, 'OUTBOUND_RESOLVE'],
  ])('%j stops the start and names %s', (settings, variable) => {
    expect(() => parseOutboundExceptions(settings)).toThrow(variable);
  });
});

/** Returns what `net` would be told: the addresses, or the error's code. */
function ask(guard: AddressGuard, all = true): Promise<string | LookupAddress[]> {
  return new Promise((resolve) => {
    guard.lookup('name.example', { all }, (error, address) => resolve(error?.code ?? address));
  });
}

const answering = (...addresses: string[]): Resolver => {
  return async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
};

describe('R-31 the lookup answers with public addresses or with an error', () => {
  test.each([
    ['loopback', ['127.0.0.1']],
    ['public and private mixed', ['1.1.1.1', '10.0.0.1']],
    ['IPv6 only and private', ['fd00::1']],
    ['500 addresses, the last of them private', [...Array(499).fill('1.1.1.1'), '192.168.0.1']],
    ['something that is no address', ['1.1.1.1', 'localhost']],
  ])('%s: refused whole', async (_name, addresses) => {
    expect(await ask(createAddressGuard({ resolver: answering(...addresses) }))).toBe('BLOCKED_ADDRESS');
  });

  test('public addresses alone are handed on, and no more than can sensibly be tried', async () => {
    const guard = createAddressGuard({ resolver: answering('1.1.1.1', '2606:4700::1') });
    expect(await ask(guard)).toEqual([
      { address: '1.1.1.1', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ]);
    expect(await ask(guard, false)).toBe('1.1.1.1');
    const crowded = createAddressGuard({ resolver: answering(...Array(500).fill('1.1.1.1')) });
    expect(await ask(crowded)).toHaveLength(16);
  });

  test('no address, and a resolver that fails, are errors and no exception', async () => {
    expect(await ask(createAddressGuard({ resolver: answering() }))).toBe('ENOTFOUND');
    const failing = createAddressGuard({
      resolver: () => Promise.reject(Object.assign(new Error(), { code: 'EAI_AGAIN' })),
    });
    expect(await ask(failing)).toBe('EAI_AGAIN');
  });

  test('each answer is checked again, because a name that was public may be private now', async () => {
    const answers = ['1.1.1.1', '127.0.0.1', '1.1.1.1', '10.0.0.1'];
    const guard = createAddressGuard({ resolver: async () => [{ address: answers.shift() ?? '', family: 4 }] });
    const told = [await ask(guard), await ask(guard), await ask(guard), await ask(guard)];
    const passed = [{ address: '1.1.1.1', family: 4 }];
    expect(told).toEqual([passed, 'BLOCKED_ADDRESS', passed, 'BLOCKED_ADDRESS']);
  });

  test('an exempt range counts as public, also mixed with public addresses', async () => {
    const exceptions = parseOutboundExceptions({ allowCidrs: ['10.0.0.0/8'] });
    expect(await ask(createAddressGuard({ exceptions, resolver: answering('10.0.0.1', '1.1.1.1') }))).toHaveLength(2);
    expect(await ask(createAddressGuard({ exceptions, resolver: answering('10.0.0.1', '127.0.0.1') }))).toBe(
      'BLOCKED_ADDRESS',
    );
  });
});
