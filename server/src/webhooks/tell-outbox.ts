// Says that outboxes have something new: after the commit, so that no send waits for it, and together, however many flushes there are.
// Where a process is killed before, the elected process finds it (`bringForgottenForward`).
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import type { Uuid } from '../platform/ids.ts';
import type { Log } from '../platform/log.ts';
import type { Teller } from '../platform/teller.ts';
import { bringForward } from './work-queries.ts';

/** What processes tell each other: there are events to tell. */
export const webhooksTopic = 'webhooks';

export interface OutboxTeller {
  /** These webhooks of an app have something to tell. Returns at once; to be called after the commit. */
  note(appId: Uuid, webhookIds: readonly Uuid[]): void;
  /** Resolves when all that was noted is written, or was tried. */
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
