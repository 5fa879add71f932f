// The sending end of every peer, as a process of its own: makes ready, then sends on demand with a fixed number of requests
// in flight, and says how long that took. Records nothing, which is what the peers are measured at.
import { type PushSubscriptionJson, type ReceiverAddress, subscribe } from '../receiver.ts';

export interface PeerSetup {
  readonly address: ReceiverAddress;
  /** How many different browsers it sends to. */
  readonly subscriptions: number;
  /** The plaintext of every push. */
  readonly payload: string;
  readonly ttlSeconds: number;
}

export type ToPeer =
  | { readonly type: 'open'; readonly setup: PeerSetup }
  | { readonly type: 'send'; readonly count: number };
export type FromPeer =
  | { readonly type: 'ready' }
  | { readonly type: 'sent'; readonly seconds: number }
  | { readonly type: 'failed'; readonly reason: string };

/** One push; resolves when it was accepted, and rejects with anything else. */
type SendOne = (subscription: PushSubscriptionJson) => Promise<void>;

export const inFlight = 100;

/** Serves the process that forked this one: `open` once, then `send` as often as it likes. */
export function servePeer(vapidKey: string, open: (setup: PeerSetup) => Promise<SendOne>): void {
  let sendOne: SendOne | undefined;
  const subscriptions: PushSubscriptionJson[] = [];
  let next = 0;

  const handle = async (message: ToPeer): Promise<FromPeer> => {
    if (message.type === 'open') {
      const { address, subscriptions: count } = message.setup;
      for await (const each of subscribe(address, { count, vapidKey, seed: 'peer' })) subscriptions.push(each);
      sendOne = await open(message.setup);
      return { type: 'ready' };
    }
    const startedAt = performance.now();
    let left = message.count;
    const sendInTurn = async (): Promise<void> => {
      for (; left > 0; ) {
        left -= 1;
        const subscription = subscriptions[next++ % subscriptions.length];
        if (subscription === undefined || sendOne === undefined) throw new Error('it was not opened');
        await sendOne(subscription);
      }
    };
    await Promise.all(Array.from({ length: inFlight }, sendInTurn));
    return { type: 'sent', seconds: (performance.now() - startedAt) / 1000 };
  };

  process.on('message', (message: ToPeer) => {
    handle(message)
      .catch((error: unknown): FromPeer => ({ type: 'failed', reason: String(error) }))
      .then((answer) => process.send?.(answer))
      .catch(() => process.exit(1));
  });
  process.on('disconnect', () => process.exit(0));
}
