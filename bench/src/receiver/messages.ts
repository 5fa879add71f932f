// What the receiver's process is asked, and what it answers.
import type { ChannelId } from '../../../server/src/channels/channel.ts';

/** Ports of one process on 127.0.0.1: a push service for each channel, and Google's endpoint for access tokens. */
export type Ports = Readonly<Record<ChannelId | 'token', number>>;

export type ToReceiver =
  | { readonly type: 'where' }
  /**
   * Forgets what was counted. From now on each request is answered so many milliseconds after it came, and each so manieth as one to a
   * token that is gone; 0: none.
   */
  | {
      readonly type: 'reset';
      readonly latencyMs: number;
      readonly refuseEvery: number;
      readonly notesArrivals: boolean;
    }
  | { readonly type: 'counts' };

/** The requests for pushes since the last reset. */
export interface Counts {
  /** Of them all, those that were told that their token is gone. */
  readonly refused: number;
  readonly pushes: Readonly<Record<ChannelId, number>>;
  /** When each of them was there, in milliseconds since the epoch, where that was asked for. */
  readonly arrivedAtMs: readonly number[];
}
