// The parts of a message that delivery needs, and how its outcomes are counted. The messages room
// is above this one and owns the table, so it hands its statements in.

import type { Fragment, Sql, Tx } from '@carillon/postgres';
import type { Uuid } from '../../ground/values/ids.ts';
import type { ChannelId } from '../channels/channel.ts';
import type { Content } from '../content/content.ts';

export interface MessageToSend {
  readonly content: Content;
  /** The app's default url, for web notifications without a url of their own. */
  readonly defaultUrl: string | null;
}

/**
 * The topic by which processes tell each other the id of a message whose last delivery is final.
 */
export const finishedTopic = 'finished';

/** Deliveries that became final, to be added to the message's counters. */
export interface OutcomeCounts {
  readonly byChannel: ReadonlyMap<ChannelId, { sent: number; failed: number; skipped: number }>;
  /** Final failures and skips by code. */
  readonly byCode: Readonly<Record<string, number>>;
}

/** The statements that count a flush's outcomes on their message. They have not run yet. */
export interface MessageAdvance {
  /**
   * Pass these to the transaction's `atEnd`, because every process that works the message or sends
   * for the app writes the same rows.
   */
  readonly statements: readonly Fragment[];
  /**
   * Whether this was the last of the message's deliveries, also for a canceled message. Call it
   * after the commit.
   */
  hasEnded(): Promise<boolean>;
}

export interface MessageLedger {
  find(sql: Sql, appId: Uuid, messageId: Uuid): Promise<MessageToSend | undefined>;
  /**
   * False when no further push of the message may begin: it was canceled, or its app is suspended.
   * For a suspended app this call cancels the message (contract 3).
   */
  isSending(sql: Sql, appId: Uuid, messageId: Uuid): Promise<boolean>;
  /**
   * Adds to the counters, refunds the charge for skipped deliveries, and ends the message with its
   * last delivery. Only a flush that ends a batch (`endsBatch`) can hold the last delivery.
   */
  advance(tx: Tx, appId: Uuid, messageId: Uuid, counts: OutcomeCounts, endsBatch: boolean): MessageAdvance;
}
