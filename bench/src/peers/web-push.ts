// The npm library `web-push`, used as its users do who care for speed: one agent that keeps its connections.
import { readFileSync } from 'node:fs';
import { Agent } from 'node:https';
import webPush from 'web-push';
import { inFlight, servePeer } from './peer.ts';

const keys = webPush.generateVAPIDKeys();

servePeer(keys.publicKey, async ({ address, payload, ttlSeconds }) => {
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight, ca: readFileSync(address.certificateFile) });
  const options = {
    agent,
    vapidDetails: { subject: 'mailto:push@example.com', ...keys },
    TTL: ttlSeconds,
    urgency: 'high',
    topic: 'msg_02y9GVDsTuJUi2BOoCH5G3',
  } as const;
  // It rejects for every status but 2xx.
  return async (subscription) => {
    await webPush.sendNotification(subscription, payload, options);
  };
});
