import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { transportErrorOf } from '@carillon/http2';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { expiredCertificateFile } from '../../../rig/src/certificate.ts';
import {
  type AddressGuard,
  createAddressGuard,
  noExceptions,
  type Resolver,
} from '../../src/ground/outbound/address-guard.ts';
import { createOutboundSockets } from '../../src/ground/outbound/socket.ts';
import { refusedUrls } from '../fixtures/refused-urls.ts';
import { takeEveryCertificate } from '../lax-certificates.ts';
import { type PushServerOptions, startPushServer } from './push-server.ts';
import { type ChannelSettings, createTestChannel, pushTo, subscriptionTo } from './webpush-bundle.ts';

const host = 'push.example.org';
const wns = 'wns2-test.notify.windows.com';

async function serve(options: Partial<PushServerOptions> = {}) {
  const server = await startPushServer({ protocol: 'http/1.1', ...options });
  onTestFinished(() => server.close());
  return server;
}

function channelWith(settings: ChannelSettings) {
  const channel = createTestChannel(settings);
  onTestFinished(() => channel.close());
  return channel;
}

const answering = (...addresses: string[]): Resolver => {
  return async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
};

describe('R-30, R-36 an endpoint that was written directly into the database', () => {
  test.each(refusedUrls)('%j is not connected to, with PUSH_HOSTS=*', async (url) => {
    const connect = vi.spyOn(Socket.prototype, 'connect');
    onTestFinished(() => connect.mockRestore());
    const channel = channelWith({ allowCidrs: [], pushHosts: ['*'] });
    const outcome = await channel.send(pushTo(subscriptionTo(url)));
    expect(outcome).toMatchObject({ kind: 'refused', errorCode: 'invalid_token', provider: null });
    expect(connect).not.toHaveBeenCalled();
  });
});

describe('R-31 the address of a name is checked at the connection', () => {
  const blocked = {
    errorCode: 'provider_unavailable',
    retryable: true,
    provider: { httpStatus: null, headers: {}, body: null, transportError: 'blocked_address' },
  };

  test.each([
    ['loopback', ['127.0.0.1']],
    ['IPv6 loopback', ['::1']],
    ['public and private mixed', ['1.1.1.1', '127.0.0.1']],
    ['IPv6 only, and private', ['fd00::1']],
    ['an address of the cloud', ['169.254.169.254']],
    ['500 addresses, one of them private', [...Array(499).fill('1.1.1.1'), '10.0.0.1']],
  ])('%s: refused as a whole, with no connection', async (_name, addresses) => {
    const server = await serve();
    for (const protocolHost of [host, wns]) {
      const channel = channelWith({ allowCidrs: [], pushHosts: [host], resolver: answering(...addresses) });
      expect(await channel.send(pushTo(subscriptionTo(`https://${protocolHost}/x`)))).toMatchObject(blocked);
    }
    expect(server.connections).toBe(0);
  });

  test('an unknown name, or a failing resolver, fails this push and nothing else', async () => {
    const failing =
      (error: Error): Resolver =>
      () =>
        Promise.reject(error);
    const throwing: Resolver = () => {
      throw new Error('bug');
    };
    const nonsense = (async () => undefined) as unknown as Resolver;
    const notFound = Object.assign(new Error('no'), { code: 'ENOTFOUND' });
    const errors: unknown[] = [];
    for (const resolver of [failing(notFound), answering(), failing(new Error('bug')), throwing, nonsense]) {
      const channel = channelWith({ allowCidrs: [], pushHosts: [host], resolver });
      const outcome = await channel.send(pushTo(subscriptionTo(`https://${host}/x`)));
      expect(outcome).toMatchObject({ errorCode: 'provider_unavailable', retryable: true });
      errors.push(outcome.provider?.transportError);
    }
    expect(errors).toEqual(['dns_error', 'dns_error', 'dns_error', 'dns_error', 'dns_error']);
  });

  test.each([host, wns])('a hanging resolver is given up (%s): nothing was sent', async (slowHost) => {
    const resolver: Resolver = () => new Promise(() => {});
    const channel = channelWith({ allowCidrs: [], pushHosts: [host], resolver, timeoutMs: 200 });
    expect(await channel.send(pushTo(subscriptionTo(`https://${slowHost}/x`)))).toMatchObject({
      errorCode: 'provider_unavailable',
      provider: { transportError: 'connect_error' },
    });
  });

  test('a name whose address changes at every question: only permitted addresses are connected to', async () => {
    const server = await serve();
    server.handle = (request) => request.answer(201, { connection: 'close' });
    // The forbidden address reaches the same server, so each connection to it would be counted.
    const good = '127.0.0.1';
    const bad = '::ffff:127.0.0.1';
    const answers = Array.from(
      { length: 60 },
      (_, i) => [[good], [bad], [good, bad], [bad, good]][(i * 7 + (i >> 2)) % 4],
    );
    let next: string[] | undefined;
    const resolver: Resolver = (name) => answering(...(next ?? []))(name);
    const exceptions = { allowCidrs: [`${good}/32`], allowPorts: String(server.port) };
    const channel = channelWith({ ...exceptions, resolver });
    const kinds: string[] = [];
    for (const answer of answers) {
      next = answer;
      const outcome = await channel.send(pushTo(subscriptionTo(`https://${wns}:${server.port}/x`)));
      kinds.push(outcome.kind === 'sent' ? 'sent' : String(outcome.provider?.transportError));
    }
    const expected = answers.map((answer) => (answer?.join() === good ? 'sent' : 'blocked_address'));
    expect(kinds).toEqual(expected);
    expect(server.connections).toBe(expected.filter((kind) => kind === 'sent').length);
  });

  test('the connected address is checked again: no byte is sent to another', async () => {
    const server = await serve();
    const lying: AddressGuard = {
      exceptions: noExceptions,
      permits: () => false,
      lookup: (_host, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]),
    };
    const socket = createOutboundSockets(lying).open({ host, port: server.port }, ['http/1.1']);
    const error = await new Promise((resolve) => socket.once('error', resolve));
    expect(transportErrorOf(error)).toBe('blocked_address');
    expect(socket.bytesWritten).toBe(0);
  });
});

