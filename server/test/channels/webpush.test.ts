import { nodeEngine } from '@carillon/http2';
import type { WebPushCredential } from '../../src/sending/channels/webpush/vapid.ts';
import { type ChannelUnderTest, describeChannel } from './conformance.ts';
import { createTestChannel, pushTo, readPayload, subscriptionTo } from './webpush-bundle.ts';

const mozilla: ChannelUnderTest<WebPushCredential> = {
  name: 'webpush to Mozilla over HTTP/2',
  protocol: 'h2',
  create: (server, timeoutMs) =>
    createTestChannel({ leads: { 'updates.push.services.mozilla.com:443': server.port }, timeoutMs }),
  push: (device, content) =>
    pushTo(subscriptionTo(`https://updates.push.services.mozilla.com/wpush/v2/device-${device}`), content),
  malformedToken: '{"endpoint":"https://updates.push.services.mozilla.com/wpush/v2/x","keys":{}}',
  titleOf: ({ body }) => String(readPayload(body).notification['title']),
  wishesOf: ({ headers }) => ({
    ttlSeconds: Number(headers['ttl']),
    isUrgent: headers['urgency'] === 'high',
    replaces: String(headers['topic']),
  }),
  connectionsMax: 4,
  answers: {
    accepted: { status: 201, headers: { location: 'https://updates.push.services.mozilla.com/m/abc', ttl: '3600' } },
    gone: { status: 410, body: '{"code":410,"errno":106,"error":"Gone","message":"No such subscription"}' },
    invalid: { status: 400, body: '{"code":400,"errno":113,"error":"Bad Request","message":"Invalid Topic"}' },
    throttled: { status: 429, body: '{"code":429,"errno":201,"error":"Too Many Requests","message":"Slow down"}' },
    unavailable: { status: 503, body: '{"code":503,"errno":201,"error":"Service Unavailable","message":"Back off"}' },
  },
};

describeChannel(mozilla);

describeChannel({
  ...mozilla,
  name: 'webpush to Mozilla over HTTP/2, on node:http2',
  create: (server, timeoutMs) =>
    createTestChannel({
      leads: { 'updates.push.services.mozilla.com:443': server.port },
      timeoutMs,
      engine: nodeEngine,
    }),
});

describeChannel({
  ...mozilla,
  name: 'webpush to a service of HTTP/1.1 alone',
  protocol: 'http/1.1',
  // The connections of HTTP/1.1, and the one on which ALPN showed that there is no HTTP/2.
  connectionsMax: 33,
});

describeChannel({
  ...mozilla,
  name: 'webpush to WNS',
  protocol: 'http/1.1',
  connectionsMax: 32,
  create: (server, timeoutMs) =>
    createTestChannel({ leads: { 'wns2-test.notify.windows.com:443': server.port }, timeoutMs }),
  push: (device, content) =>
    pushTo(subscriptionTo(`https://wns2-test.notify.windows.com/w/?token=device-${device}`), content),
  answers: {
    accepted: { status: 201, headers: { 'x-wns-status': 'received', 'x-wns-msg-id': '7A' } },
    gone: { status: 410 },
    invalid: { status: 400, headers: { 'x-wns-error-description': 'Bad' } },
    throttled: { status: 406 },
    unavailable: { status: 500 },
  },
});
