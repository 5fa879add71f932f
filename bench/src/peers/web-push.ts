// The npm library `web-push` as a user who cares for speed would use it: one agent that keeps its
// connections.
import { type PeerSetup, servePeer, subscriptionOf } from './peer.ts';
import { webPushSender } from './web-push-sender.ts';

servePeer(async (setup: PeerSetup) => {
  const send = webPushSender(setup);
  return {
    perCall: 1,
    callsAtOnce: 100,
    send: ([device]) => (device ? send(subscriptionOf(device)) : Promise.resolve()),
  };
});
