// The sending side of every peer, in a process of its own. It prepares, then sends on demand with a
// fixed number of calls in flight, and reports the time. It records no outcomes, which favours the
// peers.
import type { Way } from '../channels.ts';
import { serveParent } from '../child-end.ts';
import type { Credentials } from '../credentials.ts';
import { deviceMaker, type PushSubscriptionJson, type SimulatedDevice } from '../devices.ts';
import type { ReceiverAddress } from '../receiver.ts';

export interface PeerSetup {
  readonly way: Way;
  readonly address: ReceiverAddress;
  readonly credentials: Credentials;
  /** How many different devices the peer sends to. */
  readonly devices: number;
}

export type ToPeer =
  | { readonly type: 'open'; readonly setup: PeerSetup }
  /** Answered with the seconds that the send took. */
  | { readonly type: 'send'; readonly count: number };

export interface Peer {
  /** Devices that one call of the library takes. */
  readonly perCall: number;
  readonly callsAtOnce: number;
  /** Resolves when every push was accepted; rejects otherwise. */
  send(devices: readonly SimulatedDevice[]): Promise<unknown>;
}

/** Serves the parent process: `open` once, then any number of `send`. */
export function servePeer(open: (setup: PeerSetup, devices: readonly SimulatedDevice[]) => Promise<Peer>): void {
  let peer: Peer | undefined;
  let devices: readonly SimulatedDevice[] = [];
  let next = 0;

  const sendMany = async (count: number): Promise<number> => {
    if (peer === undefined) throw new Error('it was not opened');
    const { perCall, callsAtOnce, send } = peer;
    const startedAt = performance.now();
    let left = count;
    const sendInTurn = async (): Promise<void> => {
      while (left > 0) {
        if (next >= devices.length) next = 0;
        const some = devices.slice(next, next + Math.min(perCall, left));
        next += some.length;
        left -= some.length;
        await send(some);
      }
    };
    await Promise.all(Array.from({ length: callsAtOnce }, sendInTurn));
    return (performance.now() - startedAt) / 1000;
  };

  serveParent(async (question: ToPeer) => {
    if (question.type === 'send') return sendMany(question.count);
    const { setup } = question;
    const make = deviceMaker(setup.way, setup.address);
    devices = Array.from({ length: setup.devices }, make);
    peer = await open(setup, devices);
    return undefined;
  });
}

export function subscriptionOf(device: SimulatedDevice): PushSubscriptionJson {
  if (device.channel === 'webpush') return device.subscription;
  throw new Error(`a device of ${device.channel} where a browser was expected`);
}

export function tokenOf(device: SimulatedDevice): string {
  if (device.channel !== 'webpush') return device.token;
  throw new Error('a browser where a phone was expected');
}

/** Throws when a library reports that some pushes were not accepted. */
export function expectAccepted(accepted: number, devices: readonly SimulatedDevice[], words: unknown): void {
  if (accepted === devices.length) return;
  throw new Error(`${accepted} of ${devices.length} were accepted: ${JSON.stringify(words)?.slice(0, 500)}`);
}
