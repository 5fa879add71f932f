// Whether a message still wants to be sent, asked at the start of a batch and once a second while it runs.
import type { Sql } from '../platform/db.ts';
import type { Log } from '../platform/log.ts';
import type { ClaimedBatch } from './batch.ts';
import type { MessageLedger } from './message-ledger.ts';

export interface MessageWatch {
  /** As of the last look: nothing more of the message may be begun. */
  isCanceled(): boolean;
  look(): Promise<void>;
  stop(): void;
}

const watchEveryMs = 1000;

export function watchMessage(
  { sql, ledger, log }: { readonly sql: Sql; readonly ledger: MessageLedger; readonly log: Log },
  { appId, messageId }: ClaimedBatch,
): MessageWatch {
  let isCanceled = false;
  const look = async (): Promise<void> => {
    isCanceled ||= !(await ledger.isSending(sql, appId, messageId));
  };
  const timer = setInterval(() => {
    look().catch((error: unknown) => log.warn({ err: error }, 'message not looked at'));
  }, watchEveryMs);
  return { isCanceled: () => isCanceled, look, stop: () => clearInterval(timer) };
}
