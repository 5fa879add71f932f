// Writes the results of attempts: the webhook's health in the order of completion, the events that
// are done or wait, and the log. For each webhook only one transaction runs at a time over all
// processes, and it writes everything that has completed since the last one.

import { repeatUntilAnswered, type Sql, transaction } from '@carillon/postgres';
import type { Clock } from '../../ground/database/clock.ts';
import { failpoint } from '../../ground/host/failpoint.ts';
import { type Log, plainLog } from '../../ground/host/log.ts';
import { mintUuid, type Uuid } from '../../ground/values/ids.ts';
import type { PostResult } from './post-event.ts';
import {
  type AttemptRow,
  type ClaimedEvent,
  deleteEvents,
  deleteOldAttempts,
  insertAttempts,
  lockRecordedWebhook,
  postponeEvents,
  updateHealth,
  wasCommitted,
} from './queries.ts';
import { retryInMs } from './retry.ts';
import { afterFailure, afterSuccess, type Health, kindOfNumber, pauseMs } from './webhook.ts';
import { bringForward } from './work-queries.ts';

export interface RecordDeps {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly retrySeconds: readonly number[];
  readonly failurePauseMsMax: number;
  /** Called for every attempt after it is written. */
  readonly noteAttempt: (webhookId: Uuid, result: PostResult) => void;
}

export interface Completed {
  readonly event: ClaimedEvent;
  readonly claimId: Uuid;
  readonly at: Date;
  readonly result: PostResult;
}

/** The number of attempts kept for each webhook. */
export const attemptsKept = 50;

interface Webhook {
  readonly appId: Uuid;
  readonly id: Uuid;
}

export interface AttemptRecorder {
  /**
   * Resolves when the attempt is written. Waits up to ten minutes for a database that is away or
   * slow. An attempt is counted once, whatever happens to its event. The caller limits how many
   * attempts may wait.
   */
  record(webhook: Webhook, completed: Completed): Promise<void>;
  /** From now on, waits only five more seconds for the database. */
  stop(): void;
}

const waitMsMax = 600_000;
const waitMsAfterStop = 5_000;

export function createAttemptRecorder(deps: RecordDeps): AttemptRecorder {
  const waiting = new Map<Uuid, { completed: Completed[]; written: Promise<void> }>();
  const writing = new Map<Uuid, Promise<void>>();
  let stoppedAt = Number.POSITIVE_INFINITY;
  const giveUpAt = (beganAt: number): number => Math.min(beganAt + waitMsMax, stoppedAt + waitMsAfterStop);
  return {
    stop() {
      stoppedAt = performance.now();
    },
    record(webhook, completed) {
      const queue = waiting.get(webhook.id);
      if (queue) {
        queue.completed.push(completed);
        return queue.written;
      }
      const first = { completed: [completed], written: Promise.resolve() };
      const previous = writing.get(webhook.id) ?? Promise.resolve();
      // Called once the row is locked. So attempts that complete during the wait for a connection
      // and for the row are written with it.
      const take = (): readonly Completed[] => {
        if (waiting.get(webhook.id) === first) waiting.delete(webhook.id);
        return first.completed;
      };
      first.written = previous.then(() => writeInTime(deps, webhook, take, giveUpAt)).finally(take);
      waiting.set(webhook.id, first);
      const settled = first.written.catch(() => undefined);
      writing.set(webhook.id, settled);
      void settled.then(() => {
        if (writing.get(webhook.id) === settled) writing.delete(webhook.id);
      });
      return first.written;
    },
  };
}

async function writeInTime(
  deps: RecordDeps,
  webhook: Webhook,
  take: () => readonly Completed[],
  giveUpAt: (beganAt: number) => number,
): Promise<void> {
  const beganAt = performance.now();
  const before: string[] = [];
  let recorded: readonly Completed[] = [];
  await repeatUntilAnswered(
    async () => {
      recorded = await write(deps, webhook, take, before);
    },
    (error, tries) => {
      if (performance.now() > giveUpAt(beganAt)) throw error;
      deps.log.warn({ err: error, webhook_id: webhook.id, tries }, 'webhook attempts not written, trying again');
    },
  );
  if (recorded.length === 0) return;
  const log = plainLog(deps.log, { app_id: webhook.appId, webhook_id: webhook.id });
  for (const one of recorded) {
    deps.noteAttempt(webhook.id, one.result);
    logAttempt(log, one, deps.retrySeconds.length);
  }
}

