import { nodeEngine, ownEngine } from '@carillon/http2';
import { afterAll } from 'vitest';
import type { FcmCredential } from '../../src/sending/channels/fcm/credential.ts';
import { describeChannel } from './conformance.ts';
import { androidToken, createTestFcm, fcmCredential, grant, pushTo } from './phone-bundle.ts';
import { startPushServer } from './push-server.ts';

const credential = fcmCredential();
const google = await startPushServer({ protocol: 'h2' });
google.handle = (request) => request.answer(200, { 'content-type': 'application/json' }, grant('ya29.test'));
afterAll(() => google.close());

const error = (code: number, status: string, errorCode: string, message = 'Something') => {
  const details = [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode }];
  return JSON.stringify({ error: { code, message, status, details } });
};

for (const [name, engine] of [
  ['fcm', ownEngine],
  ['fcm, on node:http2', nodeEngine],
] as const) {
  describeChannel<FcmCredential>({
    name,
    protocol: 'h2',
    create: (server, timeoutMs) => createTestFcm(server.port, google.port, { timeoutMs, engine }),
    push: (device, content) => pushTo(credential, androidToken(device), content),
    malformedToken: 'no token at all',
    titleOf: ({ body }) => JSON.parse(body.toString()).message.notification.title,
    wishesOf: ({ body }) => {
      const { android } = JSON.parse(body.toString()).message;
      return {
        ttlSeconds: Number.parseInt(android.ttl, 10),
        isUrgent: android.priority === 'HIGH',
        replaces: android.notification.tag,
      };
    },
    connectionsMax: 8,
    answers: {
      accepted: { status: 200, body: '{"name":"projects/shop-4711/messages/0:1795256141"}' },
      gone: { status: 404, body: error(404, 'NOT_FOUND', 'UNREGISTERED') },
      invalid: { status: 400, body: error(400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT', 'Invalid color') },
      throttled: { status: 429, body: error(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED') },
      unavailable: { status: 503, body: error(503, 'UNAVAILABLE', 'UNAVAILABLE') },
    },
  });
}
