// The npm library `@parse/node-apn`, in chunks: all streams of a call are begun at once, so a call cannot be of any size.
import { nodeApnSender } from './node-apn-sender.ts';
import { servePeer } from './peer.ts';
import { redirectProviders } from './redirect.ts';

servePeer(async ({ address, credentials }) => {
  redirectProviders(address);
  return { perCall: 500, callsAtOnce: 1, send: nodeApnSender(credentials) };
});
