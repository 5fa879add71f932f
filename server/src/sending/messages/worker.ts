// Starts scheduled messages when they are due, in two loops. One takes messages that are due for
// the first time, several in a transaction. The other takes those that did not start there, one by
// one. So no slow or broken message delays the others.

import { setTimeout as sleep } from 'node:timers/promises';
import { type Sql, setStatementTimeout, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import type { Teller } from '../../ground/database/teller.ts';
import type { Log } from '../../ground/host/log.ts';
import { joinLoops, startWorkLoop, type WorkLoop } from '../../ground/pacing/work-loop.ts';
import type { Uuid } from '../../ground/values/ids.ts';
import type { Plans } from '../../teams/quotas/plan.ts';
import { batchesTopic } from '../delivery/queries.ts';
import type { LocalInstants } from './local-time.ts';
import { claimLateMessage, type DueMessage, findNextStartMs, lockFreshMessages } from './schedule-queries.ts';
import { nextTryMs, type StartDeps, startAlone, startTogether } from './start-due.ts';

export interface ScheduleDeps {
  readonly clock: Clock;
  readonly plans: Plans;
  readonly log: Log;
  readonly isPaused: () => boolean;
  readonly localInstants: LocalInstants;
  readonly teller: Pick<Teller, 'tell'>;
  /** A pool for short transactions. */
  readonly txSql: Sql;
  /** A pool for statements over a whole audience. */
  readonly workSql: Sql;
}

/**
 * The messages of one transaction: enough that a commit is cheap, and few enough that their rows
 * are soon free when the process dies.
 */
const togetherMax = 20;
const togetherMs = 250;
/**
 * A message whose audience takes longer is started alone, because it would delay the others of its
 * transaction.
 */
const statementMs = 500;
const transactionsAtOnce = 2;
const aloneAtOnce = 2;
/**
 * A message that has been due for longer is started alone, because it may be what kills the
 * process.
 */
const freshMs = 60_000;
/** Milliseconds. The lookout wakes this worker for messages that are due later. */
const aheadMsMax = 2_000;
/** The longest wait before the next look, because a clock may be set meanwhile. */
const lookEveryMs = 1_000;
/**
 * Milliseconds that a stop waits for an audience. Then the transaction is rolled back, and another
 * process starts the message.
 */
const stopMs = 5000;

const firstAppId: Uuid = '00000000-0000-0000-0000-000000000000';

export function startScheduleWorker(deps: ScheduleDeps): WorkLoop {
  // Workers are told only when no further message waits to be started, because sending would take
  // the time that the starts need.
  let isUntold = false;
  const together = startLoop(deps, 'schedule', transactionsAtOnce, async (afterAppId) => {
    const turn = await lockTogether(deps, afterAppId);
    if (!turn && isUntold) deps.teller.tell(batchesTopic);
    isUntold = turn?.isFull ?? false;
    return turn;
  });
  const alone = startLoop(deps, 'schedule late', aloneAtOnce, async (afterAppId) => {
    const claim = await claimLateMessage(deps.txSql, deps.clock, { afterAppId, freshMs, waitMs: nextTryMs });
    return claim && { lastAppId: claim.appId, work: () => startAlone({ ...deps, sql: deps.workSql }, claim) };
  });
  // The second loop takes the messages that the first put off.
  const both = joinLoops([together, alone]);
  return {
    wake: both.wake,
    idle: both.idle,
    async stop() {
      const over = new AbortController();
      await Promise.race([both.stop(), sleep(stopMs, undefined, { signal: over.signal }).catch(() => undefined)]);
      over.abort();
    },
    get lastLookedAt() {
      return both.lastLookedAt;
    },
  };
}

interface Turn {
  /** The app after which the circle of apps goes on. */
  readonly lastAppId: Uuid;
  readonly work: () => Promise<void>;
}

/**
 * A loop that starts a message in the millisecond when it is due, if it was woken shortly before.
 */
function startLoop(
  { txSql, clock, log, isPaused }: ScheduleDeps,
  name: string,
  turnsMax: number,
  take: (afterAppId: Uuid) => Promise<Turn | undefined>,
): WorkLoop {
  let lastAppId = firstAppId;
  let timer: NodeJS.Timeout | undefined;
  const loop = startWorkLoop({
    name,
    turnsMax,
    log,
    isPaused,
    async claim() {
      const aheadMs = await findNextStartMs(txSql, clock);
      if (aheadMs === undefined) return undefined;
      if (aheadMs > 0) {
        clearTimeout(timer);
        if (aheadMs < aheadMsMax) timer = setTimeout(() => loop.wake(), Math.min(Math.ceil(aheadMs), lookEveryMs));
        return undefined;
      }
      const turn = await take(lastAppId);
      if (!turn) return undefined;
      lastAppId = turn.lastAppId;
      return turn.work;
    },
    onStop: () => clearTimeout(timer),
  });
  return loop;
}

/**
 * Opens a transaction that locks the next few messages. The turn's work is the rest of the
 * transaction.
 */
async function lockTogether(
  deps: ScheduleDeps & StartDeps,
  afterAppId: Uuid,
): Promise<(Turn & { readonly isFull: boolean }) | undefined> {
  let tell: (due: readonly DueMessage[]) => void = () => undefined;
  const locked = new Promise<readonly DueMessage[]>((resolve) => {
    tell = resolve;
  });
  const ended = transaction(deps.txSql, async (tx) => {
    const due = await lockFreshMessages(tx, deps.clock, { afterAppId, freshMs, limit: togetherMax });
    tell(due);
    if (due.length === 0) return;
    await setStatementTimeout(tx, statementMs);
    await startTogether(deps, tx, due, togetherMs);
  });
  const due = await Promise.race([locked, ended.then(() => [])]);
  if (due.length === 0) {
    await ended;
    return undefined;
  }
  const isFull = due.length === togetherMax;
  const work = async (): Promise<void> => {
    await ended;
    if (!isFull) deps.teller.tell(batchesTopic);
  };
  return { lastAppId: lastInCircle(due, afterAppId), work, isFull };
}

function lastInCircle(due: readonly DueMessage[], afterAppId: Uuid): Uuid {
  const inOrder = due.map(({ appId }) => appId).sort();
  return inOrder.filter((appId) => appId <= afterAppId).at(-1) ?? inOrder.at(-1) ?? afterAppId;
}
