// Sends by the npm library `firebase-admin` with `sendEach`, which takes 500 messages and opens a
// connection for each call.
import { cert, initializeApp } from 'firebase-admin/app';
import { getMessaging, type TokenMessage } from 'firebase-admin/messaging';
import { messageId, receiptToken, rendered, ttlSeconds } from '../content.ts';
import type { Credentials } from '../credentials.ts';
import type { SimulatedDevice } from '../devices.ts';
import { expectAccepted, tokenOf } from './peer.ts';

/** The most messages that `sendEach` takes. */
export const messagesPerCall = 500;

/** Returns a function that sends, and that rejects unless all pushes are accepted. */
export function firebaseSender({
  serviceAccount,
}: Credentials): (devices: readonly SimulatedDevice[]) => Promise<void> {
  const messaging = getMessaging(initializeApp({ credential: cert(serviceAccount) }));
  const { title, body, url } = rendered;
  return async (devices) => {
    const messages = devices.map(
      (device): TokenMessage => ({
        token: tokenOf(device),
        data: { url, carillon_message_id: messageId, carillon_token: receiptToken },
        notification: { title, body },
        android: { priority: 'high', ttl: ttlSeconds * 1000, notification: { tag: messageId } },
      }),
    );
    const { successCount, responses } = await messaging.sendEach(messages);
    expectAccepted(successCount, devices, responses.find(({ success }) => !success)?.error);
  };
}