describe('R-30 an IP address in the URL, for which Node does no lookup', () => {
  test.each(['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.0.0.1', '169.254.169.254'])('%s', async (address) => {
    const server = await serve();
    const connect = vi.spyOn(Socket.prototype, 'connect');
    onTestFinished(() => connect.mockRestore());
    const guard = createAddressGuard();
    const socket = createOutboundSockets(guard).open({ host: address, port: server.port }, ['h2', 'http/1.1']);
    const error = await new Promise((resolve) => socket.once('error', resolve));
    expect(transportErrorOf(error)).toBe('blocked_address');
    expect(connect).not.toHaveBeenCalled();
    expect(server.connections).toBe(0);
  });
});

describe('R-32 redirects are plain answers', () => {
  test.each([301, 302, 303, 307, 308])('%i is not followed', async (status) => {
    const target = await serve();
    const server = await serve();
    const location = `https://127.0.0.1:${target.port}/inside`;
    server.handle = (request) => request.answer(status, { location });
    const channel = channelWith({ leads: { [`${wns}:443`]: server.port } });
    expect(await channel.send(pushTo(subscriptionTo(`https://${wns}/x`)))).toMatchObject({
      errorCode: 'unknown_error',
      provider: { httpStatus: status, headers: { location } },
    });
    expect(target.connections).toBe(0);
    expect(server.seen).toHaveLength(1);
  });
});

describe('R-34 certificates are always verified', () => {
  const expired = readFileSync(expiredCertificateFile, 'utf8');
  const tlsError = {
    errorCode: 'provider_unavailable',
    retryable: true,
    provider: { httpStatus: null, transportError: 'tls_error' },
  };

  test.each([
    ['self-signed', 'fcm.googleapis.com', {}, { ca: undefined }],
    ['for another name', 'android.googleapis.com', {}, {}],
    ['expired', 'fcm.googleapis.com', { cert: expired }, { ca: expired }],
    ['TLS 1.1', 'fcm.googleapis.com', { maxVersion: 'TLSv1.1' }, {}],
  ] as const)('%s', async (_name, name, options, settings) => {
    takeEveryCertificate();
    const server = await serve(options);
    const channel = channelWith({ leads: { [`${name}:443`]: server.port }, ...settings });
    expect(await channel.send(pushTo(subscriptionTo(`https://${name}/x`)))).toMatchObject(tlsError);
    expect(server.seen).toHaveLength(0);
  });
});
