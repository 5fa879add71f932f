// The questions to the receiver's process and its answers.
import type { ChannelId } from '../../../server/src/sending/channels/channel.ts';

/**
 * Ports of one process on 127.0.0.1: a push service for each channel, and Google's endpoint for
 * access tokens.
 */
export type Ports = Readonly<Record<ChannelId | 'token', number>>;

export type ToReceiver =
  | { readonly type: 'where' }
  /**
   * Resets the counters. From now on each request is answered `latencyMs` after it came, and one in
   * every `refuseEvery` requests is told that its token is gone; 0 means none.
   */
  | {
      readonly type: 'reset';
      readonly latencyMs: number;
      readonly refuseEvery: number;
      readonly notesArrivals: boolean;
    }
  | { readonly type: 'counts' };

/** The pushes since the last reset. */
export interface Counts {
  /** How many requests in total were told that their token is gone. */
  readonly refused: number;
  readonly pushes: Readonly<Record<ChannelId, number>>;
  /**
   * When each request arrived, in milliseconds since the epoch. Empty unless `notesArrivals` was
   * set.
   */
  readonly arrivedAtMs: readonly number[];
}
