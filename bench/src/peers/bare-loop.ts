// What one process can do at most over `node:http2`: our own encryption and one session that always has its requests in
// flight. No database, no rendering, no retries, no deadlines.
import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { decodeBase64Url } from '../../../server/src/channels/webpush/base64url.ts';
import { encrypt } from '../../../server/src/channels/webpush/encrypt.ts';
import { createVapidHeaders, generateVapidKeys, parseVapidKeys } from '../../../server/src/channels/webpush/vapid.ts';
import { servePeer } from './peer.ts';

const keys = generateVapidKeys();

servePeer(keys.publicKey, async ({ address, payload, ttlSeconds }) => {
  const parsed = parseVapidKeys({ ...keys, id: 'bench', subject: 'mailto:push@example.com' });
  if (!('credential' in parsed)) throw new Error('the VAPID keys are not accepted');
  const authorization = createVapidHeaders({ nowMs: Date.now }).headerFor(address.origin, parsed.credential);
  const plaintext = Buffer.from(payload);
  const session = connect(address.origin, { ca: readFileSync(address.certificateFile), maxSessionMemory: 64 });
  await new Promise<void>((resolve, reject) => {
    session.once('remoteSettings', () => resolve());
    session.once('error', reject);
  });
  return ({ endpoint, keys: { p256dh, auth } }) =>
    new Promise((resolve, reject) => {
      const publicKey = decodeBase64Url(p256dh, 65);
      const secret = decodeBase64Url(auth, 16);
      const body = publicKey && secret && encrypt(plaintext, publicKey, secret);
      if (body === undefined) throw new Error('the keys of a subscription are not accepted');
      const stream = session.request({
        ':method': 'POST',
        ':path': endpoint.slice(address.origin.length),
        ttl: String(ttlSeconds),
        urgency: 'high',
        topic: 'msg_02y9GVDsTuJUi2BOoCH5G3',
        authorization,
        'content-encoding': 'aes128gcm',
        'content-type': 'application/octet-stream',
        'content-length': body.length,
      });
      let status = 0;
      stream.once('response', (headers) => {
        status = headers[':status'] ?? 0;
      });
      stream.once('error', reject);
      stream.once('close', () => (status === 201 ? resolve() : reject(new Error(`answered ${status}`))));
      stream.resume();
      stream.end(body);
    });
});