/**
 * Writes the completed attempts and returns those that it recorded. `before` holds the transactions
 * of earlier tries, because one of them may have been committed although its answer was lost. This
 * try adds its own.
 */
async function write(
  deps: RecordDeps,
  webhook: Webhook,
  take: () => readonly Completed[],
  before: string[],
): Promise<readonly Completed[]> {
  const { sql, clock, log } = deps;
  return transaction(sql, async (tx) => {
    const stored = await lockRecordedWebhook(tx, webhook.appId, webhook.id);
    const attempts = take();
    // The webhook was deleted in the meantime, and its events with it.
    if (!stored) return [];
    const tried = attempts.filter(({ result }) => !result.isUntried);
    if (before.length > 0 && (await wasCommitted(tx, before))) return tried;
    before.push(stored.transactionId);
    const claimIds = [...new Set(attempts.map(({ claimId }) => claimId))];
    const { health, done, later } = judge(deps, stored, attempts);
    const restMs = pauseMs(health.failures, deps.failurePauseMsMax);
    // Pipelined, so that the row is locked for one round trip only.
    await Promise.all([
      done.length > 0 && deleteEvents(tx, webhook, claimIds, done),
      later.length > 0 && postponeEvents(tx, clock, webhook, claimIds, later),
      ...(tried.length > 0
        ? [
            insertAttempts(
              tx,
              webhook,
              tried.map((one, i) => toRow(one, stored.attemptsRecorded + i + 1)).slice(-attemptsKept),
            ),
            deleteOldAttempts(tx, webhook, attemptsKept),
            updateHealth(tx, clock, webhook.appId, webhook.id, health, restMs, tried.length),
          ]
        : []),
      // The window has room now. The next claim looks for an event.
      bringForward(tx, clock, [webhook], restMs),
    ]);
    await failpoint('webhook.before_ack_commit');
    if (health.state === 'disabled' && stored.state === 'enabled') {
      log.warn(
        { app_id: webhook.appId, webhook_id: webhook.id },
        'webhook disabled: its endpoint failed 15 times in a row',
      );
    }
    return tried;
  });
}

/**
 * The wait of an event whose attempt could not begin. Such an event is neither counted nor logged.
 */
const untriedAgainMs = 5_000;

interface Verdict {
  readonly health: Health;
  /** Events that were acknowledged or given up. */
  readonly done: readonly Uuid[];
  readonly later: readonly { readonly id: Uuid; readonly attempts: number; readonly inMs: number }[];
}

/**
 * The new health of a webhook and the fate of its events, after attempts in the order of
 * completion.
 */
function judge({ retrySeconds, random }: RecordDeps, before: Health, attempts: readonly Completed[]): Verdict {
  let health = before;
  const done: Uuid[] = [];
  const later: { id: Uuid; attempts: number; inMs: number }[] = [];
  for (const { event, result } of attempts) {
    if (result.isUntried) {
      later.push({ id: event.id, attempts: event.attempts, inMs: untriedAgainMs });
      continue;
    }
    const { isExcused = false } = result;
    if (result.error === null) health = afterSuccess(health);
    else if (!isExcused) health = afterFailure(health);
    const made = event.attempts + 1;
    // No event is given up for our own clock's fault.
    const waited = isExcused ? Math.min(made, retrySeconds.length) : made;
    const inMs = result.error === null ? undefined : retryInMs(retrySeconds, waited, result.retryAfterMs, random());
    if (inMs === undefined) done.push(event.id);
    else later.push({ id: event.id, attempts: made, inMs });
  }
  return { health, done, later };
}

function toRow({ event, at, result }: Completed, number: number): AttemptRow {
  return {
    id: mintUuid(at.getTime()),
    at,
    number,
    kind: event.kind,
    eventId: event.id,
    messageId: event.messageId,
    deviceId: event.deviceId,
    attempt: event.attempts + 1,
    statusCode: result.statusCode,
    error: result.error,
    durationMs: result.durationMs,
  };
}

// One line for each attempt, with every id. The line says when the event was given up.
function logAttempt(log: Log, { event, result }: Completed, retriesMax: number): void {
  const attempt = event.attempts + 1;
  const isGivenUp = result.error !== null && attempt > retriesMax;
  log[isGivenUp ? 'warn' : 'info'](
    {
      event_id: event.id,
      event: kindOfNumber(event.kind),
      message_id: event.messageId,
      device_id: event.deviceId,
      attempt,
      status_code: result.statusCode,
      error: result.error,
      ms: result.durationMs,
    },
    isGivenUp ? 'webhook event given up' : 'webhook attempt',
  );
}
