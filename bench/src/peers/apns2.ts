// The npm library `apns2`, used through `sendMany`, which has a pool of 32 connections.
import { ApnsClient, Notification } from 'apns2';
import { messageId, receiptToken, rendered, ttlSeconds } from '../content.ts';
import { apnsIdentity } from '../credentials.ts';
import { expectAccepted, servePeer, tokenOf } from './peer.ts';
import { redirectProviders } from './redirect.ts';

servePeer(async ({ address, credentials }) => {
  redirectProviders(address);
  const { keyId, teamId, bundleId } = apnsIdentity;
  const client = new ApnsClient({ team: teamId, keyId, signingKey: credentials.apnsKey, defaultTopic: bundleId });
  const { title, body, url } = rendered;
  return {
    perCall: 500,
    callsAtOnce: 1,
    async send(devices) {
      const notifications = devices.map(
        (device) =>
          new Notification(tokenOf(device), {
            alert: { title, body },
            data: { url, carillon_message_id: messageId, carillon_token: receiptToken },
            expiration: Math.floor(Date.now() / 1000) + ttlSeconds,
            collapseId: messageId,
          }),
      );
      const results = await client.sendMany(notifications);
      const failed = results.filter((result) => 'error' in result);
      expectAccepted(results.length - failed.length, devices, failed[0]);
    },
  };
});
