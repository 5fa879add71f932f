// The news of a process: receives words of other processes and what falls due, and wakes the parts
// that wait for them.
import { isDatabaseState, startListener } from '@carillon/postgres';
import { type Lookout, startLookout } from '../../ground/database/lookout.ts';
import { pauseChannel } from '../../ground/database/restore-guard.ts';
import { readWords, toldChannel } from '../../ground/database/teller.ts';
import { finishedTopic } from '../../sending/delivery/message-ledger.ts';
import { batchesTopic } from '../../sending/delivery/queries.ts';
import type { Finishes } from '../../sending/messages/await-outcomes.ts';
import { canceledTopic } from '../../sending/messages/queries.ts';
import { webhooksTopic } from '../../sending/webhooks/tell-outbox.ts';
import { type Due, findDue } from './due-queries.ts';
import type { Foundation } from './foundation.ts';
import type { Sending } from './sending.ts';
import type { Workers } from './workers.ts';

export interface NewsDeps {
  readonly foundation: Foundation;
  readonly run: Sending['run'];
  /** Callers that wait for the end of their message. */
  readonly finishes: Finishes;
  /** The loops of this process; undefined while the process has started none. */
  readonly workers: () => Pick<Workers, 'wake' | 'wakeWebhooks'> | undefined;
}

export interface News {
  /** Reports what falls due. */
  readonly lookout: Lookout<Due>;
  stop(): Promise<void>;
}

/**
 * Milliseconds. Work that falls due within this time, before the next look, is reported with the
 * present look.
 */
const dueAheadMs = 1_500;
/** Milliseconds that a word of another process may be on its way. */
const wordMsMost = 2_000;
const lookoutTopic = 'lookout';

export async function followNews({ foundation, run, finishes, workers }: NewsDeps): Promise<News> {
  const { databases, clock, log, teller, pause, receiptKeys } = foundation;
  const { promptSql } = databases;
  const lookForPause = (): void => {
    pause.look().catch((error: unknown) => log.debug({ err: error }, 'cannot see whether sends are paused'));
  };
  const lookForReceiptKeys = (): void => {
    const tell = (error: unknown): void => log.warn({ err: error }, 'the keys of receipt tokens cannot be read again');
    receiptKeys.look().catch(tell);
  };
  const lookout: Lookout<Due> = startLookout({
    sql: promptSql,
    log,
    // At rest no claim would notice that the database is away, so this look does.
    async look() {
      try {
        const due = await findDue(promptSql, clock, dueAheadMs);
        run.outages.noteAnswered();
        return due;
      } catch (error) {
        if (isDatabaseState(error)) run.outages.noteAway();
        throw error;
      }
    },
    tell: (word) => teller.tell(lookoutTopic, word),
  });
  lookout.onDue((due) => {
    if (due.atMs !== undefined) clock.beginReading(wordMsMost)(due.atMs);
    if (due.isPaused !== pause.isPaused()) lookForPause();
    if ((due.receiptKeys ?? receiptKeys.version) !== receiptKeys.version) lookForReceiptKeys();
  });
  const hear: Readonly<Record<string, (word: string) => void>> = {
    [finishedTopic]: (id) => finishes.notify(id),
    [canceledTopic]: (id) => run.watches.notify(id),
    [batchesTopic]: () => workers()?.wake(),
    [webhooksTopic]: () => workers()?.wakeWebhooks(),
    [lookoutTopic]: (word) => lookout.hear(word),
  };
  const listener = await startListener({
    open: databases.openListener,
    sql: promptSql,
    hear: {
      [toldChannel]: (payload) => {
        for (const [topic, words] of readWords(payload)) for (const word of words) hear[topic]?.(word);
      },
      [pauseChannel]: lookForPause,
    },
    onGap() {
      finishes.notify('');
      run.watches.notify('');
      workers()?.wake();
      lookForPause();
    },
    log,
  });
  return {
    lookout,
    async stop() {
      await lookout.stop();
      await listener.stop();
    },
  };
}
