// Measures the most that one process can do over `node:http2`. It keeps one session to each push
// service and 100 requests in flight, and prepares headers and bodies beforehand. Only web push is
// encrypted per device, because it must be. There is no database, rendering, retry or deadline.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2';
import type { ChannelId } from '../../../server/src/sending/channels/channel.ts';
import { decodeBase64 } from '../../../server/src/sending/channels/webpush/base64.ts';
import { encrypt } from '../../../server/src/sending/channels/webpush/encrypt.ts';
import { createVapidHeaders, parseVapidKeys } from '../../../server/src/sending/channels/webpush/vapid.ts';
import { channelsOf } from '../channels.ts';
import { bodyOf, messageId, ttlSeconds } from '../content.ts';
import { apnsIdentity, type Credentials } from '../credentials.ts';
import type { SimulatedDevice } from '../devices.ts';
import { servePeer } from './peer.ts';

interface Request {
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

servePeer(async ({ way, address, credentials }) => {
  const ca = readFileSync(address.certificateFile);
  const sessions = new Map<ChannelId, ClientHttp2Session>();
  for (const channel of channelsOf(way)) {
    const session = connect(address.origins[channel], { ca, maxSessionMemory: 64 });
    await new Promise<void>((resolve, reject) => {
      session.once('remoteSettings', () => resolve());
      session.once('error', reject);
    });
    sessions.set(channel, session);
  }
  const requestFor = requestMaker(credentials, address.origins.webpush);
  return {
    perCall: 1,
    callsAtOnce: 100,
    send: ([device]) =>
      new Promise<void>((resolve, reject) => {
        const session = device && sessions.get(device.channel);
        if (device === undefined || session === undefined) throw new Error('there is no session');
        const { headers, body } = requestFor(device);
        const stream = session.request(headers);
        let status = 0;
        stream.once('response', (answer) => {
          status = answer[':status'] ?? 0;
        });
        stream.once('error', reject);
        stream.once('close', () =>
          status === 200 || status === 201 ? resolve() : reject(new Error(`answered ${status}`)),
        );
        stream.resume();
        stream.end(body);
      }),
  };
});

const post = { ':method': 'POST' } as const;
/** A bearer token of the usual length of Apple's and Google's; nobody verifies it here. */
const bearer = 'x'.repeat(200);

/**
 * Returns a function that makes requests. Parts that are the same for all devices of a channel are
 * made once.
 */
function requestMaker(credentials: Credentials, webOrigin: string): (device: SimulatedDevice) => Request {
  const plaintext = bodyOf.webpush('');
  const apnsBody = bodyOf.apns('');
  const fcmBody = bodyOf.fcm('x'.repeat(163));
  const parsed = parseVapidKeys({ ...credentials.vapid, id: 'bench', subject: 'mailto:push@example.com' });
  if (!('credential' in parsed)) throw new Error('the VAPID keys are not accepted');
  const vapid = createVapidHeaders({ nowMs: Date.now, steadyMs: Date.now }).headerFor(webOrigin, parsed.credential);
  const webHeaders = {
    ...post,
    ttl: String(ttlSeconds),
    urgency: 'high',
    topic: messageId,
    authorization: vapid,
    'content-encoding': 'aes128gcm',
    'content-type': 'application/octet-stream',
  };
  const apnsHeaders = {
    ...post,
    authorization: `bearer ${bearer}`,
    'apns-topic': apnsIdentity.bundleId,
    'apns-push-type': 'alert',
    'apns-priority': '10',
    'apns-expiration': String(Math.floor(Date.now() / 1000) + ttlSeconds),
    'apns-id': randomUUID(),
    'apns-collapse-id': messageId,
    'content-length': apnsBody.length,
  };
  const fcmHeaders = {
    ...post,
    ':path': `/v1/projects/${credentials.serviceAccount['project_id']}/messages:send`,
    authorization: `Bearer ${bearer}`,
    'content-type': 'application/json',
    'content-length': fcmBody.length,
  };
  return (device) => {
    if (device.channel === 'fcm') return { headers: fcmHeaders, body: fcmBody };
    if (device.channel === 'apns') {
      return { headers: { ...apnsHeaders, ':path': `/3/device/${device.token}` }, body: apnsBody };
    }
    const { endpoint, keys } = device.subscription;
    const publicKey = decodeBase64(keys.p256dh, 65);
    const secret = decodeBase64(keys.auth, 16);
    const body = publicKey && secret && encrypt(plaintext, publicKey, secret);
    if (body === undefined) throw new Error('the keys of a subscription are not accepted');
    const path = endpoint.slice(webOrigin.length);
    return { headers: { ...webHeaders, ':path': path, 'content-length': body.length }, body };
  };
}
