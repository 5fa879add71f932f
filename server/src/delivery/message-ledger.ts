// What the send needs of a message, and how its outcomes are counted on it. The messages room stands above this one and
// owns the table: it hands its statements in.
import type { ChannelId } from '../channels/channel.ts';
import type { Content } from '../content/content.ts';
import type { Fragment, Sql, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

export interface MessageToSend {
  readonly content: Content;
  /** The app's, for web notifications without a url of their own. */
  readonly defaultUrl: string | null;
}

/** What processes tell each other: the id of each message whose last delivery has become final. */
export const finishedTopic = 'finished';

/** Newly final deliveries, to be added to the message's counters. */
export interface OutcomeCounts {
  readonly byChannel: ReadonlyMap<ChannelId, { sent: number; failed: number; skipped: number }>;
  /** Final failures and skips by code. */
  readonly byCode: Readonly<Record<string, number>>;
}

/** The statements that count the outcomes of a flush on their message. None of them is asked yet. */
export interface MessageAdvance {
  /** To be given to the transaction's `atEnd`: the rows are shared by all who work the message, and by all who send for the app. */
  readonly statements: readonly Fragment[];
  /** Once they are committed: was this the last of the message's deliveries, also of a canceled one? */
  hasEnded(): Promise<boolean>;
}

export interface MessageLedger {
  find(sql: Sql, appId: Uuid, messageId: Uuid): Promise<MessageToSend | undefined>;
  /**
   * False when nothing more of the message may be begun: it was canceled, or its app is suspended, which cancels it here and
   * now (contract 3).
   */
  isSending(sql: Sql, appId: Uuid, messageId: Uuid): Promise<boolean>;
  /**
   * Adds to the counters, gives back what was charged for what is skipped, and ends the message with its last delivery, which only a
   * flush can hold that ends a batch.
   */
  advance(tx: Tx, appId: Uuid, messageId: Uuid, counts: OutcomeCounts, endsBatch: boolean): MessageAdvance;
}
