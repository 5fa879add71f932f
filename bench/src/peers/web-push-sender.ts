// Sends by the npm library `web-push`.
import { readFileSync } from 'node:fs';
import { Agent } from 'node:https';
import webPush from 'web-push';
import { bodyOf, messageId, ttlSeconds } from '../content.ts';
import type { PushSubscriptionJson } from '../devices.ts';
import type { PeerSetup } from './peer.ts';

const connectionsMax = 100;

/** The options of one push in the form that the library takes. */
export function webPushOptions({ address, credentials }: Pick<PeerSetup, 'address' | 'credentials'>) {
  return {
    agent: new Agent({ keepAlive: true, maxSockets: connectionsMax, ca: readFileSync(address.certificateFile) }),
    vapidDetails: { subject: 'mailto:push@example.com', ...credentials.vapid },
    TTL: ttlSeconds,
    urgency: 'high',
    topic: messageId,
  } as const;
}

/** Returns a function that sends, and that rejects for every status but 2xx. */
export function webPushSender(setup: PeerSetup): (subscription: PushSubscriptionJson) => Promise<unknown> {
  const options = webPushOptions(setup);
  const payload = bodyOf.webpush('').toString('utf8');
  return (subscription) => webPush.sendNotification(subscription, payload, options);
}
