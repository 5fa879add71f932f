// The npm library `@parse/node-apn`, in calls of 500 devices: it opens all streams of a call at
// once, so a call must be bounded.
import { nodeApnSender } from './node-apn-sender.ts';
import { servePeer } from './peer.ts';
import { redirectProviders } from './redirect.ts';

servePeer(async ({ address, credentials }) => {
  redirectProviders(address);
  return { perCall: 500, callsAtOnce: 1, send: nodeApnSender(credentials) };
});
