// Shared by the tests of web push: a browser that can decrypt its pushes, and a channel whose push
// services are servers on this machine. The browser decrypts with `http_ece`, a library of other
// authors.
import { createECDH, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { type Http2Engine, ownEngine } from '@carillon/http2';
import { createLog, type Log } from '../../src/ground/host/log.ts';
import { createAddressGuard, parseOutboundExceptions, type Resolver } from '../../src/ground/outbound/address-guard.ts';
import { createOutboundHttp } from '../../src/ground/outbound/http.ts';
import { createOutboundSockets } from '../../src/ground/outbound/socket.ts';
import { createOutboundTransport } from '../../src/ground/outbound/transport.ts';
import type { Push } from '../../src/sending/channels/channel.ts';
import type { EndpointRules } from '../../src/sending/channels/webpush/endpoint.ts';
import { createWebPush, transportSettings, type WebPushOptions } from '../../src/sending/channels/webpush/send.ts';
import { generateVapidKeys, parseVapidKeys, type WebPushCredential } from '../../src/sending/channels/webpush/vapid.ts';
import type { ChannelContent } from '../../src/sending/content/content.ts';
import { type AskedChannel, askedChannel } from './asked-channel.ts';
import { certificate } from './push-server.ts';

const foreign: {
  decrypt(body: Buffer, keys: { version: string; privateKey: unknown; authSecret: Buffer }): Buffer;
} = createRequire(import.meta.url)('http_ece');

/** One browser for all subscriptions, so that it can decrypt every push. */
const keys = createECDH('prime256v1');
keys.generateKeys();
const auth = randomBytes(16);

export function subscriptionTo(endpoint: string): string {
  return JSON.stringify({
    endpoint,
    expirationTime: null,
    keys: { p256dh: keys.getPublicKey('base64url'), auth: auth.toString('base64url') },
  });
}

/** The payload that the service worker would get. */
export function readPayload(body: Buffer): { web_push: number; notification: Record<string, unknown> } {
  const plaintext = foreign.decrypt(body, { version: 'aes128gcm', privateKey: keys, authSecret: auth });
  return JSON.parse(plaintext.toString());
}

export const vapidKeys = generateVapidKeys();

export const credential: WebPushCredential = (() => {
  const parsed = parseVapidKeys({ id: 'key-1', subject: 'mailto:ops@example.com', ...vapidKeys });
  if ('issues' in parsed) throw new Error(JSON.stringify(parsed.issues));
  return parsed.credential;
})();

export function pushTo(
  token: string,
  content: Partial<ChannelContent> = {},
  changed: Partial<Push<WebPushCredential>> = {},
): Push<WebPushCredential> {
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

export interface ChannelSettings {
  /** The port on this machine for each host and port of a URL. */
  readonly leads?: Readonly<Record<string, number>>;
  readonly allowCidrs?: readonly string[];
  readonly allowPorts?: string;
  readonly pushHosts?: readonly string[];
  readonly resolver?: Resolver;
  /** Undefined: only the system's authorities. */
  readonly ca?: string | undefined;
  readonly timeoutMs?: number;
  readonly clock?: WebPushOptions['clock'];
  /** Default: discards all lines. */
  readonly log?: Pick<Log, 'info'>;
  /** Default: our own engine. */
  readonly engine?: Http2Engine;
}

export function createTestChannel(settings: ChannelSettings = {}): AskedChannel<WebPushCredential> {
  const { leads = {}, allowCidrs = ['127.0.0.0/8'], allowPorts, pushHosts = [], resolver } = settings;
  const ca = 'ca' in settings ? settings.ca : certificate;
  const resolve = Object.entries(leads).map(([from, port]) => `${from}=127.0.0.1:${port}`);
  const exceptions = parseOutboundExceptions({ allowCidrs, allowPorts, resolve: resolve.join(), ca });
  const guard = createAddressGuard({ exceptions, ...(resolver && { resolver }) });
  const sockets = createOutboundSockets(guard);
  const http1 = createOutboundHttp(sockets);
  const rules: EndpointRules = { pushHosts, exceptions, ownHosts: ['push.example.com'] };
  const { clock = { nowMs: Date.now, steadyMs: Date.now }, timeoutMs = 10_000, engine = ownEngine } = settings;
  const http2 = { connectTimeoutMs: timeoutMs };
  const transport = createOutboundTransport({ sockets, http1, engine, ...transportSettings, http2 });
  const { log = createLog('silent', 'test') } = settings;
  return askedChannel(createWebPush({ transport, rules, clock, log, timeoutMs }));
}
