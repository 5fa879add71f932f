// What the send needs of a message, and how its outcomes are counted on it. The messages room stands above this one and
// owns the table: it hands its statements in.
import type { ChannelId } from '../channels/channel.ts';
import type { Content } from '../content/content.ts';
import type { Sql, Tx } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';

export interface MessageToSend {
  readonly content: Content;
  /** The app's, for web notifications without a url of their own. */
  readonly defaultUrl: string | null;
}

/** Newly final deliveries, to be added to the message's counters. */
export interface OutcomeCounts {
  readonly byChannel: ReadonlyMap<ChannelId, { sent: number; failed: number; skipped: number }>;
  /** Final failures and skips by code. */
  readonly byCode: Readonly<Record<string, number>>;
}

export interface MessageProgress {
  /** Every delivery is final; of a canceled message, too. */
  readonly isComplete: boolean;
  readonly chargedMonth: Date | null;
  readonly chargedUnits: number;
  readonly accepted: number;
  /** Deliveries sent or failed so far: something was tried for them. */
  readonly attempted: number;
}

export interface MessageLedger {
  find(sql: Sql, appId: Uuid, messageId: Uuid): Promise<MessageToSend | undefined>;
  /**
   * False when nothing more of the message may be begun: it was canceled, or its app is suspended, which cancels it here and
   * now (contract 3).
   */
  isSending(sql: Sql, appId: Uuid, messageId: Uuid): Promise<boolean>;
  /** Adds to the counters and ends the message when its last delivery is final; the last statement of a flush. */
  advance(tx: Tx, appId: Uuid, messageId: Uuid, counts: OutcomeCounts): Promise<MessageProgress>;
}
