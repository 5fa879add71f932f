// Whether a message still wants to be sent: asked when its first batch starts, when its cancel is heard of, and once a second while
// batches of it run. One watch per message and process, however many batches: never two unanswered looks at a message.
import type { Sql } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import type { ClaimedBatch } from './batch.ts';
import type { MessageLedger } from './message-ledger.ts';

export interface MessageWatch {
  /** As of the last look: nothing more of the message may be begun. */
  isCanceled(): boolean;
  /** Resolves when the message was looked at within the last second. Rejects with what the look rejects with. */
  look(): Promise<void>;
  stop(): void;
}

/** The watches of one process. */
export interface MessageWatches {
  watch(batch: Pick<ClaimedBatch, 'appId' | 'messageId'>): MessageWatch;
  /** This message was canceled; '' stands for any, when something may have been missed. Watched messages are looked at now. */
  notify(messageId: Uuid | ''): void;
}

const watchEveryMs = 1000;

interface Watched {
  readonly appId: Uuid;
  readonly messageId: Uuid;
  /** Those that run. Without any the message is forgotten when it would be looked at next. */
  batches: number;
  isCanceled: boolean;
  /** When the last look that was answered had begun; `performance.now()`. */
  lookedAt: number;
  unanswered: Promise<void> | undefined;
  /** A cancel was heard of after the unanswered look had begun. */
  mustLookAgain: boolean;
  readonly timer: NodeJS.Timeout;
}

export function createMessageWatches({
  sql,
  ledger,
  log,
}: {
  readonly sql: Sql;
  readonly ledger: Pick<MessageLedger, 'isSending'>;
  readonly log: Pick<Log, 'warn'>;
}): MessageWatches {
  const watched = new Map<Uuid, Watched>();

  const ask = async (message: Watched): Promise<void> => {
    const begunAt = performance.now();
    try {
      message.isCanceled ||= !(await ledger.isSending(sql, message.appId, message.messageId));
      message.lookedAt = begunAt;
    } finally {
      message.unanswered = undefined;
      if (message.mustLookAgain) lookAside(message);
      message.mustLookAgain = false;
    }
  };
  const look = (message: Watched): Promise<void> => {
    message.unanswered ??= ask(message);
    return message.unanswered;
  };
  const lookAside = (message: Watched): void => {
    if (message.unanswered || message.isCanceled) return;
    look(message).catch((error: unknown) => {
      log.warn({ err: error, message_id: message.messageId }, 'message not looked at');
    });
  };
  const begin = (appId: Uuid, messageId: Uuid): Watched => {
    const timer = setInterval(() => {
      if (message.batches > 0) return lookAside(message);
      clearInterval(timer);
      watched.delete(messageId);
    }, watchEveryMs);
    timer.unref();
    const message: Watched = {
      ...{ appId, messageId, timer, batches: 0, isCanceled: false },
      ...{ lookedAt: Number.NEGATIVE_INFINITY, unanswered: undefined, mustLookAgain: false },
    };
    watched.set(messageId, message);
    return message;
  };

  return {
    watch({ appId, messageId }) {
      const message = watched.get(messageId) ?? begin(appId, messageId);
      message.batches++;
      return {
        isCanceled: () => message.isCanceled,
        async look() {
          if (!message.isCanceled && performance.now() - message.lookedAt >= watchEveryMs) await look(message);
        },
        stop() {
          message.batches--;
        },
      };
    },
    notify(messageId) {
      for (const message of watched.values()) {
        if (messageId !== '' && message.messageId !== messageId) continue;
        if (message.unanswered) message.mustLookAgain = true;
        else lookAside(message);
      }
    },
  };
}
