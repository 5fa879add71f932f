import { nodeEngine, ownEngine } from '@carillon/http2';
import type { ApnsCredential } from '../../src/sending/channels/apns/credential.ts';
import { describeChannel } from './conformance.ts';
import { apnsCredential, createTestApns, hexToken, pushTo } from './phone-bundle.ts';

const credential = apnsCredential();
const reason = (word: string) => JSON.stringify({ reason: word });

for (const [name, engine] of [
  ['apns', ownEngine],
  ['apns, on node:http2', nodeEngine],
] as const) {
  describeChannel<ApnsCredential>({
    name,
    protocol: 'h2',
    create: (server, timeoutMs) => createTestApns(server.port, { timeoutMs, engine }),
    push: (device, content) => pushTo(credential, hexToken(device), content),
    malformedToken: 'zz'.repeat(32),
    titleOf: ({ body }) => JSON.parse(body.toString()).aps.alert.title,
    wishesOf: ({ headers }) => {
      const expiration = Number(headers['apns-expiration']);
      return {
        ttlSeconds: expiration === 0 ? 0 : expiration - Math.floor(Date.now() / 1_000),
        isUrgent: headers['apns-priority'] === '10',
        replaces: String(headers['apns-collapse-id']),
      };
    },
    connectionsMax: 4,
    answers: {
      accepted: { status: 200, headers: { 'apns-id': 'E63CC8FD-DB6E-5CB9-B51E-0EC3465E5843' } },
      gone: { status: 410, body: JSON.stringify({ reason: 'Unregistered', timestamp: 1_795_256_130_123 }) },
      invalid: { status: 400, body: reason('BadCollapseId') },
      throttled: { status: 429, body: reason('TooManyRequests') },
      unavailable: { status: 503, body: reason('ServiceUnavailable') },
    },
  });
}
