// The combination that an application would build for all three channels: `web-push`,
// `@parse/node-apn` and `firebase-admin` in one process, each with its fastest calls.
import { firebaseSender, messagesPerCall } from './firebase-sender.ts';
import { nodeApnSender } from './node-apn-sender.ts';
import { servePeer, subscriptionOf } from './peer.ts';
import { redirectProviders } from './redirect.ts';
import { webPushSender } from './web-push-sender.ts';

servePeer(async (setup) => {
  redirectProviders(setup.address);
  const sendApns = nodeApnSender(setup.credentials);
  const sendFcm = firebaseSender(setup.credentials);
  const sendWeb = webPushSender(setup);
  return {
    perCall: 3 * messagesPerCall,
    callsAtOnce: 1,
    send: (devices) =>
      Promise.all([
        sendApns(devices.filter(({ channel }) => channel === 'apns')),
        sendFcm(devices.filter(({ channel }) => channel === 'fcm')),
        // Web pushes wait for their turn in the agent, which has a bounded number of connections.
        ...devices.filter(({ channel }) => channel === 'webpush').map((device) => sendWeb(subscriptionOf(device))),
      ]),
  };
});
