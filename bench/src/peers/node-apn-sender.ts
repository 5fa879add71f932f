// Sends by the npm library `@parse/node-apn`: one notification to many tokens, its fastest use. A
// personal text for each person would take one call per person.
import { Notification, Provider } from '@parse/node-apn';
import { messageId, receiptToken, rendered, ttlSeconds } from '../content.ts';
import { apnsIdentity, type Credentials } from '../credentials.ts';
import type { SimulatedDevice } from '../devices.ts';
import { expectAccepted, tokenOf } from './peer.ts';

export const { keyId, teamId, bundleId } = apnsIdentity;

/**
 * Returns a function that sends to some hundreds of devices at once, and that rejects unless all
 * pushes are accepted.
 */
export function nodeApnSender({ apnsKey }: Credentials): (devices: readonly SimulatedDevice[]) => Promise<void> {
  const provider = new Provider({ token: { key: apnsKey, keyId, teamId }, production: true });
  const { title, body, url } = rendered;
  return async (devices) => {
    const notification = new Notification({
      aps: { alert: { title, body } },
      url,
      carillon_message_id: messageId,
      carillon_token: receiptToken,
    });
    notification.topic = bundleId;
    notification.pushType = 'alert';
    notification.priority = 10;
    notification.expiry = Math.floor(Date.now() / 1000) + ttlSeconds;
    notification.collapseId = messageId;
    const { sent, failed } = await provider.send(notification, devices.map(tokenOf));
    expectAccepted(sent.length, devices, failed[0]);
  };
}
