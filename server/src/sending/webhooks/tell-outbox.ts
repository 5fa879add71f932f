// Tells workers that outboxes have new events. It does so after the commit, so that no send waits,
// and for many flushes together. If the process is killed before, the lookout finds the events
// (`bringForgottenForward`).

import type { Sql } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Teller } from '../../ground/database/teller.ts';
import type { Log } from '../../ground/host/log.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import { bringForward } from './work-queries.ts';

/** The topic by which processes tell each other that there are events to tell. */
export const webhooksTopic = 'webhooks';

export interface OutboxTeller {
  /**
   * Notes that these webhooks of an app have new events. Returns at once. Call it after the commit.
   */
  note(appId: Uuid, webhookIds: readonly Uuid[]): void;
  /** Resolves when everything noted is written, or one attempt has failed. */
  settle(): Promise<void>;
}

const apartMs = 50;
const againMs = 1000;

export function createOutboxTeller({
  sql,
  clock,
  log,
  teller,
}: {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly teller: Teller;
}): OutboxTeller {
  let noted = new Map<Uuid, Uuid>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let nextAt = 0;

  const write = async (): Promise<void> => {
    const some = noted;
    noted = new Map();
    nextAt = performance.now() + apartMs;
    try {
      await bringForward(
        sql,
        clock,
        [...some].map(([id, appId]) => ({ id, appId })),
      );
      teller.tell(webhooksTopic);
    } catch (error) {
      for (const [id, appId] of some) noted.set(id, appId);
      nextAt = performance.now() + againMs;
      log.debug({ err: error, webhooks: some.size }, 'webhooks not told of their events yet');
    }
  };
  const run = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    writing ??= write().finally(() => {
      writing = undefined;
      schedule();
    });
    return writing;
  };
  const schedule = (): void => {
    if (timer !== undefined || writing || noted.size === 0) return;
    timer = setTimeout(() => void run(), Math.max(0, nextAt - performance.now()));
  };

  return {
    note(appId, webhookIds) {
      for (const id of webhookIds) noted.set(id, appId);
      schedule();
    },
    async settle() {
      await writing;
      if (noted.size > 0) await run();
    },
  };
}
