// Whether a message is still to be sent. The database is asked when the message's first batch
// starts, when a word of its cancel comes, and once a second while its batches run. Each process
// has one watch per message, with at most one unanswered question.
import type { Sql } from '@carillon/postgres';
import type { Log } from '../../ground/host/log.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { ClaimedBatch } from './batch.ts';
import type { MessageLedger } from './message-ledger.ts';

export interface MessageWatch {
  /** Whether the last answer said that no further push of the message may begin. */
  isCanceled(): boolean;
  /**
   * Resolves when the last answer is at most a second old, after asking if necessary. Rejects when
   * asking rejects.
   */
  look(): Promise<void>;
  stop(): void;
}

/** The watches of one process. */
export interface MessageWatches {
  watch(batch: Pick<ClaimedBatch, 'appId' | 'messageId'>): MessageWatch;
  /**
   * Call this on the word of a cancel. '' stands for every message, after a word may have been
   * missed. Watched messages are asked for at once.
   */
  notify(messageId: Uuid | ''): void;
}

const watchEveryMs = 1000;

interface Watched {
  readonly appId: Uuid;
  readonly messageId: Uuid;
  /**
   * The number of its running batches. Without any, the next tick of the timer forgets the message.
   */
  batches: number;
  isCanceled: boolean;
  /** The time at which the last answered question began; `performance.now()`. */
  lookedAt: number;
  unanswered: Promise<void> | undefined;
  /** The word of a cancel came after the unanswered question had begun. */
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
      appId,
      messageId,
      timer,
      batches: 0,
      isCanceled: false,
      lookedAt: Number.NEGATIVE_INFINITY,
      unanswered: undefined,
      mustLookAgain: false,
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
