// Whether a message still wants to be sent: asked at the start of a batch, when its cancel is heard of, and once a second while it
// runs.
import type { Sql } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import type { ClaimedBatch } from './batch.ts';
import type { MessageLedger } from './message-ledger.ts';

export interface MessageWatch {
  /** As of the last look: nothing more of the message may be begun. */
  isCanceled(): boolean;
  look(): Promise<void>;
  stop(): void;
}

/** The watches of one process. */
export interface MessageWatches {
  watch(batch: ClaimedBatch): MessageWatch;
  /** This message was canceled; '' stands for any, when something may have been missed. Those who work it look now. */
  notify(messageId: Uuid | ''): void;
}

const watchEveryMs = 1000;

export function createMessageWatches({
  sql,
  ledger,
  log,
}: {
  readonly sql: Sql;
  readonly ledger: MessageLedger;
  readonly log: Log;
}): MessageWatches {
  const watching = new Set<{ readonly messageId: Uuid; readonly look: () => void }>();
  return {
    watch({ appId, messageId }) {
      let isCanceled = false;
      const look = async (): Promise<void> => {
        isCanceled ||= !(await ledger.isSending(sql, appId, messageId));
      };
      const lookAside = (): void => {
        look().catch((error: unknown) => log.warn({ err: error }, 'message not looked at'));
      };
      const timer = setInterval(lookAside, watchEveryMs);
      const watcher = { messageId, look: lookAside };
      watching.add(watcher);
      return {
        isCanceled: () => isCanceled,
        look,
        stop() {
          clearInterval(timer);
          watching.delete(watcher);
        },
      };
    },
    notify(messageId) {
      for (const watcher of watching) if (messageId === '' || watcher.messageId === messageId) watcher.look();
    },
  };
}
