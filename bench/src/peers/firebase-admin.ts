// The npm library `firebase-admin`. A second call runs while the first opens its connection or
// waits for its last answer.
import { firebaseSender, messagesPerCall } from './firebase-sender.ts';
import { servePeer } from './peer.ts';
import { redirectProviders } from './redirect.ts';

servePeer(async ({ address, credentials }) => {
  redirectProviders(address);
  return { perCall: messagesPerCall, callsAtOnce: 2, send: firebaseSender(credentials) };
});
