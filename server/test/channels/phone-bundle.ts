// Shared by the tests of Apple and Android push: distinct keys, credentials as an operator would
// set them, and channels whose providers are servers on this machine.
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type Http2Engine, ownEngine } from '@carillon/http2';
import { createLog } from '../../src/ground/host/log.ts';
import { createAddressGuard, parseOutboundExceptions } from '../../src/ground/outbound/address-guard.ts';
import { createOutboundHttp } from '../../src/ground/outbound/http.ts';
import { createOutboundSockets } from '../../src/ground/outbound/socket.ts';
import { createOutboundTransport, type TransportOptions } from '../../src/ground/outbound/transport.ts';
import { type ApnsCredential, parseApnsCredential } from '../../src/sending/channels/apns/credential.ts';
import { transportSettings as apnsSettings, createApns } from '../../src/sending/channels/apns/send.ts';
import type { ChannelClock, Push, Rate } from '../../src/sending/channels/channel.ts';
import { type FcmCredential, parseServiceAccount } from '../../src/sending/channels/fcm/credential.ts';
import { createFcm, transportSettings as fcmSettings } from '../../src/sending/channels/fcm/send.ts';
import type { ChannelContent } from '../../src/sending/content/content.ts';
import { type AskedChannel, askedChannel } from './asked-channel.ts';
import { certificate } from './push-server.ts';

/** The host name of the APNs sandbox; production is reached by its address. */
export const sandboxHost = 'push.test.example';

export const bundleId = 'com.example.shop';
export const [teamId, keyId] = ['TEAM123456', 'KEY1234567'];
export const projectId = 'shop-4711';
export const clientEmail = 'push@shop-4711.iam.gserviceaccount.com';

export interface MadeKey {
  readonly pem: string;
  readonly publicKey: KeyObject;
}

export function makeApnsKey(): MadeKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { pem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), publicKey };
}

export function makeGoogleKey(): MadeKey {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return { pem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), publicKey };
}

export const apnsKey = makeApnsKey();
export const googleKey = makeGoogleKey();

export function apnsCredential(
  changed: Partial<Record<'p8' | 'keyId' | 'teamId' | 'environment', string>> = {},
): ApnsCredential {
  const given = { p8: apnsKey.pem, keyId, teamId, bundleId, environment: 'production', ...changed };
  const parsed = parseApnsCredential(given);
  if ('issues' in parsed) throw new Error(JSON.stringify(parsed.issues));
  return parsed.credential;
}

/** A service account as Google's console issues it. */
export function serviceAccount(changed: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    type: 'service_account',
    project_id: projectId,
    private_key_id: '0a1b2c3d4e5f',
    private_key: googleKey.pem,
    client_email: clientEmail,
    client_id: '1234567890',
    auth_uri: 'https://accounts.google.com/o/oauth2/auth',
    token_uri: 'https://oauth2.googleapis.com/token',
    ...changed,
  };
}

export function fcmCredential(changed: Record<string, unknown> = {}): FcmCredential {
  const file = serviceAccount(changed);
  const parsed = parseServiceAccount(JSON.stringify(file), String(file['token_uri']));
  if ('issues' in parsed) throw new Error(JSON.stringify(parsed.issues));
  return parsed.credential;
}

/** The token of device number `device`, in the form of its platform. */
export const hexToken = (device: number) => device.toString(16).padStart(64, 'a');
export const androidToken = (device: number) => `fGx0kKd3Q8u:APA91bHkR-${device}`;

export function pushTo<Credential>(
  credential: Credential,
  token: string,
  content: Partial<ChannelContent> = {},
  changed: Partial<Push<Credential>> = {},
): Push<Credential> {
  return {
    credential,
    token,
    messageId: 'msg_02y9GVDsTuJUi2BOoCH5G3',
    deviceId: 'dev_4r4tgBwaHmRyQNukgzmqsi',
    receiptToken: 'AQGS86R7bE1ej5AaKzxNXm-fjn1sW0o5KBcG9eTTwrGgABEiM0RVZneImaq7zN3u_5iN-uWC-pFKDKtNztO8AqE',
    clickUrl: 'https://push.example.com/v1/r/AQGS',
    content: { title: 'Sale', body: 'Now on', ttl: 3_600, priority: 'high', ...content },
    ttlSeconds: 3_600,
    ...changed,
  };
}

interface TransportTo {
  readonly sandboxPort: number;
  readonly timeoutMs: number;
  readonly engine: Http2Engine;
  readonly ca: string;
}

function transportTo(settings: Partial<TransportOptions>, { sandboxPort, timeoutMs, engine, ca }: TransportTo) {
  const resolve = `${sandboxHost}:443=127.0.0.1:${sandboxPort}`;
  const allowCidrs = ['127.0.0.0/8'];
  const exceptions = parseOutboundExceptions({ allowCidrs, allowPorts: undefined, resolve, ca });
  const sockets = createOutboundSockets(createAddressGuard({ exceptions }));
  const http2 = { ...settings.http2, connectTimeoutMs: timeoutMs };
  return createOutboundTransport({
    sockets,
    http1: createOutboundHttp(sockets),
    engine,
    ...settings,
    http2,
  });
}

export interface TestChannelOptions {
  readonly timeoutMs?: number;
  /** One clock for instants and durations. */
  readonly clock?: TestClock;
  /** Default: our own engine. */
  readonly engine?: Http2Engine;
  /** The trusted authority. Default: the servers of these tests. */
  readonly ca?: string;
}

type TestClock = Pick<ChannelClock, 'nowMs'> & Partial<Pick<ChannelClock, 'isInDoubt'>>;

const wallClock: TestClock = { nowMs: () => Date.now() };
const channelClockOf = (clock: TestClock): ChannelClock => ({
  nowMs: () => clock.nowMs(),
  steadyMs: () => clock.nowMs(),
  isInDoubt: () => clock.isInDoubt?.() ?? false,
  steps: 0,
});

/** Both of Apple's environments at one port; requests differ in their `host`. */
export function createTestApns(port: number, options: TestChannelOptions = {}): AskedChannel<ApnsCredential> {
  const { timeoutMs = 10_000, clock = wallClock, engine = ownEngine, ca = certificate } = options;
  const transport = transportTo(apnsSettings, { sandboxPort: port, timeoutMs, engine, ca });
  const origins = { production: { host: '127.0.0.1', port }, sandbox: { host: sandboxHost, port: 443 } };
  return askedChannel(
    createApns({ transport, origins, clock: channelClockOf(clock), log: createLog('silent', 'test'), timeoutMs }),
  );
}

export function createTestFcm(
  port: number,
  tokenPort: number,
  options: TestChannelOptions & { readonly rate?: Rate } = {},
): AskedChannel<FcmCredential> {
  const { timeoutMs = 10_000, clock = wallClock, rate = null, engine = ownEngine, ca = certificate } = options;
  const transport = transportTo(fcmSettings, { sandboxPort: port, timeoutMs, engine, ca });
  const tokenEndpoint = { host: '127.0.0.1', port: tokenPort, path: '/token' };
  const origin = { host: '127.0.0.1', port };
  return askedChannel(
    createFcm({
      transport,
      origin,
      tokenEndpoint,
      clock: channelClockOf(clock),
      rate,
      timeoutMs,
      random: () => 0.5,
    }),
  );
}

/** Google's answer to an assertion that it accepts. */
export const grant = (token: string, expires_in = 3_599) =>
  JSON.stringify({ access_token: token, expires_in, token_type: 'Bearer' });
