// The npm library `node-pushnotifications`, whose calls take devices of all three channels. It
// sends through `@parse/node-apn`, `firebase-admin` and `web-push`, and gets the fastest settings
// of each.
import { cert } from 'firebase-admin/app';
import PushNotifications from 'node-pushnotifications';
import { channelsOf } from '../channels.ts';
import { messageId, receiptToken, rendered, ttlSeconds } from '../content.ts';
import { apnsIdentity } from '../credentials.ts';
import type { SimulatedDevice } from '../devices.ts';
import { expectAccepted, servePeer } from './peer.ts';
import { redirectProviders } from './redirect.ts';
import { webPushOptions } from './web-push-sender.ts';

/** Devices of each channel in one call: FCM takes at most this many messages at once. */
const devicesPerCall = 500;

servePeer(async (setup) => {
  redirectProviders(setup.address);
  const { credentials } = setup;
  const { keyId, teamId, bundleId } = apnsIdentity;
  const push = new PushNotifications({
    // One credential for all calls: the library would otherwise request an access token in each
    // call.
    fcm: { appName: 'bench', credential: cert(credentials.serviceAccount) },
    apn: { token: { key: credentials.apnsKey, keyId, teamId }, production: true },
    web: webPushOptions(setup),
  });
  const { title, body, url } = rendered;
  const data = {
    title,
    body,
    topic: bundleId,
    custom: { url, carillon_message_id: messageId, carillon_token: receiptToken },
    priority: 'high',
    pushType: 'alert',
    tag: messageId,
    timeToLive: ttlSeconds,
    // Otherwise each message for Android also carries what FCM would send to an iPhone.
    providersExclude: ['apns'],
  };
  return {
    perCall: devicesPerCall * channelsOf(setup.way).length,
    callsAtOnce: 1,
    async send(devices) {
      const results = await push.send(devices.map(idOf), data);
      const accepted = results.reduce((sum, { success }) => sum + success, 0);
      expectAccepted(accepted, devices, results.find(({ failure }) => failure > 0)?.message[0]);
    },
  };
});

function idOf(device: SimulatedDevice): object {
  if (device.channel === 'webpush') return device.subscription;
  return { id: device.token, type: device.channel === 'apns' ? 'apn' : 'fcm' };
}
